import { existsSync } from 'node:fs'
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
import { checkMaxAge, isExpiring } from '../../events/streams.ts'
import { AutoResetEvent } from '../../util/auto-reset-event.ts'
import { chain, type MaybePromise } from '../../util/maybe-promise.ts'
import { LazyThread, SqliteThread } from './thread.ts'
import type { AppendRequest, EventPage, EventRow } from './worker-protocol.ts'

export interface SqliteLogOptions {
  /** Holds the files `events.db` and, for what expires, `responses.db`, which comes with the first of that; created when it is missing. */
  readonly directory: string
  /** How long a write waits for other processes at the same file, in milliseconds. */
  readonly busyTimeout?: number
  /** The size at which the log counts as full, in pages of 4 KiB. Without it the disk decides. */
  readonly maxPages?: number
}

/** Opens the embedded log. Several processes may have the same directory open. Rejects with `LogUnavailable`. */
export async function openSqliteLog(options: SqliteLogOptions): Promise<EventLog> {
  const { directory, busyTimeout = 5000, maxPages } = options
  await createDirectory(directory)
  const open = async (script: ConstructorParameters<typeof SqliteThread>[0], file: string) => {
    const thread = new SqliteThread(script)
    try {
      await thread.request({ type: 'open', file: join(directory, file), busyTimeout, maxPages })
      return thread
    } catch (error) {
      await thread.terminate()
      throw error
    }
  }
  const openExpiring = () => open('./expiring-worker', EXPIRING)
  const opening = [
    open('./history-worker', 'events.db'),
    existsSync(join(directory, EXPIRING)) ? openExpiring() : undefined,
  ] as const
  try {
    const [history, expiring] = await Promise.all(opening)
    return new SqliteLog(history, new LazyThread(openExpiring, expiring))
  } catch (error) {
    for (const opened of await Promise.allSettled(opening))
      if (opened.status === 'fulfilled') await opened.value?.terminate()
    throw error
  }
}

const EXPIRING = 'responses.db'

async function createDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true })
  } catch (cause) {
    throw new EventLogUnavailableError(`the event log's directory ${directory} could not be created`, {
      cause,
    })
  }
}

/**
 * What expires has a file and a thread of its own: however much it is, the history is read, synced and copied as without it. Where nothing
 * ever expires there is no need of either.
 */
class SqliteLog implements EventLog {
  readonly #history: SqliteThread
  readonly #expiring: LazyThread
  #closed: Promise<unknown> | undefined

  constructor(history: SqliteThread, expiring: LazyThread) {
    this.#history = history
    this.#expiring = expiring
  }

  async append(
    stream: string,
    events: readonly NewEvent[],
    { expectedRevision, metadata, maxAge }: AppendOptions,
  ): Promise<Appended> {
    if (events.length === 0) throw new Error(`an append to ${stream} needs at least one event`)
    checkMaxAge(stream, maxAge)
    const ask: AppendRequest = {
      type: 'append',
      stream,
      expectedRevision,
      events: events.map(({ type, data }) => [type, JSON.stringify(data)] as const),
      metadata: JSON.stringify(metadata),
      maxAge,
    }
    // Asked at once where the thread is there: whoever closes the log next waits for it.
    const answer = await chain(this.#threadOf(stream), (thread) => thread.request(ask))
    if (answer.type === 'wrong-revision')
      throw new WrongExpectedRevisionError(stream, Number(expectedRevision), answer.actual)
    return { revision: answer.revision, position: answer.position }
  }

  async *read(stream: string, from = 0): AsyncGenerator<RecordedEvent> {
    const thread = await this.#threadOf(stream)
    let next = from
    let page: EventPage
    do {
      page = await thread.request({ type: 'read-stream', stream, from: next })
      for (const row of page.rows) {
        const event = readRow(row)
        yield event
        next = event.revision + 1
      }
    } while (page.more)
  }

  async *subscribe(
    from: Position,
    signal: AbortSignal,
    streams?: string,
  ): AsyncGenerator<RecordedEvent | 'caught-up'> {
    let position = from
    let caughtUp = false
    const bell = new AutoResetEvent()
    const wake = () => bell.set()
    const ended = () => signal.aborted || this.#closed !== undefined
    signal.addEventListener('abort', wake)
    this.#history.addSubscriber(bell)
    try {
      let next = this.#readLog(position, streams)
      while (!ended()) {
        const { rows, more } = await next
        // The worker fetches while the follower works on what it has.
        if (more) next = this.#readLog(rows.at(-1)?.[0] ?? position, streams)
        for (const row of rows) {
          if (ended()) return
          const event = readRow(row)
          yield event
          position = event.position
        }
        if (more || ended()) continue
        if (!caughtUp) yield 'caught-up'
        caughtUp = true
        await bell.wait()
        next = this.#readLog(position, streams)
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.#history.removeSubscriber(bell)
    }
  }

  poll(): void {
    this.#history.wakeSubscribers()
  }

  async deleteStream(stream: string): Promise<void> {
    if (!isExpiring(stream)) throw new Error(`${stream} is kept for ever`)
    await chain(this.#threadOf(stream), (thread) => thread.request({ type: 'remove', stream }))
  }

  async close(): Promise<void> {
    this.#closed ??= Promise.all([this.#history.close(), this.#expiring.close()])
    await this.#closed
  }

  #readLog(after: Position, streams: string | undefined): Promise<EventPage> {
    const page = this.#history.request({ type: 'read-log', after, streams })
    // Whoever leaves early does not want to know.
    page.catch(() => undefined)
    return page
  }

  #threadOf(stream: string): MaybePromise<SqliteThread> {
    return isExpiring(stream) ? this.#expiring.get() : this.#history
  }
}

function readRow([position, stream, revision, type, data, metadata]: EventRow): RecordedEvent {
  // Both texts were written by `append` from values of these types.
  return { position, stream, revision, type, data: JSON.parse(data), metadata: JSON.parse(metadata) }
}
