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
import { chain, type MaybePromise } from '../../util/maybe-promise.ts'
import { type StoredEvent, toPlainEvent } from '../stored-event.ts'
import { checkAppend, checkDeletable, encodeEvents, LOG_STREAM, matchesStream } from '../streams.ts'
import {
  createLeftoversError,
  EXPIRING_FILE,
  HISTORY_FILE,
  hasContent,
  hasHeldLog,
  lacksHistory,
  listLeftovers,
  NEWER_VERSION,
} from './check-folder.ts'
import type { SetAsideFile } from './damaged-files.ts'
import { parseEventRow } from './event-row.ts'
import { FOREIGN_WAL } from './foreign-wal.ts'
import { unpackEvents } from './packed-page.ts'
import { LazyThread, SqliteThread } from './thread.ts'
import type { AppendRequest, EventPage, PackedPage } from './worker-protocol.ts'

export interface SqliteLogOptions {
  /**
   * Directory of the log's files, created if it is missing: `events.db` and, from the first append to an
   * expiring stream on, `responses.db`.
   */
  readonly directory: string
  /**
   * Streams whose events are deleted after their `maxAge`; a name that ends in `-` is a category. None by
   * default.
   */
  readonly expiringStreams?: readonly string[]
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
  /**
   * Called when `responses.db` was found damaged and an empty file has taken its place. Without it, such a
   * file is an error.
   */
  readonly onSetAside?: (file: SetAsideFile) => void
}

/**
 * Opens the embedded log. Several processes may open the same directory. Rejects with
 * `EventLogUnavailableError` if a file cannot be opened.
 */
export async function openSqliteLog(options: SqliteLogOptions): Promise<EventLog> {
  const {
    directory,
    expiringStreams = [],
    unfollowedStreams = [],
    reservedTypes = [],
    busyTimeout = 5000,
    maxPages,
    delivers = 'events',
    onSetAside,
  } = options
  const pages = { validatesJson: delivers === 'stored-events', hashesLeaves: delivers === 'hashed-events' }
  await createDirectory(directory)
  const leftovers = listLeftovers(directory)
  const hasHeld = hasHeldLog(directory)
  if (leftovers.length > 0 && lacksHistory(directory)) throw createLeftoversError(directory, leftovers)
  const open = async (
    script: ConstructorParameters<typeof SqliteThread>[1],
    name: string,
    logId?: string,
  ) => {
    const file = join(directory, name)
    const thread = new SqliteThread(file, script, onSetAside)
    try {
      const setsAside = onSetAside !== undefined
      await thread.request('open', {
        file,
        busyTimeout,
        maxPages,
        logId,
        setsAside,
        unfollowedStreams,
        reservedTypes,
        pages,
      })
      return thread
    } catch (error) {
      await thread.terminate()
      throw describeOpenError(error, file)
    }
  }
  const history = await open('./history-worker', HISTORY_FILE)
  const openExpiring = async () => open('./expiring-worker', EXPIRING_FILE, await readId(history))
  try {
    if (hasHeld && (await isEmpty(history))) throw createLeftoversError(directory, leftovers)
    // A full disk leaves a file without content, and must not keep the gateway from starting.
    const expiring = hasContent(join(directory, EXPIRING_FILE)) ? await openExpiring() : undefined
    return new SqliteLog(
      history,
      new LazyThread(openExpiring, expiring),
      expiringStreams,
      delivers === 'events',
    )
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
  if (!EventLogUnavailableError.isInstance(error) || (error.damaged && file.endsWith(HISTORY_FILE)))
    return error
  if (error.message.includes(FOREIGN_WAL))
    return new EventLogUnavailableError(`cannot open ${file}: ${error.message}.`, { cause: error })
  if (error.message.includes(NEWER_VERSION))
    return new EventLogUnavailableError(
      `cannot open ${file}: ${error.message}. Start that version, or restore a backup of before the upgrade.`,
      { cause: error },
    )
  const advice = file.endsWith(EXPIRING_FILE)
    ? 'It holds stored responses and nothing else: restore it from the backup of events.db, or move it ' +
      `out of the folder together with ${EXPIRING_FILE}-wal and ${EXPIRING_FILE}-shm`
    : 'Check the permissions and the space on the disk; if the file is damaged, restore it from a backup'
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

/**
 * Expiring streams have their own file and thread, so that their volume does not slow reads, syncs and
 * backups of the history. Both are created only if something expires.
 */
class SqliteLog implements EventLog {
  readonly #history: SqliteThread
  readonly #expiring: LazyThread
  readonly #expiringStreams: readonly string[]
  readonly #deliversPlain: boolean
  #closed: Promise<unknown> | undefined

  constructor(
    history: SqliteThread,
    expiring: LazyThread,
    expiringStreams: readonly string[],
    deliversPlain: boolean,
  ) {
    this.#history = history
    this.#expiring = expiring
    this.#expiringStreams = expiringStreams
    this.#deliversPlain = deliversPlain
  }

  async append(
    stream: string,
    events: readonly NewEvent[],
    { expectedRevision, metadata, maxAge }: AppendOptions,
  ): Promise<Appended> {
    checkAppend(stream, events, maxAge, this.#isExpiring(stream))
    const encoded = encodeEvents(stream, events, metadata)
    const request: AppendRequest = {
      stream,
      expectedRevision,
      events: events.map(({ type }, index) => [type, encoded.data[index] ?? ''] as const),
      metadata: encoded.metadata,
      maxAge,
    }
    // Requested synchronously if the thread is running, so that a later `close` waits for this append.
    const response = await chain(this.#threadOf(stream), (thread) => thread.append(request))
    if ('actual' in response)
      throw new WrongExpectedRevisionError(stream, Number(expectedRevision), response.actual)
    return response
  }

  async *read(stream: string, from = 0): AsyncGenerator<RecordedEvent> {
    const thread = await this.#threadOf(stream)
    let next = from
    let page: EventPage
    do {
      page = await thread.request('readStream', { stream, from: next })
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
    /** The last event of a page, until it is known whether the next page continues its append. */
    let held: StoredEvent | undefined
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
          const previous = held
          held = event
          if (previous === undefined) continue
          previous.isContinued = previous.isFollowedBy(event)
          yield deliver(previous)
        }
        if (held !== undefined && !more && !hasEnded()) yield deliver(held)
        if (!more) held = undefined
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

  async deleteStream(stream: string): Promise<void> {
    checkDeletable(stream, this.#isExpiring(stream))
    await chain(this.#threadOf(stream), (thread) => thread.request('deleteStream', { stream }))
  }

  async close(): Promise<void> {
    this.#closed ??= Promise.all([this.#history.close(), this.#expiring.close()])
    await this.#closed
  }

  #readLog(after: Position, streams: string | undefined): Promise<PackedPage> {
    const page = this.#history.request('readLog', { after, streams })
    // A prefetched page may never be awaited; its rejection must not end the process.
    page.catch(() => undefined)
    return page
  }

  #threadOf(stream: string): MaybePromise<SqliteThread> {
    return this.#isExpiring(stream) ? this.#expiring.get() : this.#history
  }

  #isExpiring(stream: string): boolean {
    return matchesStream(this.#expiringStreams, stream)
  }
}
