import { GatewayError } from '../../core/contract/index.ts'
import { TurnQueue } from '../../core/threads/turn-queue.ts'
import { createBackgroundYield } from '../../core/util/cooperative-yield.ts'
import type { LogEntry } from './audit-entries.ts'
import { compareToAsOf } from './audit-entries.ts'
import type { LogFilter } from './log-filter.ts'
import type { LogReader } from './read-log.ts'

/** Searches that read the log at the same time, and those that wait for their turn. */
const MAX_RUNNING = 2
const MAX_WAITING = 8

/** Finds entries of the audit trail, newest first. */
export class LogSearch {
  readonly #reader: LogReader
  readonly #queue = new TurnQueue(MAX_RUNNING, MAX_WAITING)

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  /**
   * Returns at most `count` entries before a position. A filter may have to read the whole log, so only a few
   * searches run at a time: throws 429 if too many wait. Rejects if the signal aborts.
   */
  find(filter: LogFilter, below: number, count: number, signal: AbortSignal): Promise<readonly LogEntry[]> {
    const search = () => findEntries(this.#reader, filter, below, count, signal)
    if (!filter.isSelective) return search()
    return this.#queue.run(search, signal) ?? Promise.reject(createBusyError())
  }
}

async function findEntries(
  reader: LogReader,
  { user, since, until, terms, matches }: LogFilter,
  below: number,
  count: number,
  signal: AbortSignal,
): Promise<readonly LogEntry[]> {
  const found: LogEntry[] = []
  const slice = createBackgroundYield()
  const start = until?.type === 'position' ? Math.min(below, until.position + 1) : below
  for await (const part of reader.backwards(start, user, terms)) {
    signal.throwIfAborted()
    for (const entry of part) {
      if (slice.isDue()) await slice.yieldNow()
      if (matches(entry)) found.push(entry)
      if (found.length === count) return found
    }
    const oldest = part.at(-1)?.record
    // Times in the log never decrease by more than the clocks of its nodes differ.
    if (since?.type === 'position' && oldest && compareToAsOf(oldest, since) < 0) break
  }
  return found
}

function createBusyError(): GatewayError {
  const message =
    'Too many searches of the audit trail are waiting. Try again later, or narrow the search by user, ' +
    'since or until.'
  return new GatewayError('audit_busy', message, { retryAfter: 2 })
}
