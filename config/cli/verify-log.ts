import { isDeepStrictEqual } from 'node:util'
import type { EventLog, Plugin, RecordedEvent, StreamAnomaly } from '../../core/contract/index.ts'
import { readToEnd } from '../../core/event-log/read-to-end.ts'
import { createPluginCodec, pluginOfStream, withoutPluginPrefix } from '../../core/events/plugin-events.ts'
import { createProjections, listProjections, type Projections } from '../../projections/projections.ts'
import { createPluginState } from '../../projections/runtime/plugin-event-store.ts'
import { applyRecord } from '../../projections/runtime/projection.ts'
import { createRecordChecker } from './verify-records.ts'
import { checkSnapshots, hashState } from './verify-snapshots.ts'
import { compareStreams } from './verify-streams.ts'

/** The findings of a verification, as sentences. */
interface VerificationReport {
  readonly facts: readonly string[]
  /** Empty if the log is intact. */
  readonly issues: readonly string[]
}

/**
 * Reads the log twice and checks that the revisions of each stream have no gaps, that every event can be
 * read, that both readings produce the same state, and that the snapshots in the folder match it. Events of
 * the given plugins are checked by their schemas, too. `comparesStreams` reads every stream on its own as
 * well, which a server can answer differently from the whole log.
 */
export async function verifyLog(
  log: EventLog,
  snapshotFolder: string,
  listedPlugins: readonly Plugin[] = [],
  { comparesStreams = false } = {},
): Promise<VerificationReport> {
  const plugins = createPluginChecker(listedPlugins)
  const checker = createRecordChecker(plugins.findIssue)
  const projections = createProjections()
  const snapshots = await checkSnapshots(snapshotFolder)
  const noteAnomaly = (anomaly: StreamAnomaly) => {
    checker.note(anomaly)
    projections.streams.note(anomaly)
  }
  let lastPosition = 0
  for await (const record of readToEnd(log, 0, undefined, noteAnomaly)) {
    checker.check(record)
    apply(projections, record)
    lastPosition = record.position
    await snapshots.compare(record, projections)
  }
  const firstHash = await hashState(projections)

  const rebuilt = createProjections()
  for await (const record of readToEnd(log, 0, undefined, rebuilt.streams.note)) {
    if (record.position > lastPosition) break
    apply(rebuilt, record)
    plugins.applyAgain(record)
  }
  const streamIssues = comparesStreams ? await compareStreams(log, checker.streams()) : []
  const isReproducible = (await hashState(rebuilt)) === firstHash
  return {
    facts: [
      ...checker.facts(),
      ...plugins.facts(),
      ...(isReproducible ? ['Two rebuilds produced the same state.'] : []),
      ...snapshots.facts(),
    ],
    issues: [
      ...checker.issues(),
      ...streamIssues,
      ...(isReproducible ? [] : ['Two rebuilds produced different states.']),
      ...plugins.issues(),
      ...snapshots.issues(),
    ],
  }
}

/** Checks the events of plugins in two readings of the log. */
interface PluginChecker {
  /** Checks an event in the first reading. Returns the issue as the end of a sentence. */
  findIssue(record: RecordedEvent): string | undefined
  /** Applies the same event in the second reading. */
  applyAgain(record: RecordedEvent): void
  facts(): readonly string[]
  issues(): readonly string[]
}

/**
 * Checks events of the listed plugins that declare events. Events of other plugins are counted and are not an
 * issue.
 */
export function createPluginChecker(plugins: readonly Plugin[]): PluginChecker {
  const known = new Map(plugins.flatMap((plugin) => createRebuilds(plugin)))
  const skipped = new Map<string, number>()

  function skip(record: RecordedEvent, reason: string): undefined {
    const kind = `${reason}: ${record.type}`
    skipped.set(kind, (skipped.get(kind) ?? 0) + 1)
  }

  return {
    findIssue(record) {
      const owner = pluginOfStream(record.stream)
      if (owner === undefined || withoutPluginPrefix(owner, record.type) === undefined)
        return 'is in the stream of another plugin'
      const plugin = known.get(owner)
      if (plugin === undefined) return skip(record, 'belong to plugins that are not listed')
      const event = plugin.codec.decode(record)
      if (event === undefined) return skip(record, 'belong to another version of a plugin')
      plugin.first.apply(record)
      return plugin.codec.findIssue(event)
    },
    applyAgain(record) {
      try {
        known.get(pluginOfStream(record.stream) ?? '')?.second.apply(record)
      } catch {
        // The first reading has already reported this event.
      }
    },
    facts: () => [...skipped].map(([reason, count]) => `${count} events ${reason}.`),
    issues: () =>
      [...known]
        .filter(([, { first, second }]) => !isDeepStrictEqual(first.current(), second.current()))
        .map(([name]) => `Two rebuilds of plugin "${name}" produced different states.`),
  }
}

/** The codec of a plugin and two empty states, one for each reading. */
function createRebuilds({ name, events }: Plugin) {
  if (events === undefined) return []
  const codec = createPluginCodec(name, events)
  const createState = () => createPluginState(name, events, codec)
  return [[name, { codec, first: createState(), second: createState() }] as const]
}

/**
 * Applies a record as the gateway does. Skips records that cannot be read, which the checker has already
 * reported.
 */
function apply(projections: Projections, record: RecordedEvent): void {
  const { stream, revision } = record
  try {
    projections.streams.receive(stream, revision, applyRecord(listProjections(projections), record))
  } catch {
    projections.streams.receive(stream, revision, 'foreign')
  }
}
