import type { Registry } from 'prom-client'

/** Knows which plugin registered each metric, so that errors about a clash name both. */
export interface MetricOwners {
  /** Returns a view of the registry for a plugin. Throws if it registers a metric that another one has. */
  viewFor(title: string): Registry
  /** Makes the plugin the owner of all metrics that are registered and have no owner yet. */
  claim(title: string): void
}

export function createMetricOwners(registry: Registry): MetricOwners {
  const owners = new Map<string, string>()
  return {
    viewFor(title) {
      const view: Registry = Object.create(registry)
      view.registerMetric = (metric) => {
        const { name = '' } = metric as { name?: string }
        const known = registry.getSingleMetric(name)
        if (known !== undefined && known !== metric) {
          const owner = owners.get(name) ?? 'the gateway'
          throw new Error(`it registers the metric "${name}", which ${owner} already has. Rename the metric`)
        }
        registry.registerMetric(metric)
        owners.set(name, title)
      }
      return view
    },
    claim(title) {
      for (const { name } of registry.getMetricsAsArray()) if (!owners.has(name)) owners.set(name, title)
    },
  }
}
