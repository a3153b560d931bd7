import type { Logger } from 'pino'
import { declareErrorCodes } from '../contract/error-codes.ts'
import type { Host, JsonObject, Plugin, PluginEvents, PluginParts, Service } from '../contract/index.ts'
import { createPluginServices } from '../shared-state/plugin-services.ts'
import type { SharedState } from '../shared-state/shared-state.ts'
import { withTimeout } from '../threads/timeout.ts'
import { errorSummary } from '../util/error-message.ts'
import { compileOptionsValidator, describeSchemaErrors } from '../util/json-schema.ts'
import { runAsPlugin } from '../util/plugin-context.ts'
import { decideBy } from './decide-again.ts'
import { guardPlugin } from './guard-plugin.ts'
import { type BuiltIns, loadPlugin, type PluginEntry, type PluginStep } from './load.ts'
import { pluginTitle } from './parse-plugin.ts'
import { parsePluginParts } from './parse-plugin-parts.ts'
import { checkPluginOrder, orderByServices, type ServiceRegistry } from './plugin-order.ts'
import { type AdapterRegistry, createMetricOwners, type MutableOperatorRegistry } from './registries.ts'
import { checkOperationIds, collectErrorCodes, describeApi } from './served-endpoints.ts'

interface Pipeline {
  /** In the listed order. */
  readonly steps: readonly PluginStep[]
  readonly decide: Host['decide']
  /** Closes the plugins in reverse order. */
  close(): Promise<void>
}

/**
 * Services that all plugins share, and a function that opens the event stores of the plugins that declare
 * events.
 */
type HostServices = Omit<
  Host,
  'decide' | 'api' | 'events' | 'operators' | 'counters' | 'store' | 'use' | 'provide'
> & {
  /** Services of the gateway itself; those of plugins are added. */
  readonly registry: ServiceRegistry
  readonly sharedState: SharedState
  readonly operators: MutableOperatorRegistry
  readonly adapters: AdapterRegistry
  /** Whether endpoints for operators are served at this moment. */
  readonly hasOperators: () => boolean
  /** Maximum time of one phase of a plugin package, in milliseconds. */
  readonly pluginTimeoutMs: number
  openEvents(plugins: readonly Plugin[]): Promise<ReadonlyMap<string, PluginEvents>>
}

/**
 * Loads, checks and sets up the listed plugins. Rejects with an error that names the plugin and says how to
 * fix it; plugins that were already set up are closed first.
 */
export async function setUpPlugins(
  entries: readonly PluginEntry[],
  builtIns: BuiltIns,
  folder: string,
  { openEvents, hasOperators, pluginTimeoutMs, sharedState, adapters, registry, ...services }: HostServices,
): Promise<Pipeline> {
  const list: ListedPlugin[] = []
  for (const entry of entries) list.push(await loadListedPlugin(entry, builtIns, folder))
  checkPluginOrder(list)
  const { issues, order } = orderByServices(list, (name) => registry.has(name))
  if (issues[0] !== undefined) throw new Error(issues[0])
  const parsed = new Map(list.map((listed) => [listed, parsePluginOptions(listed)]))
  const events = await openEvents(list.map(({ plugin }) => plugin))

  const steps: PluginStep[] = []
  const metricOwners = createMetricOwners(services.metrics, services.logger)
  metricOwners.claim('the gateway')
  const host = {
    ...services,
    decide: (exchange) => decideBy(steps, exchange),
    api: () => describeApi(steps, hasOperators()),
  } satisfies Omit<Host, 'events' | 'counters' | 'store' | 'use' | 'provide'>
  const { logger } = services
  /** In the order in which they were set up. */
  const done: PluginStep[] = []
  let forgetErrorCodes = () => {}
  const close = async () => {
    for (const step of done.toReversed()) await closePlugin(step, logger)
    forgetErrorCodes()
  }
  try {
    for (const listed of order) {
      const { plugin, isBuiltIn, title } = listed
      const own = {
        ...createPluginServices(sharedState, plugin.name),
        ...(await offerServices(listed, registry)),
        metrics: isBuiltIn ? services.metrics : metricOwners.viewFor(title),
        events: events.get(plugin.name) ?? createMissingEvents(plugin.name),
      }
      const loaded = { ...listed, options: parsed.get(listed) ?? {} }
      const made = await setUp(loaded, { ...host, ...own }, pluginTimeoutMs)
      const guard = { title, logger, timeoutMs: pluginTimeoutMs }
      const parts = isBuiltIn ? made : guardPlugin(made, guard, adapters.toAdapter)
      metricOwners.claim(title)
      done.push({ plugin, parts, isBuiltIn, title })
      checkProvided(listed, registry)
    }
    const places = list.map(({ plugin }) => plugin)
    steps.push(...done.toSorted((a, b) => places.indexOf(a.plugin) - places.indexOf(b.plugin)))
    for (const { title, parts } of steps) {
      services.operators.add(title, parts)
      adapters.add(title, parts)
    }
    forgetErrorCodes = declareErrorCodes(collectErrorCodes(steps))
    checkOperationIds(steps)
  } catch (error) {
    await close()
    throw error
  }
  return { steps, decide: host.decide, close }
}

/** Returns `host.use` and `host.provide` of a plugin. */
async function offerServices({ plugin, isBuiltIn, title }: ListedPlugin, registry: ServiceRegistry) {
  const declared = (plugin.provides ?? []).map(({ name }) => name)
  return {
    use: await registry.resolve(plugin.uses ?? {}, isBuiltIn),
    provide<Offered>(service: Service<Offered>, offered: Offered) {
      if (!declared.includes(service.name))
        throw new Error(`${title} provides "${service.name}" without declaring it in "provides"`)
      registry.provideFromPlugin(service, offered)
    },
  }
}

function checkProvided({ plugin, title }: ListedPlugin, registry: ServiceRegistry): void {
  for (const { name } of plugin.provides ?? [])
    if (!registry.has(name))
      throw new Error(`${title} declares the service "${name}", but did not provide it.`)
}

/** Time for a package to close, in milliseconds: a worker that takes 10 s to exit is killed. */
const MAX_CLOSE_MS = 5000

/** Closes one plugin. If it fails, the others and the event log must be closed nevertheless. */
async function closePlugin({ parts, isBuiltIn, title }: PluginStep, logger: Logger): Promise<void> {
  try {
    const closed = Promise.resolve(parts.close?.())
    const createError = () => new Error(`close did not end within ${MAX_CLOSE_MS} ms`)
    await (isBuiltIn ? closed : withTimeout(closed, MAX_CLOSE_MS, createError))
  } catch (err) {
    logger.error({ err }, `${title} could not be closed`)
  }
}

/** A plugin from the settings, with its options. */
export interface ListedPlugin {
  readonly plugin: Plugin
  readonly options: JsonObject
  readonly isBuiltIn: boolean
  /** The plugin's name in error messages. */
  readonly title: string
}

export async function loadListedPlugin(
  entry: PluginEntry,
  builtIns: BuiltIns,
  folder: string,
): Promise<ListedPlugin> {
  const plugin = await loadPlugin(entry, builtIns, folder)
  const isBuiltIn = builtIns.has(entry.use)
  return { plugin, options: entry.options, isBuiltIn, title: pluginTitle(plugin.name, entry.use) }
}

/** Returns the options with the defaults of the plugin's schema. Throws if they are not valid. */
export function parsePluginOptions(loaded: ListedPlugin): JsonObject {
  const validate = compileOptions(loaded)
  const options = structuredClone(loaded.options)
  if (validate(options)) return options
  const issues = describeSchemaErrors(validate.errors).join('; ')
  throw new Error(`the options of ${loaded.title} are not valid: ${issues}.`)
}

const NO_OPTIONS: JsonObject = { type: 'object', additionalProperties: false }

function compileOptions({ plugin: { options = NO_OPTIONS }, isBuiltIn, title }: ListedPlugin) {
  try {
    return compileOptionsValidator(options, isBuiltIn)
  } catch (cause) {
    throw new Error(`the options schema of ${title} is not a valid JSON schema: ${errorSummary(cause)}.`, {
      cause,
    })
  }
}

async function setUp(
  { plugin, options, isBuiltIn, title }: ListedPlugin,
  host: Host,
  timeoutMs: number,
): Promise<PluginParts> {
  try {
    if (isBuiltIn) return await plugin.setup(options, host)
    const createError = () => new Error(`setup did not end within ${timeoutMs} ms (timeouts.plugin_ms)`)
    const called = runAsPlugin(title, () => callSetup(plugin, options, host))
    return parsePluginParts(await withTimeout(called, timeoutMs, createError))
  } catch (cause) {
    throw new Error(`${title} could not be set up: ${errorSummary(cause)}.`, { cause })
  }
}

async function callSetup(plugin: Plugin, options: JsonObject, host: Host): Promise<PluginParts> {
  return plugin.setup(options, host)
}

/** For plugins that declare no events: every method throws. */
function createMissingEvents(plugin: string): PluginEvents {
  const fail = () => {
    throw new Error(`plugin "${plugin}" declares no events. Add "events" with "types" to its default export.`)
  }
  return { state: fail, append: async () => fail(), read: fail }
}
