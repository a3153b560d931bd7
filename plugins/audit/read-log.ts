import type { EventLog, Position, RecordedEvent } from '../../core/contract/index.ts'
import { readToEnd } from '../../core/event-log/streams.ts'
import { isPluginStream } from '../../core/events/plugin-events.ts'
import { createBackgroundYield } from '../../core/util/cooperative-yield.ts'
import { ACCESS_STREAM } from '../../projections/events/access.ts'
import { identityStream } from '../../projections/events/identities.ts'
import { REVOCATIONS_STREAM } from '../../projections/events/users.ts'
import type { History } from '../../projections/history.ts'
import type { Identities } from '../../projections/identities.ts'
import type { Timeline } from '../../projections/timeline.ts'
import { type LogEntry, toLogEntry } from './audit-entries.ts'
import type { FindLostRace } from './lost-races.ts'
import { type IndexTerm, PartIndex } from './part-index.ts'

/** Reads the entries of the log, in parts of a few thousand events. Events of plugins are none. */
export interface LogReader {
  /**
   * Yields the parts before a position, newest first; each is newest first. With a user: only about them.
   * Parts in which none has all of the terms may be left out.
   */
  backwards(
    below: Position,
    userId?: number,
    terms?: readonly IndexTerm[],
  ): AsyncGenerator<readonly LogEntry[], void, undefined>
  /** Yields the parts after a position, oldest first; each is oldest first. */
  forwards(after: Position): AsyncGenerator<readonly LogEntry[], void, undefined>
}

const PART = 1000

/** Parts that are read at once in a long search: each read begins with a page of the log. */
const MAX_PARTS_PER_READ = 8

/** Streams that hold events about users, besides the users' own. */
const OTHER_STREAMS = [ACCESS_STREAM, REVOCATIONS_STREAM]

/** The events after one position, up to and including another one. */
interface Part {
  readonly after: Position
  readonly end: Position
}

/** See docs/decisions/operators.md, "The audit trail is read from the log, backwards in parts". */
export function createLogReader(
  log: Pick<EventLog, 'read' | 'subscribe'>,
  timeline: Pick<Timeline, 'marks'>,
  history: Pick<History, 'eventsOf'>,
  findLostRace: FindLostRace,
  identitiesOf: Identities['identitiesOf'] = () => [],
): LogReader {
  const index = new PartIndex()

  /** Reads adjoining parts, newest first, and returns their entries, newest first. */
  async function readParts(parts: readonly Part[]): Promise<readonly LogEntry[]> {
    const last = parts[0]?.end ?? 0
    const slice = createBackgroundYield()
    const entries: LogEntry[] = []
    for await (const record of readToEnd(log, parts.at(-1)?.after)) {
      if (record.position > last) break
      if (slice.isDue()) await slice.yieldNow()
      addEntry(entries, record)
    }
    const marks = new Set(timeline.marks())
    for (const { after, end } of parts) {
      if (index.has(end) || !marks.has(end)) continue
      if (slice.isDue()) await slice.yieldNow()
      index.add(
        end,
        entries.filter(({ record }) => record.position > after && record.position <= end),
      )
    }
    return (await noteLostRaces(entries, findLostRace)).toReversed()
  }

  /** The parts before and including a position, newest first. */
  function partsUpTo(to: Position): readonly Part[] {
    const starts = [0, ...timeline.marks().filter((mark) => mark < to)]
    return starts.map((after, n) => ({ after, end: starts[n + 1] ?? to })).reverse()
  }

  async function readUser(userId: number, to: Position): Promise<readonly LogEntry[]> {
    const slice = createBackgroundYield()
    const records = (await history.eventsOf(userId)).map(({ record }) => record)
    for (const stream of [...OTHER_STREAMS, ...identitiesOf(userId).map(identityStream)]) {
      for await (const record of log.read(stream)) {
        if (slice.isDue()) await slice.yieldNow()
        if (record.data.userId === userId) records.push(record)
      }
    }
    const entries: LogEntry[] = []
    for (const record of records) {
      if (slice.isDue()) await slice.yieldNow()
      if (record.position <= to) addEntry(entries, record)
    }
    entries.sort((a, b) => b.record.position - a.record.position)
    return noteLostRaces(entries, findLostRace)
  }

  return {
    async *backwards(below, userId, terms = []) {
      if (userId !== undefined) return yield await readUser(userId, below - 1)
      let wanted = 1
      let parts: Part[] = []
      for (const part of partsUpTo(below - 1)) {
        if (index.mayContain(part.end, terms)) parts.push(part)
        else if (parts.length === 0) continue
        else wanted = parts.length
        if (parts.length < wanted) continue
        yield await readParts(parts)
        parts = []
        wanted = Math.min(wanted * 2, MAX_PARTS_PER_READ)
      }
      if (parts.length > 0) yield await readParts(parts)
    },
    async *forwards(after) {
      let entries: LogEntry[] = []
      const slice = createBackgroundYield()
      for await (const record of readToEnd(log, after)) {
        if (slice.isDue()) await slice.yieldNow()
        addEntry(entries, record)
        if (entries.length < PART) continue
        yield await noteLostRaces(entries, findLostRace)
        entries = []
      }
      yield await noteLostRaces(entries, findLostRace)
    },
  }
}

function addEntry(entries: LogEntry[], record: RecordedEvent): void {
  if (isPluginStream(record.stream)) return
  const entry = toLogEntry(record)
  if (entry !== undefined) entries.push(entry)
}

/** Notes in the entries why events had no effect. Modifies the list. */
async function noteLostRaces(entries: LogEntry[], findLostRace: FindLostRace): Promise<readonly LogEntry[]> {
  for (const [index, entry] of entries.entries()) {
    const finding = findLostRace(entry.record)
    if (finding !== undefined) entries[index] = { ...entry, noEffect: await finding }
  }
  return entries
}
