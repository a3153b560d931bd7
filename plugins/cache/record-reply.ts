import type { Reply, ReplyEvent, ReplyPart, Vector } from '../../core/contract/index.ts'
import { splitRuns } from '../../core/contract/native-records.ts'
import { textOfPart } from '../../core/inspection/reply-request.ts'
import { type CachedContent, toCachedContent } from './cached-reply.ts'

/** Larger replies are not cached: the store accepts 1 MiB of JSON. */
const MAX_BYTES = 1_000_000

/** What the JSON of a part has besides its text, in bytes, roughly. */
const PART_OVERHEAD_BYTES = 50

type Store = (content: CachedContent) => Promise<void>

/**
 * Returns the reply. Once it is complete, and before its end is passed on, calls `store` if it may be cached.
 */
export async function recordReply(reply: Reply, store: Store): Promise<Reply> {
  if (reply.type === 'stream') return { type: 'stream', batches: recordBatches(reply.batches, store) }
  const recorder = new PartRecorder()
  recorder.add(reply.event.parts)
  const content = toCachedContent(reply.event)
  const sourceLength = content.type === 'whole' ? (content.source?.length ?? 0) : 0
  if (recorder.mayBeCached(sourceLength)) await store(content)
  return reply
}

/** A consumer that stops early, because a client disconnects or a rule blocks the reply, stores nothing. */
async function* recordBatches(
  source: AsyncIterable<readonly ReplyEvent[]>,
  store: Store,
): AsyncGenerator<readonly ReplyEvent[]> {
  const recorder = new PartRecorder()
  const batches: (readonly (readonly ReplyPart[])[])[] = []
  for await (const batch of source) {
    const parts = splitRuns(batch).map((event) => event.parts)
    for (const eventParts of parts) recorder.add(eventParts)
    if (recorder.isTooLarge) batches.length = 0
    else batches.push(parts)
    yield batch
  }
  if (recorder.mayBeCached()) await store({ type: 'stream', batches })
}

/** Notes what decides whether a reply may be cached. */
class PartRecorder {
  #bytes = 0
  #hasRefusal = false
  #isFinished = false

  get isTooLarge(): boolean {
    return this.#bytes > MAX_BYTES
  }

  add(parts: readonly ReplyPart[]): void {
    for (const part of parts) {
      this.#bytes += PART_OVERHEAD_BYTES + Buffer.byteLength(textOfPart(part))
      if (part.type === 'extra') this.#bytes += Buffer.byteLength(JSON.stringify(part.content))
      if (part.type === 'embedding') this.#bytes += byteLengthOfVector(part.vector)
      if (part.type === 'refusal') this.#hasRefusal = true
      else if (part.type === 'finish')
        this.#isFinished = part.reason === 'stop' || part.reason === 'tool_calls'
    }
  }

  /** See docs/decisions/cache.md, "Refusals and replies that were cut off are not cached". */
  mayBeCached(moreBytes = 0): boolean {
    this.#bytes += moreBytes
    return this.#isFinished && !this.#hasRefusal && !this.isTooLarge
  }
}

/** A number of a vector has up to 24 characters as JSON. */
function byteLengthOfVector(vector: Vector): number {
  return typeof vector === 'string' ? vector.length : vector.length * 24
}
