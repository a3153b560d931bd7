import { StreamDeletedError, StreamNotFoundError, WrongExpectedVersionError } from '@eventstore/db-client'
import {
  type Appended,
  type AppendOptions,
  type EventLog,
  EventLogUnavailableError,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from '../../contract/event-log.ts'
import { checkMaxAge, FOLLOWED_STREAMS, isExpiring } from '../../events/streams.ts'
import { appendEvents } from './append.ts'
import { connectEventStore, type EventStoreServer } from './client.ts'
import { toUnavailableError, withTimeout } from './errors.ts'
import { toRecordedEvent } from './record.ts'
import { checkReadAccess, iterateSource, subscribeToStreams } from './subscribe.ts'

export interface EventStoreLogOptions {
  /** `esdb://` or `kurrentdb://`, single node or cluster, with credentials and TLS; see docs/event-log.md. */
  readonly connectionString: string
  /** Stands before the name of every stream, so that several logs can share a server. */
  readonly streamPrefix?: string
  /** How long an answer of the server may take, in milliseconds. */
  readonly timeoutMs?: number
}

/**
 * Opens the log on a server or cluster of EventStoreDB or KurrentDB. Rejects with `LogUnavailable` when it cannot be
 * reached, or does not let us read `$all`.
 */
export async function openEventStoreLog(options: EventStoreLogOptions): Promise<EventLog> {
  const { connectionString, streamPrefix = '', timeoutMs = 5000 } = options
  const { client, readServerVersion, close } = connectEventStore(connectionString)
  try {
    const version = await withTimeout(readServerVersion(), timeoutMs)
    const server = { client, close, streamPrefix, timeoutMs, reportsCaughtUp: reportsCaughtUp(version) }
    await checkReadAccess(server)
    return new EventStoreLog(server)
  } catch (error) {
    close()
    throw toUnavailableError(error)
  }
}

/** Servers do since 23.10; an unknown version is an old one. */
function reportsCaughtUp(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 23 || (major === 23 && minor >= 10)
}

class EventStoreLog implements EventLog {
  readonly #server: EventStoreServer
  readonly #appends = new Set<Promise<unknown>>()
  readonly #leaving = new AbortController()
  #closed: Promise<void> | undefined

  constructor(server: EventStoreServer) {
    this.#server = server
  }

  async append(stream: string, events: readonly NewEvent[], options: AppendOptions): Promise<Appended> {
    if (events.length === 0) throw new Error(`an append to ${stream} needs at least one event`)
    checkMaxAge(stream, options.maxAge)
    this.#refuseWhenClosed()
    const append = appendEvents(this.#server, stream, events, options)
    this.#appends.add(append)
    try {
      return await append
    } finally {
      this.#appends.delete(append)
    }
  }

  async *read(stream: string, from = 0): AsyncGenerator<RecordedEvent> {
    this.#refuseWhenClosed()
    const { client, streamPrefix, timeoutMs } = this.#server
    const source = client.readStream(streamPrefix + stream, { fromRevision: BigInt(from) })
    try {
      for await (const { event } of iterateSource(
        source,
        () => source.cancel(),
        this.#leaving.signal,
        timeoutMs,
      )) {
        const record = toRecordedEvent(event, streamPrefix)
        if (record) yield record
      }
    } catch (error) {
      if (isAbsence(error)) return
      throw toUnavailableError(error)
    }
    // Half a stream must not be taken for the whole.
    this.#refuseWhenClosed()
  }

  async *subscribe(
    from: Position,
    signal: AbortSignal,
    streams?: string,
  ): AsyncGenerator<RecordedEvent | 'caught-up'> {
    const leaving = AbortSignal.any([signal, this.#leaving.signal])
    try {
      yield* subscribeToStreams(
        this.#server,
        from,
        leaving,
        streams === undefined ? FOLLOWED_STREAMS : [streams],
      )
    } catch (error) {
      throw toUnavailableError(error)
    }
    if (!leaving.aborted)
      throw new EventLogUnavailableError('the event log server has ended the subscription')
  }

  async deleteStream(stream: string): Promise<void> {
    if (!isExpiring(stream)) throw new Error(`${stream} is kept for ever`)
    this.#refuseWhenClosed()
    const { client, streamPrefix, timeoutMs } = this.#server
    try {
      await withTimeout(client.deleteStream(streamPrefix + stream, { deadline: timeoutMs }), timeoutMs)
    } catch (error) {
      if (!isAbsence(error)) throw toUnavailableError(error)
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#appends)
    this.#leaving.abort()
    this.#server.close()
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new EventLogUnavailableError('the event log is closed')
  }
}

/** The stream is not there, or no longer. */
function isAbsence(error: unknown): boolean {
  return (
    error instanceof StreamNotFoundError ||
    error instanceof StreamDeletedError ||
    error instanceof WrongExpectedVersionError
  )
}
