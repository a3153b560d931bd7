import type { Logger } from 'pino'
import type { Metric, MetricObjectWithValues, MetricValue, Registry } from 'prom-client'
import { withTimeout } from '../threads/timeout.ts'
import { runAsPlugin } from '../util/plugin-context.ts'
import { type PluginGuard, toError } from './guard-phase.ts'

/** Knows which plugin registered each metric, so that errors about a clash name both. */
export interface MetricOwners {
  /** Returns a view of the registry for a plugin. Throws if it registers a metric that another one has. */
  viewFor(title: string): Registry
  /** Makes the plugin the owner of all metrics that are registered and have no owner yet. */
  claim(title: string): void
}

export function createMetricOwners(registry: Registry, logger: Logger): MetricOwners {
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
        registry.registerMetric(guardMetric(metric, { title, timeoutMs: MAX_COLLECT_MS, logger }))
        owners.set(name, title)
      }
      view.removeSingleMetric = (name) => {
        if (owners.get(name) === title) registry.removeSingleMetric(name)
      }
      view.clear = refuse
      view.resetMetrics = refuse
      return view
    },
    claim(title) {
      for (const { name } of registry.getMetricsAsArray()) if (!owners.has(name)) owners.set(name, title)
    },
  }
}

/** Time for the metrics of a plugin to be collected, in milliseconds. */
const MAX_COLLECT_MS = 1000

function refuse(): never {
  throw new Error('the registry has metrics of the gateway and of other plugins. Remove single metrics')
}

/** What prom-client reads a metric by. */
type Collect = (() => Promise<Collected>) | undefined

type Collected = Pick<
  MetricObjectWithValues<MetricValue<string>>,
  'name' | 'help' | 'type' | 'aggregator' | 'values'
>

/** Makes a metric that cannot be collected one without samples, which says so. Returns the same object. */
function guardMetric(metric: Metric, guard: PluginGuard): Metric {
  const { title, timeoutMs, logger } = guard
  const target = metric as unknown as Record<'get' | 'getForPromString', Collect> & Collected
  let isFailing = false

  async function collect(own: NonNullable<Collect>): Promise<Collected> {
    try {
      const collected = runAsPlugin(title, async () => checkSamples(await own.call(metric)))
      const createError = () => new Error(`collect did not end within ${timeoutMs} ms`)
      const values = await withTimeout(collected, timeoutMs, createError)
      isFailing = false
      return values
    } catch (thrown) {
      const { name, help, type, aggregator } = target
      const err = toError(thrown, guard, `collect of the metric "${name}"`)
      if (!isFailing) logger.error({ err, plugin: title }, `the metric "${name}" could not be collected`)
      isFailing = true
      return { name, help: `${help} (could not be collected)`, type, aggregator, values: [] }
    }
  }

  for (const name of ['get', 'getForPromString'] as const) {
    const own = target[name]
    if (own !== undefined) target[name] = () => collect(own)
  }
  return metric
}

function checkSamples(collected: Collected): Collected {
  if (collected.values.every(({ value }) => typeof value === 'number')) return collected
  throw new TypeError('a sample is not a number')
}
