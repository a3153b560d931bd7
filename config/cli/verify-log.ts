import { isDeepStrictEqual } from 'node:util'
import type { EventLog, Plugin, RecordedEvent } from '../../core/contract/index.ts'
import { readToEnd } from '../../core/event-log/read-to-end.ts'
import { decodeEvent } from '../../core/events/codec.ts'
import { createPluginCodec, pluginOfStream, withoutPluginPrefix } from '../../core/events/plugin-events.ts'
import { createProjections, listProjections, type Projections } from '../../projections/projections.ts'
import { createPluginState } from '../../projections/runtime/plugin-event-store.ts'
import { createChecker } from './verify-records.ts'
import { checkSnapshots, digestOf } from './verify-snapshots.ts'

/** What was found, in sentences. */
interface Findings {
  readonly facts: readonly string[]
  /** Empty when all is well. */
  readonly faults: readonly string[]
}

/**
 * Reads the log twice: every revision follows the one before, every event can be read, both readings lead to the same state, and
 * so do the snapshots in the folder. Events of these plugins are checked by their schemas, too.
 */
export async function verifyLog(
  log: EventLog,
  folder: string,
  listed: readonly Plugin[] = [],
): Promise<Findings> {
  const plugins = createPluginChecker(listed)
  const checker = createChecker(plugins.faultOf)
  const projections = createProjections()
  const snapshots = await checkSnapshots(folder)
  let position = 0
  for await (const record of readToEnd(log)) {
    checker.check(record)
    applyTo(projections, record)
    position = record.position
    await snapshots.compare(record, projections)
  }
  const digest = await digestOf(projections)

  const again = createProjections()
  for await (const record of readToEnd(log)) {
    if (record.position > position) break
    applyTo(again, record)
    plugins.repeat(record)
  }
  const isSame = (await digestOf(again)) === digest
  return {
    facts: [
      ...checker.facts(),
      ...plugins.facts(),
      ...(isSame ? ['Two rebuilds led to the same state.'] : []),
      ...snapshots.facts(),
    ],
    faults: [
      ...checker.faults(),
      ...(isSame ? [] : ['Two rebuilds led to different states.']),
      ...plugins.faults(),
      ...snapshots.faults(),
    ],
  }
}

/** Looks at the events of plugins: one after the other, in two readings of the log. */
interface PluginChecker {
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
      const owner = pluginOfStream(record.stream)
      if (owner === undefined || withoutPluginPrefix(owner, record.type) === undefined)
        return 'is in the stream of another plugin'
      const plugin = known.get(owner)
      if (plugin === undefined) return count(record, 'are of plugins that are not listed')
      const event = plugin.codec.decode(record)
      if (event === undefined) return count(record, 'only another version of the plugin can read')
      plugin.first.apply(record)
      return plugin.codec.findIssue(event)
    },
    repeat(record) {
      try {
        known.get(pluginOfStream(record.stream) ?? '')?.second.apply(record)
      } catch {
        // The first reading has said so.
      }
    },
    facts: () => [...unread].map(([why, count]) => `${count} events ${why}.`),
    faults: () =>
      [...known]
        .filter(([, { first, second }]) => !isDeepStrictEqual(first.current(), second.current()))
        .map(([name]) => `Two rebuilds of plugin "${name}" led to different states.`),
  }
}

function openTwice({ name, events }: Plugin) {
  if (events === undefined) return []
  const codec = createPluginCodec(name, events)
  const open = () => createPluginState(name, events, codec)
  return [[name, { codec, first: open(), second: open() }] as const]
}

/** Applies a record as the gateway does. One that cannot be read is left out: the checker has said so. */
function applyTo(projections: Projections, record: RecordedEvent): void {
  const event = tryToDecode(record)
  if (event !== undefined)
    for (const projection of listProjections(projections)) projection.apply(event, record)
}

function tryToDecode(record: RecordedEvent) {
  try {
    return decodeEvent(record)
  } catch {
    return undefined
  }
}
