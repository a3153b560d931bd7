import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Appended,
  type AppendOptions,
  type EventLog,
  EventLogUnavailableError,
  type NewEvent,
  type Position,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../../contract/event-log.ts'
import { AutoResetEvent } from '../../util/auto-reset-event.ts'
import { type StoredEvent, toPlainEvent } from '../stored-event.ts'
import { encodeEvents, LOG_STREAM } from '../streams.ts'
import {
  createLeftoversError,
  HISTORY_FILE,
  hasHeldLog,
  lacksHistory,
  listLeftovers,
  NEWER_VERSION,
} from './check-folder.ts'
import { FOREIGN_WAL } from './foreign-wal.ts'
import { unpackEvents } from './packed-page.ts'
import { SqliteThread } from './thread.ts'
import { type AppendRequest, type EventPage, type PackedPage, parseEventRow } from './worker-protocol.ts'

export interface SqliteLogOptions {
  /** Directory of `events.db`, created if it is missing. */
  readonly directory: string
  /** Categories of streams that subscriptions skip unless they ask for them. None by default. */
  readonly unfollowedStreams?: readonly string[]
  /**
   * Types of events that are written even if the disk is full, as long as the file `events.reserve` has space
   * for them. Without any, there is no such file.
   */
  readonly reservedTypes?: readonly string[]
  /** How long a write waits for locks of other processes, in milliseconds. 5000 by default. */
  readonly busyTimeout?: number
  /** Size of a file at which the log counts as full, in pages of 4 KiB. Unlimited by default. */
  readonly maxPages?: number
  /**
   * What subscribers get: plain events; `StoredEvent`s, for a state that is rebuilt; or these with the hashes
   * of their leaves, for a verification. Plain events by default.
   */
  readonly delivers?: 'events' | 'stored-events' | 'hashed-events'
}

/**
 * Opens the embedded log. Several processes may open the same directory. Rejects with
 * `EventLogUnavailableError` if a file cannot be opened.
 */
export async function openSqliteLog(options: SqliteLogOptions): Promise<EventLog> {
  const {
    directory,
    unfollowedStreams = [],
    reservedTypes = [],
    busyTimeout = 5000,
    maxPages,
    delivers = 'events',
  } = options
  const hashesLeaves = delivers === 'hashed-events'
  await createDirectory(directory)
  const leftovers = listLeftovers(directory)
  const hasHeld = hasHeldLog(directory)
  if (leftovers.length > 0 && lacksHistory(directory)) throw createLeftoversError(directory, leftovers)
  const file = join(directory, HISTORY_FILE)
  const history = new SqliteThread(file)
  try {
    await history
      .request('open', { file, busyTimeout, maxPages, unfollowedStreams, reservedTypes, hashesLeaves })
      .catch((error) => {
        throw describeOpenError(error, file)
      })
    if (hasHeld && (await isEmpty(history))) throw createLeftoversError(directory, leftovers)
    return new SqliteLog(history, delivers === 'events')
  } catch (error) {
    await history.terminate()
    throw error
  }
}

/** The newest id of the log; undefined if there is none. */
async function readId(history: SqliteThread): Promise<string | undefined> {
  const { rows } = await history.request('readStream', { stream: LOG_STREAM, from: 0 })
  const ids = rows.map((row) => parseEventRow(row)?.data.id)
  return ids.findLast((id) => typeof id === 'string')
}

async function isEmpty(history: SqliteThread): Promise<boolean> {
  if ((await readId(history)) !== undefined) return false
  const { events } = await history.request('readLog', { after: 0, streams: undefined })
  return events.length === 0
}

/** Names the file and says what to do. */
function describeOpenError(error: unknown, file: string): unknown {
  if (!EventLogUnavailableError.isInstance(error) || error.damaged) return error
  if (error.message.includes(FOREIGN_WAL))
    return new EventLogUnavailableError(`cannot open ${file}: ${error.message}.`, { cause: error })
  if (error.message.includes(NEWER_VERSION))
    return new EventLogUnavailableError(
      `cannot open ${file}: ${error.message}. Start that version, or restore a backup of before the upgrade.`,
      { cause: error },
    )
  const advice =
    'Check the permissions and the space on the disk; if the file is damaged, restore it from a backup'
  const { diskFull, cause = error } = error
  const message = `cannot open ${file}: ${error.message}. ${advice}.`
  return new EventLogUnavailableError(message, { cause, diskFull })
}

async function createDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true })
  } catch (cause) {
    throw new EventLogUnavailableError(`cannot create the event log's directory ${directory}`, { cause })
  }
}

class SqliteLog implements EventLog {
  readonly #history: SqliteThread
  readonly #deliversPlain: boolean
  #closed: Promise<unknown> | undefined

  constructor(history: SqliteThread, deliversPlain: boolean) {
    this.#history = history
    this.#deliversPlain = deliversPlain
  }

  async append(
    stream: string,
    events: readonly NewEvent[],
    { expectedRevision, metadata }: AppendOptions,
  ): Promise<Appended> {
    const encoded = encodeEvents(stream, events, metadata)
    const request: AppendRequest = {
      stream,
      expectedRevision,
      events: events.map(({ type }, index) => [type, encoded.data[index] ?? ''] as const),
      metadata: encoded.metadata,
    }
    const response = await this.#history.append(request)
    if ('actual' in response)
      throw new WrongExpectedRevisionError(stream, Number(expectedRevision), response.actual)
    return response
  }

  async *read(stream: string, from = 0): AsyncGenerator<RecordedEvent> {
    let next = from
    let page: EventPage
    do {
      page = await this.#history.request('readStream', { stream, from: next })
      for (const row of page.rows) {
        const event = parseEventRow(row)
        if (event) yield event
        next = row[2] + 1
      }
    } while (page.more)
  }

  async *subscribe(
    from: Position,
    signal: AbortSignal,
    streams?: string,
  ): AsyncGenerator<RecordedEvent | 'caught-up'> {
    let position = from
    let isCaughtUp = false
    const committed = new AutoResetEvent()
    const wake = () => committed.set()
    const hasEnded = () => signal.aborted || this.#closed !== undefined
    const deliver = (event: StoredEvent) => (this.#deliversPlain ? toPlainEvent(event) : event)
    signal.addEventListener('abort', wake)
    this.#history.addSubscriber(committed)
    try {
      let next = this.#readLog(position, streams)
      while (!hasEnded()) {
        const page = await next
        const { more, last } = page
        // Prefetched: the worker reads the next page while the subscriber processes this one.
        if (more) next = this.#readLog(last, streams)
        for (const event of unpackEvents(page)) {
          if (hasEnded()) return
          yield deliver(event)
        }
        position = last
        if (more || hasEnded()) continue
        if (!isCaughtUp) yield 'caught-up'
        isCaughtUp = true
        await committed.wait()
        next = this.#readLog(position, streams)
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.#history.removeSubscriber(committed)
    }
  }

  poll(): void {
    this.#history.wakeSubscribers()
  }

  async close(): Promise<void> {
    this.#closed ??= this.#history.close()
    await this.#closed
  }

  #readLog(after: Position, streams: string | undefined): Promise<PackedPage> {
    const page = this.#history.request('readLog', { after, streams })
    // A prefetched page may never be awaited; its rejection must not end the process.
    page.catch(() => undefined)
    return page
  }
}
