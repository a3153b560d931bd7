import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Appended,
  type AppendOptions,
  type EventLog,
  LogUnavailable,
  type NewEvent,
  type Position,
  type RecordedEvent,
  WrongRevision,
} from '../contract/event-log.ts'
import { Bell } from './bell.ts'
import type { Page, Row } from './sqlite-protocol.ts'
import { SqliteThread } from './sqlite-thread.ts'

export interface SqliteLogOptions {
  /** Holds the file `events.db`; created when it is missing. */
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
  const thread = new SqliteThread()
  try {
    await thread.ask({ type: 'open', file: join(directory, 'events.db'), busyTimeout, maxPages })
  } catch (error) {
    await thread.terminate()
    throw error
  }
  return new SqliteLog(thread)
}

async function createDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true })
  } catch (cause) {
    throw new LogUnavailable(`the event log's directory ${directory} could not be created`, { cause })
  }
}

class SqliteLog implements EventLog {
  readonly #thread: SqliteThread
  #closed: Promise<void> | undefined

  constructor(thread: SqliteThread) {
    this.#thread = thread
  }

  async append(
    stream: string,
    events: readonly NewEvent[],
    { expected, metadata }: AppendOptions,
  ): Promise<Appended> {
    if (events.length === 0) throw new Error(`an append to ${stream} needs at least one event`)
    const answer = await this.#thread.ask({
      type: 'append',
      stream,
      expected,
      events: events.map(({ type, data }) => [type, JSON.stringify(data)] as const),
      metadata: JSON.stringify(metadata),
    })
    if (answer.type === 'wrong-revision') throw new WrongRevision(stream, Number(expected), answer.actual)
    return { revision: answer.revision, position: answer.position }
  }

  async *read(stream: string, from = 0): AsyncGenerator<RecordedEvent> {
    let next = from
    let page: Page
    do {
      page = await this.#thread.ask({ type: 'read-stream', stream, from: next })
      for (const row of page.rows) {
        const event = readRow(row)
        yield event
        next = event.revision + 1
      }
    } while (page.more)
  }

  async *follow(from: Position, signal: AbortSignal): AsyncGenerator<RecordedEvent | 'caught-up'> {
    let position = from
    let caughtUp = false
    const bell = new Bell()
    const wake = () => bell.ring()
    const ended = () => signal.aborted || this.#closed !== undefined
    signal.addEventListener('abort', wake)
    this.#thread.follow(bell)
    try {
      while (!ended()) {
        const { rows, more } = await this.#thread.ask({ type: 'read-log', after: position })
        for (const row of rows) {
          if (ended()) return
          const event = readRow(row)
          yield event
          position = event.position
        }
        if (more || ended()) continue
        if (!caughtUp) yield 'caught-up'
        caughtUp = true
        await bell.heard()
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.#thread.unfollow(bell)
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#thread.close()
    return this.#closed
  }
}

function readRow([position, stream, revision, type, data, metadata]: Row): RecordedEvent {
  // Both texts were written by `append` from values of these types.
  return { position, stream, revision, type, data: JSON.parse(data), metadata: JSON.parse(metadata) }
}
