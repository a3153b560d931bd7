import { setMaxListeners } from 'node:events'
import { StreamDeletedError, StreamNotFoundError } from '@eventstore/db-client'
import {
  type Appended,
  type AppendOptions,
  type EventLog,
  EventLogUnavailableError,
  type NewEvent,
  type Position,
  type RecordedEvent,
  type StreamAnomaly,
} from '../../contract/event-log.ts'
import { appendEvents, orderAppends, retryAppends } from './append.ts'
import { connectEventStore, type EventStoreServer, type SendAppend } from './client.ts'
import { toUnavailableError, withServerTimeout } from './errors.ts'
import { toRecordedEvent } from './record.ts'
import { checkReadAccess, isRecorded, readBatches, subscribeToStreams } from './subscribe.ts'

export interface EventStoreLogOptions {
  /** `esdb://` or `kurrentdb://`, single node or cluster, with credentials and TLS; see docs/event-log.md. */
  readonly connectionString: string
  /** Streams that subscribers receive. A name that ends in `-` is a category. */
  readonly followedStreams: readonly string[]
  /** Streams that subscribers receive only if they ask for them. None by default. */
  readonly unfollowedStreams?: readonly string[]
  /** Precedes the name of every stream on the server, so that several logs can share it. */
  readonly streamPrefix?: string
  /** Maximum time to wait for a response, in milliseconds; more for large appends. 4500 by default. */
  readonly timeoutMs?: number
  /**
   * Writes concurrent appends in the order of the calls, and does not retry them. False by default. See
   * docs/decisions/event-log.md, "Every append is a call of its own".
   */
  readonly ordersAppends?: boolean
}

/**
 * Opens a log on a server or cluster of EventStoreDB or KurrentDB. Rejects with `EventLogUnavailableError` if
 * the server cannot be reached or the user may not read `$all`.
 */
export async function openEventStoreLog(options: EventStoreLogOptions): Promise<EventLog> {
  const { connectionString, streamPrefix = '', timeoutMs = 4500 } = options
  const { followedStreams, unfollowedStreams = [], ordersAppends = false } = options
  const { client, close } = connectEventStore(connectionString, ordersAppends)
  const send: SendAppend = (stream, proposed, appendOptions) =>
    withServerTimeout(client.appendToStream(stream, proposed, appendOptions), appendOptions.deadline)
  const sendAppend = ordersAppends ? orderAppends(send) : retryAppends(send)
  const server = { client, sendAppend, streamPrefix, timeoutMs }
  try {
    await checkReadAccess(server)
    return new EventStoreLog(server, close, { followedStreams, unfollowedStreams })
  } catch (error) {
    close()
    throw toUnavailableError(error)
  }
}

type StreamsByUse = Required<Pick<EventStoreLogOptions, 'followedStreams' | 'unfollowedStreams'>>

class EventStoreLog implements EventLog {
  readonly #server: EventStoreServer
  readonly #closeConnection: () => void
  readonly #streams: StreamsByUse
  readonly #appends = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()
  #closed: Promise<void> | undefined

  constructor(server: EventStoreServer, closeConnection: () => void, streams: StreamsByUse) {
    this.#server = server
    this.#closeConnection = closeConnection
    this.#streams = streams
    // Every read adds a listener, and commands read many streams at the same time.
    setMaxListeners(0, this.#closing.signal)
  }

  async append(stream: string, events: readonly NewEvent[], options: AppendOptions): Promise<Appended> {
    this.#checkOpen()
    const append = appendEvents(this.#server, stream, events, options)
    this.#appends.add(append)
    try {
      return await append
    } finally {
      this.#appends.delete(append)
    }
  }

  async *read(stream: string, from = 0): AsyncGenerator<RecordedEvent> {
    this.#checkOpen()
    const { client, streamPrefix, timeoutMs } = this.#server
    const source = client.readStream(streamPrefix + stream, { fromRevision: BigInt(from) })
    const cancel = () => source.cancel()
    try {
      for await (const batch of readBatches(source, cancel, this.#closing.signal, timeoutMs))
        for (const { event } of batch) {
          const record = event && toRecordedEvent(event, streamPrefix)
          if (record) yield record
        }
    } catch (error) {
      if (error instanceof StreamNotFoundError || error instanceof StreamDeletedError) return
      throw toUnavailableError(error)
    }
    // Closing the log ends the iteration early; a partial stream must not pass for the whole stream.
    this.#checkOpen()
  }

  async *subscribe(
    from: Position,
    signal: AbortSignal,
    streams?: string,
    onAnomaly?: (anomaly: StreamAnomaly) => void,
  ): AsyncGenerator<RecordedEvent | 'caught-up'> {
    const abort = AbortSignal.any([signal, this.#closing.signal])
    const names = this.#subscribedStreams(streams)
    try {
      for await (const batch of subscribeToStreams(this.#server, from, abort, names))
        for (const item of batch) {
          if (abort.aborted) return
          if (item === 'caught-up' || isRecorded(item)) yield item
          else onAnomaly?.(item)
        }
    } catch (error) {
      throw toUnavailableError(error)
    }
    if (!abort.aborted) throw new EventLogUnavailableError('the event log server ended the subscription')
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#appends)
    this.#closing.abort()
    this.#closeConnection()
  }

  #subscribedStreams(streams: string | undefined): readonly string[] {
    const { followedStreams, unfollowedStreams } = this.#streams
    if (streams === undefined) return followedStreams
    // The empty prefix would match the events of other programs, too.
    return streams === '' ? [...followedStreams, ...unfollowedStreams] : [streams]
  }

  #checkOpen(): void {
    if (this.#closed) throw new EventLogUnavailableError('the event log is closed')
  }
}
