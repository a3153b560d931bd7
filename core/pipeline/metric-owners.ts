import type { Registry } from 'prom-client'

/**
 * Returns a function that creates a plugin's view of the registry: like the registry, but an error about a
 * metric that is already registered names both owners.
 */
export function createMetricOwners(registry: Registry): (title: string) => Registry {
  const owners = new Map<string, string>()
  return (title) => {
    const view: Registry = Object.create(registry)
    view.registerMetric = (metric) => {
      const { name } = metric as { name?: string }
      const isKnown = name !== undefined && registry.getSingleMetric(name) !== undefined
      if (isKnown && registry.getSingleMetric(name) !== metric) {
        const owner = owners.get(name) ?? 'the gateway'
        throw new Error(`${title} registers the metric "${name}", which ${owner} already has. Rename it.`)
      }
      registry.registerMetric(metric)
      if (name !== undefined) owners.set(name, title)
    }
    return view
  }
}
