import type { Logger } from 'pino'
import type { Metric, MetricObjectWithValues, MetricValue, Registry } from 'prom-client'
import type {
  Action,
  AdapterDeclaration,
  ChatFormat,
  Condition,
  OperatorRegistry,
  PluginParts,
  ProviderAdapter,
} from '../contract/index.ts'
import { withTimeout } from '../threads/timeout.ts'
import { runAsPlugin } from '../util/plugin-context.ts'
import { type PluginGuard, toError } from './guard-phase.ts'

/** Knows which plugin has defined each name, so that errors about a clash name both. */
interface NameOwners {
  /** Throws if the name is already defined. `title` names the plugin, `kind` what it defines. */
  claim(kind: string, name: string, title: string): void
}

export function createNameOwners(): NameOwners {
  const owners = new Map<string, string>()
  return {
    claim(kind, name, title) {
      const owner = owners.get(`${kind} ${name}`)
      if (owner !== undefined)
        throw new Error(`${title} defines the ${kind} "${name}", which ${owner} already defines. Rename it.`)
      owners.set(`${kind} ${name}`, title)
    },
  }
}

/** The adapters of the gateway and of plugins, by format. Complete when all plugins are set up. */
export interface AdapterRegistry {
  readonly adapters: ReadonlyMap<string, ProviderAdapter>
  /** Returns an adapter as it is, and builds that of a chat format. */
  toAdapter(declared: AdapterDeclaration): ProviderAdapter
  /** Adds the adapters of a plugin. Throws if a format is already defined; `title` names the plugin. */
  add(title: string, parts: Pick<PluginParts, 'providers'>): void
}

/** `build` builds the adapter of a chat format. */
export function createAdapterRegistry(
  builtIn: readonly ProviderAdapter[],
  build: (format: ChatFormat) => ProviderAdapter,
): AdapterRegistry {
  const adapters = new Map<string, ProviderAdapter>()
  const owners = createNameOwners()
  const toAdapter = (declared: AdapterDeclaration) => ('fields' in declared ? build(declared) : declared)
  const add: AdapterRegistry['add'] = (title, { providers = [] }) => {
    for (const adapter of providers) {
      owners.claim('wire format', adapter.format, title)
      adapters.set(adapter.format, toAdapter(adapter))
    }
  }
  add('the gateway', { providers: builtIn })
  return { adapters, toAdapter, add }
}

/** A registry that plugins are still being added to. */
export interface MutableOperatorRegistry extends OperatorRegistry {
  /**
   * Adds a plugin's conditions and actions. Throws if a name is already defined; `title` names the plugin.
   */
  add(title: string, parts: PluginParts): void
}

export function createOperatorRegistry(): MutableOperatorRegistry {
  const conditions = new Map<string, Condition>()
  const actions = new Map<string, Action>()
  const owners = createNameOwners()

  function define<Operator extends { readonly name: string }>(
    operators: Map<string, Operator>,
    kind: 'condition' | 'action',
    title: string,
    operator: Operator,
  ): void {
    owners.claim(kind, operator.name, title)
    operators.set(operator.name, operator)
  }

  return {
    conditions,
    actions,
    add(title, parts) {
      for (const condition of parts.conditions ?? []) define(conditions, 'condition', title, condition)
      for (const action of parts.actions ?? []) define(actions, 'action', title, action)
    },
  }
}

/** Knows which plugin registered each metric, so that errors about a clash name both. */
interface MetricOwners {
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
