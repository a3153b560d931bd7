import type { EventLog, Position, RecordedEvent, StreamAnomaly } from '../contract/event-log.ts'
import {
  AppendTooLargeError,
  type EventMetadata,
  MAX_APPEND_BYTES,
  type NewEvent,
} from '../contract/index.ts'

/** The stream of the log's identity: a single event `LogCreated {id}`. */
export const LOG_STREAM = 'log'

/** As the prefix of a subscription: the streams that nobody follows, too. */
export const ALL_STREAMS = ''

/** The stream of signed checkpoints over the log. */
export const CHECKPOINTS_STREAM = 'checkpoints'

/**
 * Whether a list of stream names contains a stream. An entry that ends in `-` is a category and matches every
 * stream whose name begins with it.
 */
export function matchesStream(names: readonly string[], stream: string): boolean {
  return names.some((name) => (name.endsWith('-') ? stream.startsWith(name) : stream === name))
}

/** The events of an append as JSON. */
interface EncodedEvents {
  /** One text per event. */
  readonly data: readonly string[]
  readonly metadata: string
  readonly bytes: number
}

/**
 * Encodes the events of an append. Throws if there are none, and an `AppendTooLargeError` if they are larger
 * than the limit.
 */
export function encodeEvents(
  stream: string,
  events: readonly NewEvent[],
  metadata: EventMetadata,
): EncodedEvents {
  if (events.length === 0) throw new Error(`an append to ${stream} needs at least one event`)
  const data = events.map((event) => JSON.stringify(event.data))
  const metadataText = JSON.stringify(metadata)
  const metadataBytes = Buffer.byteLength(metadataText)
  let bytes = 0
  // As EventStoreDB counts: types are in UTF-16 there, and every event has its own metadata.
  for (const [index, { type }] of events.entries())
    bytes += 2 * type.length + Buffer.byteLength(data[index] ?? '') + metadataBytes
  if (bytes > MAX_APPEND_BYTES) throw new AppendTooLargeError(stream, bytes)
  return { data, metadata: metadataText, bytes }
}

/**
 * Reads the events after `from` in log order and ends once it has caught up. `streams`, a category with its
 * `-`, restricts the read to that category; `ALL_STREAMS` extends it to those that nobody follows.
 */
export async function* readToEnd(
  log: Pick<EventLog, 'subscribe'>,
  from: Position = 0,
  streams?: string,
  onAnomaly?: (anomaly: StreamAnomaly) => void,
): AsyncGenerator<RecordedEvent> {
  const abort = new AbortController()
  try {
    for await (const item of log.subscribe(from, abort.signal, streams, onAnomaly)) {
      if (item === 'caught-up') return
      yield item
    }
  } finally {
    abort.abort()
  }
}
