import { isDeepStrictEqual } from 'node:util'
import type { EventLog, Plugin, RecordedEvent, StreamAnomaly } from '../../core/contract/index.ts'
import { UnreadableEventError } from '../../core/event-log/stored-event.ts'
import { ALL_STREAMS, readToEnd } from '../../core/event-log/streams.ts'
import type { TreeVerifier } from '../../core/event-log/transparency/verify-tree.ts'
import { createPluginCodec, pluginOfStream, withoutPluginPrefix } from '../../core/events/plugin-events.ts'
import { isFollowed } from '../../projections/events/streams.ts'
import { createProjections, listProjections, type Projections } from '../../projections/projections.ts'
import { createPluginState } from '../../projections/runtime/plugin-event-store.ts'
import { applyRecord } from '../../projections/runtime/projection.ts'
import { createRecordChecker } from './verify-records.ts'
import { checkSnapshots } from './verify-snapshots.ts'

/** Streams that are read at the same time. */
const CONCURRENCY = 32

/** Further streams are only counted. */
const MAX_LISTED_STREAMS = 20

/**
 * Reads every stream on its own and compares the number of its events with that in the whole log, which still
 * holds events that a stream no longer shows. Returns the issues as sentences.
 */
async function compareStreams(
  log: Pick<EventLog, 'read'>,
  counts: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const issues: string[] = []
  const remaining = counts.entries()

  async function compareNext(): Promise<void> {
    for (const [stream, expected] of remaining) {
      let count = 0
      for await (const _ of log.read(stream)) count += 1
      // More are events that were written meanwhile.
      if (count < expected) issues.push(`Stream ${stream} shows ${count} of its ${expected} events.`)
    }
  }

  await Promise.all(Array.from({ length: CONCURRENCY }, compareNext))
  const unlisted = issues.length - MAX_LISTED_STREAMS
  const listed = issues.toSorted().slice(0, MAX_LISTED_STREAMS)
  return unlisted > 0 ? [...listed, `${unlisted} more streams are incomplete.`] : listed
}

/** The findings of a verification, as sentences. */
interface VerificationReport {
  readonly facts: readonly string[]
  /** Empty if the log is intact. */
  readonly issues: readonly string[]
}

/** What a log is verified with, besides its events. */
interface VerificationOptions {
  readonly snapshotFolder: string
  readonly tree: TreeVerifier
  /** Plugins whose events are checked by their schemas. */
  readonly plugins?: readonly Plugin[]
  /** Reads every stream on its own as well, which a server can answer differently from the whole log. */
  readonly comparesStreams?: boolean
}

/**
 * Reads the log and checks that the revisions of each stream have no gaps, that every event can be read, that
 * the events match the checkpoints, and that they lead to the snapshots in the folder.
 */
export async function verifyLog(
  log: EventLog,
  { snapshotFolder, tree, plugins: listed = [], comparesStreams = false }: VerificationOptions,
): Promise<VerificationReport> {
  const plugins = createPluginChecker(listed)
  const checker = createRecordChecker(plugins.findIssue)
  const projections = createProjections()
  const snapshots = await checkSnapshots(snapshotFolder)
  const noteAnomaly = (anomaly: StreamAnomaly) => {
    checker.note(anomaly)
    projections.streams.note(anomaly)
  }
  const readIssues: string[] = []
  try {
    for await (const record of readToEnd(log, 0, ALL_STREAMS, noteAnomaly)) {
      const isInTree = isFollowed(record.stream)
      if (isInTree) tree.check(record)
      checker.check(record)
      // The state is only compared with snapshots.
      if (!isInTree || !snapshots.arePending()) continue
      apply(projections, record)
      await snapshots.compare(record, projections)
    }
  } catch (error) {
    if (!(error instanceof UnreadableEventError)) throw error
    readIssues.push(`${error.message} The events behind it were not checked.`)
  }
  const streamIssues = comparesStreams ? await compareStreams(log, checker.streams()) : []
  return {
    facts: [...checker.facts(), ...plugins.facts(), ...tree.facts(), ...snapshots.facts()],
    issues: [
      ...readIssues,
      // What was not read would be reported as removed.
      ...(readIssues.length > 0 ? [] : tree.issues()),
      ...checker.issues(),
      ...streamIssues,
      ...plugins.issues(),
      ...snapshots.issues(),
    ],
  }
}

/** Checks the events of plugins, and that two rebuilds from them lead to the same state. */
interface PluginChecker {
  /** Returns the issue as the end of a sentence. */
  findIssue(record: RecordedEvent): string | undefined
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
      plugin.second.apply(record)
      return plugin.codec.findIssue(event)
    },
    facts: () => [...skipped].map(([reason, count]) => `${count} events ${reason}.`),
    issues: () =>
      [...known]
        .filter(([, { first, second }]) => !isDeepStrictEqual(first.current(), second.current()))
        .map(([name]) => `Two rebuilds of plugin "${name}" produced different states.`),
  }
}

/** The codec of a plugin and two empty states. */
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
