import type { Host, JsonObject, Plugin, PluginEvents, PluginParts } from '../contract/index.ts'
import { errorSummary } from '../util/error-message.ts'
import { compileUntrustedValidator, compileValidator, describeSchemaError } from '../util/json-schema.ts'
import { checkOrder } from './check-order.ts'
import { checkParts } from './check-parts.ts'
import { loadPlugin, type PluginEntry } from './load.ts'
import type { MutableOperatorRegistry } from './operator-registry.ts'
import { titleOf } from './read-plugin.ts'

/** A plugin at work. */
export interface PluginStep {
  readonly plugin: Plugin
  readonly parts: PluginParts
  readonly isBuiltIn: boolean
}

interface Pipeline {
  /** In running order. */
  readonly steps: readonly PluginStep[]
  close(): Promise<void>
}

/** What all plugins are lent, and how the events of those that declare some are opened. */
type HostServices = Omit<Host, 'decide' | 'openapi' | 'events' | 'operators'> & {
  readonly operators: MutableOperatorRegistry
  openEvents(plugins: readonly Plugin[]): Promise<ReadonlyMap<string, PluginEvents>>
}

/** Loads, checks and starts the listed plugins. Rejects with a sentence that names the plugin and what to mend. */
export async function setUpPlugins(
  entries: readonly PluginEntry[],
  builtIns: ReadonlyMap<string, Plugin>,
  folder: string,
  { openEvents, ...lent }: HostServices,
): Promise<Pipeline> {
  const list: ListedPlugin[] = []
  for (const entry of entries) list.push(await loadListedPlugin(entry, builtIns, folder))
  checkOrder(list)
  for (const loaded of list) checkPluginOptions(loaded)
  const events = await openEvents(list.map(({ plugin }) => plugin))

  const steps: PluginStep[] = []
  const host = {
    ...lent,
    async decide(exchange) {
      for (const { parts } of steps) await parts.decide?.(exchange)
    },
    openapi: () => steps.map(({ parts }) => parts.openapi ?? {}),
  } satisfies Omit<Host, 'events'>
  const close = async () => {
    for (const { parts } of steps.toReversed()) await parts.close?.()
  }
  try {
    for (const loaded of list) {
      const { plugin, isBuiltIn } = loaded
      const parts = await start(loaded, { ...host, events: events.get(plugin.name) ?? noEvents(plugin.name) })
      steps.push({ plugin, parts, isBuiltIn })
      lent.operators.add(loaded.title, parts)
    }
  } catch (error) {
    await close()
    throw error
  }
  return { steps, close }
}

/** A plugin with its options; `title` is how sentences call it. */
export interface ListedPlugin {
  readonly plugin: Plugin
  readonly options: JsonObject
  readonly isBuiltIn: boolean
  readonly title: string
}

export async function loadListedPlugin(
  entry: PluginEntry,
  builtIns: ReadonlyMap<string, Plugin>,
  folder: string,
): Promise<ListedPlugin> {
  const plugin = await loadPlugin(entry, builtIns, folder)
  const isBuiltIn = builtIns.get(entry.use) === plugin
  return { plugin, options: entry.options, isBuiltIn, title: titleOf(plugin.name, entry.use) }
}

export function checkPluginOptions(loaded: ListedPlugin): void {
  const { options, title } = loaded
  const check = compileOptions(loaded)
  if (check(options)) return
  const faults = (check.errors ?? []).map(describeSchemaError).join('; ')
  throw new Error(`the options of ${title} are not valid: ${faults}.`)
}

const NO_OPTIONS: JsonObject = { type: 'object', additionalProperties: false }

function compileOptions({ plugin: { options = NO_OPTIONS }, isBuiltIn, title }: ListedPlugin) {
  try {
    return isBuiltIn ? compileValidator(options) : compileUntrustedValidator(options)
  } catch (cause) {
    throw new Error(`the options of ${title} are described by no JSON schema: ${errorSummary(cause)}.`, {
      cause,
    })
  }
}

async function start({ plugin, options, isBuiltIn, title }: ListedPlugin, host: Host): Promise<PluginParts> {
  try {
    const parts = await plugin.setup(options, host)
    return isBuiltIn ? parts : checkParts(parts)
  } catch (cause) {
    throw new Error(`${title} could not be set up: ${errorSummary(cause)}.`, { cause })
  }
}

/** The events of a plugin that declares none. */
function noEvents(plugin: string): PluginEvents {
  const refuse = () => {
    throw new Error(`plugin "${plugin}" declares no events. Give it an "events" with "types".`)
  }
  return { state: refuse, append: async () => refuse(), read: refuse }
}
