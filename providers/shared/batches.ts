import type { ReplyEvent, ReplyPart } from '../../core/contract/chat.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import type { CallDeadline } from './call-deadline.ts'
import { type ProviderCall, toNetworkError } from './http.ts'
import { createSseReader } from './sse.ts'

/** How long a provider may take to close a stream that is complete; its connection then serves the next request. */
const CLOSING_MS = 500

const STOPPED = new Error('the reader stopped')

/**
 * The events of a provider's stream, those of one network read as one batch, at the consumer's pace. Bytes that complete
 * no event, such as comments, give no batch, but count as a sign of life: once the stream has begun, and before that
 * for `queueMs`. What happens to the connection after a complete reply is no failure.
 */
export async function* readBatches(
  provider: string,
  body: ProviderCall,
  reader: StreamReader,
  watch: CallDeadline,
  idleMs: number,
  queueMs: number,
): AsyncGenerator<readonly ReplyEvent[]> {
  const sse = createSseReader()
  const opened = performance.now()
  let begun = false
  let batch: ReplyEvent[] = []
  try {
    for (let pieces = await body.read(); pieces !== undefined; pieces = await body.read()) {
      // In one piece: a stream that comes at once comes in a hundred small ones.
      const bytes = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)
      for (const event of sse.feed(bytes)) batch.push(...reader.read(event))
      if (batch.length > 0) {
        watch.pause()
        begun = true
        yield batch
        batch = []
      }
      if (reader.isDone?.()) watch.extend(CLOSING_MS)
      else if (begun || performance.now() - opened < queueMs) watch.extend(idleMs)
    }
    for (const event of sse.end()) batch.push(...reader.read(event))
    batch.push(...reader.end())
    watch.end()
    if (batch.length > 0) yield batch
  } catch (error) {
    const explained = toNetworkError(error, provider, watch.aborted)
    watch.end()
    // What came before a failure is delivered, unless it would be the first batch: then another target can still answer.
    if (begun && batch.length > 0) yield batch
    if (!reader.isDone?.()) throw explained
  } finally {
    watch.end()
    // Of a stream that nobody reads to its end.
    body.abort(STOPPED)
  }
}

/** What a record says as an event; none where it says nothing. */
export function eventsOf(parts: readonly ReplyPart[]): readonly ReplyEvent[] {
  return parts.length === 0 ? [] : [{ parts }]
}

/**
 * Awaits the first item of a source and gives back an iterable of that item and all that follow, to be read once;
 * undefined when the source is empty. Rejects when the source fails first. Stopping early stops the source.
 */
export async function peek<T>(source: AsyncGenerator<T>): Promise<AsyncIterable<T> | undefined> {
  const first = await source.next()
  return first.done ? undefined : { [Symbol.asyncIterator]: () => replay(first, source) }
}

/** Not a generator: one that was never started does not pass `return` on. */
function replay<T>(first: IteratorResult<T>, source: AsyncGenerator<T>): AsyncIterator<T> {
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
