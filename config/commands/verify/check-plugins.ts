import { isDeepStrictEqual } from 'node:util'
import type { Plugin, RecordedEvent } from '../../../core/contract/index.ts'
import { createPluginCodec } from '../../../core/events/plugin-codec.ts'
import { pluginOf, pluginPart } from '../../../core/events/plugins.ts'
import { createPluginState } from '../../../projections/plugin-state.ts'

/** Looks at the events of plugins: one after the other, in two readings of the log. */
export interface PluginChecker {
  /** The event in the first reading: what is wrong with it, as the end of a sentence. */
  faultOf(record: RecordedEvent): string | undefined
  /** The same event in the second reading. */
  repeat(record: RecordedEvent): void
  facts(): readonly string[]
  faults(): readonly string[]
}

/** Those of the listed plugins, as far as they declare events. Events of others are counted, and are no fault. */
export function createPluginChecker(plugins: readonly Plugin[]): PluginChecker {
  const known = new Map(plugins.flatMap((plugin) => openTwice(plugin)))
  const unread = new Map<string, number>()

  function count(record: RecordedEvent, why: string): undefined {
    const kind = `${why}: ${record.type}`
    unread.set(kind, (unread.get(kind) ?? 0) + 1)
  }

  return {
    faultOf(record) {
      const owner = pluginOf(record.stream)
      if (owner === undefined || pluginPart(owner, record.type) === undefined)
        return 'is in the stream of another plugin'
      const plugin = known.get(owner)
      if (plugin === undefined) return count(record, 'are of plugins that are not listed')
      const event = plugin.codec.decode(record)
      if (event === undefined) return count(record, 'only another version of the plugin can read')
      plugin.first.apply(record)
      return plugin.codec.faultOf(event)
    },
    repeat(record) {
      try {
        known.get(pluginOf(record.stream) ?? '')?.second.apply(record)
      } catch {
        // The first reading has said so.
      }
    },
    facts: () => [...unread].map(([why, count]) => `${count} events ${why}.`),
    faults: () =>
      [...known]
        .filter(([, { first, second }]) => !isDeepStrictEqual(first.now(), second.now()))
        .map(([name]) => `Two rebuilds of plugin "${name}" led to different states.`),
  }
}

function openTwice({ name, events }: Plugin) {
  if (events === undefined) return []
  const codec = createPluginCodec(name, events)
  const open = () => createPluginState(name, events, codec)
  return [[name, { codec, first: open(), second: open() }] as const]
}
