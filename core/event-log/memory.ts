import {
  type Appended,
  type AppendOptions,
  type EventLog,
  EventLogUnavailableError,
  type NewEvent,
  type Position,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../contract/event-log.ts'
import { AutoResetEvent } from '../util/auto-reset-event.ts'
import { createCooperativeYield } from '../util/cooperative-yield.ts'
import { encodeEvents, matchesStream } from './streams.ts'

interface MemoryLogOptions {
  /** Categories of streams that subscriptions skip unless they ask for them. None by default. */
  readonly unfollowedStreams?: readonly string[]
  /**
   * The events of the log. Logs that share a storage behave like processes that share a file. Empty by
   * default.
   */
  readonly storage?: MemoryStorage
}

/** The events of in-memory logs. Outlives the logs that use it. */
export interface MemoryStorage {
  lastPosition: Position
  /** The events of all streams, in log order. */
  readonly history: StoredEvent[]
  readonly streams: Map<string, StoredEvent[]>
  readonly subscribers: Set<AutoResetEvent>
}

/** Data and metadata are JSON text, so that every reader gets its own copy, as with any other log. */
interface StoredEvent {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  readonly type: string
  readonly data: string
  readonly metadata: string
}

export function createMemoryStorage(): MemoryStorage {
  return {
    lastPosition: 0,
    history: [],
    streams: new Map(),
    subscribers: new Set(),
  }
}

/** Creates an event log that keeps its events in memory, for tests and embedding. */
export function createMemoryLog(options: MemoryLogOptions = {}): EventLog {
  return new MemoryLog(options)
}

class MemoryLog implements EventLog {
  readonly #storage: MemoryStorage
  readonly #unfollowedStreams: readonly string[]
  readonly #closing = new AbortController()

  constructor(options: MemoryLogOptions) {
    this.#storage = options.storage ?? createMemoryStorage()
    this.#unfollowedStreams = options.unfollowedStreams ?? []
  }

  async append(
    stream: string,
    events: readonly NewEvent[],
    { expectedRevision, metadata }: AppendOptions,
  ): Promise<Appended> {
    this.#checkOpen()
    const encoded = encodeEvents(stream, events, metadata)
    const actual = this.#eventsOf(stream).at(-1)?.revision ?? -1
    if (expectedRevision !== 'any' && expectedRevision !== actual)
      throw new WrongExpectedRevisionError(stream, expectedRevision, actual)

    const common = { stream, metadata: encoded.metadata }
    const stored = events.map(({ type }, index) => ({
      ...common,
      type,
      data: encoded.data[index] ?? '',
      revision: actual + 1 + index,
      position: this.#storage.lastPosition + 1 + index,
    }))
    // From here on nothing throws: an append writes all of its events or none.
    this.#storage.lastPosition += events.length
    this.#store(stream, stored)
    return { revision: actual + events.length, position: this.#storage.lastPosition }
  }

  async *read(stream: string, from = 0): AsyncGenerator<RecordedEvent> {
    this.#checkOpen()
    const events = this.#eventsOf(stream).filter(({ revision }) => revision >= from)
    for (const event of events) yield toRecordedEvent(event)
  }

  async *subscribe(
    from: Position,
    signal: AbortSignal,
    streams?: string,
  ): AsyncGenerator<RecordedEvent | 'caught-up'> {
    const { history, subscribers } = this.#storage
    const abort = AbortSignal.any([signal, this.#closing.signal])
    const appended = new AutoResetEvent()
    const wake = () => appended.set()
    // Catching up never waits for I/O, so without pauses a long log would block the event loop.
    const slice = createCooperativeYield()
    abort.addEventListener('abort', wake)
    subscribers.add(appended)
    try {
      let index = findIndexAfter(history, from)
      let isCaughtUp = false
      while (!abort.aborted) {
        const event = history[index]
        if (event !== undefined) {
          index += 1
          if (this.#isSubscribed(event.stream, streams)) yield toRecordedEvent(event)
          if (slice.isDue()) await slice.yieldNow()
        } else if (isCaughtUp) {
          await appended.wait()
        } else {
          isCaughtUp = true
          yield 'caught-up'
        }
      }
    } finally {
      abort.removeEventListener('abort', wake)
      subscribers.delete(appended)
    }
  }

  /** Ends the subscriptions of this log. Other logs with the same storage stay open. */
  async close(): Promise<void> {
    this.#closing.abort()
  }

  #store(stream: string, events: readonly StoredEvent[]): void {
    const { history, streams, subscribers } = this.#storage
    const stored = streams.get(stream) ?? []
    streams.set(stream, stored)
    for (const event of events) {
      stored.push(event)
      history.push(event)
    }
    for (const appended of subscribers) appended.set()
  }

  #eventsOf(stream: string): readonly StoredEvent[] {
    return this.#storage.streams.get(stream) ?? []
  }

  #isSubscribed(stream: string, streams: string | undefined): boolean {
    return streams === undefined
      ? !matchesStream(this.#unfollowedStreams, stream)
      : stream.startsWith(streams)
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw new EventLogUnavailableError('the event log is closed')
  }
}

/** Binary search for the first event after a position. */
function findIndexAfter(events: readonly StoredEvent[], position: Position): number {
  let low = 0
  let high = events.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((events[middle]?.position ?? 0) > position) high = middle
    else low = middle + 1
  }
  return low
}

function toRecordedEvent(event: StoredEvent): RecordedEvent {
  const { stream, revision, position, type, data, metadata } = event
  // Both texts were serialized by `append` from values of these types.
  return { stream, revision, position, type, data: JSON.parse(data), metadata: JSON.parse(metadata) }
}
