import type { Host, JsonObject, Plugin, PluginParts } from '../contract/index.ts'
import { compileThoroughCheck, describeSchemaFault } from '../schema.ts'
import { checkOrder } from './arrange.ts'
import { loadPlugin, type PluginEntry } from './load.ts'
import type { OpenVocabulary } from './vocabulary.ts'

/** A plugin at work. */
export interface Step {
  readonly plugin: Plugin
  readonly parts: PluginParts
}

export interface Pipeline {
  /** In running order. */
  readonly steps: readonly Step[]
  close(): Promise<void>
}

/** Loads, checks and starts the listed plugins. Rejects with a sentence that names the plugin and what to mend. */
export async function setUpPlugins(
  entries: readonly PluginEntry[],
  builtIns: ReadonlyMap<string, Plugin>,
  folder: string,
  lent: Omit<Host, 'decide' | 'openapi'> & { vocabulary: OpenVocabulary },
): Promise<Pipeline> {
  const plugins: Plugin[] = []
  for (const entry of entries) plugins.push(await loadPlugin(entry, builtIns, folder))
  checkOrder(plugins)
  for (const [place, plugin] of plugins.entries()) checkOptions(plugin, entries[place]?.options ?? {})

  const steps: Step[] = []
  const host: Host = {
    ...lent,
    async decide(exchange) {
      for (const { parts } of steps) await parts.decide?.(exchange)
    },
    openapi: () => steps.map(({ parts }) => parts.openapi ?? {}),
  }
  const close = async () => {
    for (const { parts } of steps.toReversed()) await parts.close?.()
  }
  try {
    for (const [place, plugin] of plugins.entries()) {
      const parts = await start(plugin, entries[place]?.options ?? {}, host)
      steps.push({ plugin, parts })
      lent.vocabulary.add(plugin.name, parts)
    }
  } catch (error) {
    await close()
    throw error
  }
  return { steps, close }
}

function checkOptions(plugin: Plugin, options: JsonObject): void {
  const check = compileThoroughCheck(plugin.options ?? { type: 'object', additionalProperties: false })
  if (check(options)) return
  const faults = (check.errors ?? []).map(describeSchemaFault).join('; ')
  throw new Error(`the options of plugin "${plugin.name}" are not valid: ${faults}.`)
}

async function start(plugin: Plugin, options: JsonObject, host: Host): Promise<PluginParts> {
  try {
    return await plugin.setup(options, host)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`plugin "${plugin.name}" could not be set up: ${reason}`, { cause })
  }
}
