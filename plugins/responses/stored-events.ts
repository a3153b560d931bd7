import {
  type Appended,
  type AppendOptions,
  AppendTooLargeError,
  type EventLog,
  type EventMetadata,
  type NewEvent,
  type RecordedEvent,
} from '../../core/contract/index.ts'
import type { ResponseEvent, ResponseStreamEvent, StoredResponse } from '../../core/events/domain-events.ts'

/**
 * UTF-16 units of JSON text in one part. At most 3 bytes each, quotes and backslashes are escaped by a second
 * byte: a part is smaller than an append may be.
 */
const PART_LENGTH = 300_000

const CLOSED = { type: 'ResponseClosed', data: {} } satisfies ResponseStreamEvent

/**
 * Writes the events of a response to its stream. Resolves when the response is durable and visible. A
 * response that is larger than an append is written in parts.
 */
export async function appendResponse(
  log: Pick<EventLog, 'append'>,
  stream: string,
  { type, data }: ResponseEvent,
  options: Omit<AppendOptions, 'expectedRevision'>,
): Promise<void> {
  try {
    // The cast is safe: all of it is JSON.
    const event = { type, data } as unknown as NewEvent
    await log.append(stream, [event, CLOSED], { ...options, expectedRevision: -1 })
  } catch (error) {
    if (!AppendTooLargeError.isInstance(error)) throw error
    await appendParts(log, stream, JSON.stringify(data), options)
  }
}

async function appendParts(
  log: Pick<EventLog, 'append'>,
  stream: string,
  text: string,
  options: Omit<AppendOptions, 'expectedRevision'>,
): Promise<void> {
  const parts = Math.ceil(text.length / PART_LENGTH)
  let appended: Pick<Appended, 'revision'> = { revision: -1 }
  for (let part = 0; part < parts; part++) {
    const piece = text.slice(part * PART_LENGTH, (part + 1) * PART_LENGTH)
    const events: ResponseStreamEvent[] = [{ type: 'ResponsePart', data: { text: piece } }]
    if (part === parts - 1) events.push({ type: 'ResponseClosed', data: { parts } })
    appended = await log.append(stream, events, { ...options, expectedRevision: appended.revision })
  }
}

/** A response, and the author of its events. */
interface ReadResponse {
  readonly response: StoredResponse
  readonly actor: EventMetadata['actor']
}

/** Returns undefined for a response that was deleted, has expired, or was not written completely. */
export async function readResponse(events: AsyncIterable<RecordedEvent>): Promise<ReadResponse | undefined> {
  const texts: unknown[] = []
  for await (const { type, data, metadata } of events) {
    const { actor } = metadata
    // The casts are safe: only `appendResponse` writes to these streams.
    if (type === 'ResponseCompleted' || type === 'ResponseFailed')
      return { response: data as unknown as StoredResponse, actor }
    if (type === 'ResponsePart') texts.push(data.text)
    if (type === 'ResponseClosed')
      return texts.length > 0 && texts.length === data.parts
        ? { response: JSON.parse(texts.join('')) as StoredResponse, actor }
        : undefined
  }
  return undefined
}
