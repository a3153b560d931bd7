import { ReplyEvent, type ReplyPart } from '../../core/contract/chat.ts'
import type { WaitingTime } from '../../core/contract/exchange.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import type { CallDeadline } from './call-deadline.ts'
import type { BodyReader } from './frames.ts'
import type { ProviderCall } from './http.ts'
import { createSseReader } from './sse.ts'

/** Time for a provider to close a complete stream, so that its connection can be reused, in milliseconds. */
const CLOSE_TIMEOUT_MS = 500

const READER_STOPPED = new Error('The reader stopped.')

/**
 * Reads a provider's stream at the pace of the consumer. Each batch holds the events of one network read.
 * Bytes that complete no event, such as comments, yield no batch, but after the first event they extend the
 * deadline by `idleMs`. Errors are thrown as `toError` returns them; those of the connection after a complete
 * reply are ignored. See docs/decisions/replies.md, "A stream reader is a function of one record, not a
 * generator over generators".
 */
export async function* readBatches(
  toError: (error: unknown) => unknown,
  call: ProviderCall,
  reader: StreamReader,
  body: BodyReader,
  deadline: CallDeadline,
  idleMs: number,
  waiting?: WaitingTime,
): AsyncGenerator<readonly ReplyEvent[]> {
  let hasStarted = false
  let batch: ReplyEvent[] = []
  try {
    for (let chunks = await call.read(waiting); chunks !== undefined; chunks = await call.read(waiting)) {
      // Concatenated, because fast streams arrive in a hundred small chunks.
      const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
      body.read(bytes, batch)
      if (batch.length > 0) {
        deadline.pause()
        hasStarted = true
        yield batch
        batch = []
      }
      if (reader.isDone?.()) deadline.extend(CLOSE_TIMEOUT_MS)
      else if (hasStarted) deadline.extend(idleMs)
    }
    body.end(batch)
    deadline.end()
    if (batch.length > 0) yield batch
  } catch (error) {
    const callError = toError(error)
    deadline.end()
    // Events before the error are delivered, except in the first batch: then another target can still answer.
    if (hasStarted && batch.length > 0) yield batch
    if (!reader.isDone?.()) throw callError
  } finally {
    deadline.end()
    // Takes effect only if the consumer stopped before the end.
    call.abort(READER_STOPPED)
  }
}

/** Parses the text of a complete stream as one event. Throws a `GatewayError` as the reader does. */
export function parseStreamText(text: string, reader: StreamReader): ReplyEvent {
  const sse = createSseReader()
  const records = [...sse.parse(text), ...sse.end()]
  const events = [...records.flatMap((record) => reader.read(record)), ...reader.end()]
  return new ReplyEvent(events.flatMap(({ parts }) => parts))
}

/** Wraps the parts of one record in an event. Returns no event if there are no parts. */
export function toReplyEvents(parts: readonly ReplyPart[]): readonly ReplyEvent[] {
  return parts.length === 0 ? [] : [new ReplyEvent(parts)]
}

/**
 * Awaits the first item, then returns an iterable of all items, the first included, which can be iterated
 * once. Resolves to undefined if there are no items. Rejects if the source fails first. Stopping the
 * iteration early stops the source.
 */
export async function peekFirst<T>(source: AsyncGenerator<T>): Promise<AsyncIterable<T> | undefined> {
  const first = await source.next()
  return first.done ? undefined : { [Symbol.asyncIterator]: () => prepend(first, source) }
}

/** Not a generator function: a generator that was not started would not pass `return` on to the source. */
function prepend<T>(first: IteratorResult<T>, source: AsyncGenerator<T>): AsyncIterator<T> {
  let isFirst = true
  return {
    async next() {
      if (!isFirst) return source.next()
      isFirst = false
      return first
    },
    return: () => source.return(undefined),
  }
}
