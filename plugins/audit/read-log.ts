import type { EventLog, Position, RecordedEvent } from '../../core/contract/index.ts'
import { readToEnd } from '../../core/event-log/read-to-end.ts'
import { ACCESS_STREAM } from '../../core/events/access-events.ts'
import { isPluginStream } from '../../core/events/plugin-events.ts'
import { REVOCATIONS_STREAM } from '../../core/events/well-formed.ts'
import type { History } from '../../projections/history.ts'
import type { Timeline } from '../../projections/timeline.ts'
import { type LogEntry, toLogEntry } from './log-entries.ts'

/** Reads the entries of the log, in parts of about a thousand events. Events of plugins are none. */
export interface LogReader {
  /** Yields the parts before a position, newest first; each is newest first. With a user: only about them. */
  backwards(below: Position, userId?: number): AsyncGenerator<readonly LogEntry[], void, undefined>
  /** Yields the parts after a position, oldest first; each is oldest first. */
  forwards(after: Position): AsyncGenerator<readonly LogEntry[], void, undefined>
}

const PART = 1000

/** Streams that hold events about users, besides the users' own. */
const OTHER_STREAMS = [ACCESS_STREAM, REVOCATIONS_STREAM]

/** See docs/decisions/operators.md, "The audit trail is read from the log, backwards in parts". */
export function createLogReader(
  log: Pick<EventLog, 'read' | 'subscribe'>,
  timeline: Pick<Timeline, 'marks'>,
  history: Pick<History, 'eventsOf'>,
): LogReader {
  /** Reads the entries after `from`, up to and including `to`. */
  async function readPart(from: Position, to: Position): Promise<readonly LogEntry[]> {
    const entries: LogEntry[] = []
    for await (const record of readToEnd(log, from)) {
      if (record.position > to) break
      addEntry(entries, record)
    }
    return entries
  }

  return {
    async *backwards(below, userId) {
      let to = below - 1
      if (userId !== undefined) {
        const records = (await history.eventsOf(userId)).map(({ record }) => record)
        for (const stream of OTHER_STREAMS) {
          for await (const record of log.read(stream)) if (record.data.userId === userId) records.push(record)
        }
        const entries: LogEntry[] = []
        for (const record of records) if (record.position <= to) addEntry(entries, record)
        return yield entries.sort((a, b) => b.record.position - a.record.position)
      }
      for (const mark of [...timeline.marks()].reverse()) {
        if (mark >= to) continue
        yield (await readPart(mark, to)).toReversed()
        to = mark
      }
      if (to > 0) yield (await readPart(0, to)).toReversed()
    },
    async *forwards(after) {
      let entries: LogEntry[] = []
      for await (const record of readToEnd(log, after)) {
        addEntry(entries, record)
        if (entries.length < PART) continue
        yield entries
        entries = []
      }
      yield entries
    },
  }
}

function addEntry(entries: LogEntry[], record: RecordedEvent): void {
  if (isPluginStream(record.stream)) return
  const entry = toLogEntry(record)
  if (entry !== undefined) entries.push(entry)
}
