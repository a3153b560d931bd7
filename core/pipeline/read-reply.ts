import type { RepliedExchange, Reply, ReplyEvent, ReplyTransform } from '../contract/index.ts'
import { recordReplyError } from '../dialects/stream-error.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'

/** The fields of an exchange that reading its reply sets. */
type ReplyState = { -readonly [Field in 'usage' | 'finishReason']?: RepliedExchange[Field] }

/**
 * Returns the reply as the client receives it: every event passes the transforms. Records the usage, the
 * finish reason and the error of the reply on the exchange, as the provider sent them.
 */
export function readReply(
  exchange: RepliedExchange,
  reply: Reply,
  transforms: readonly ReplyTransform[],
): MaybePromise<Reply> {
  if (reply.type === 'stream')
    return { type: 'stream', batches: new ReadBatches(exchange, reply.batches, transforms) }
  recordEvent(exchange, reply.event)
  if (transforms.length === 0) return reply
  return transformWhole(reply.event, transforms).catch((error: unknown) => {
    recordError(exchange, error)
    throw error
  })
}

async function transformWhole(event: ReplyEvent, transforms: readonly ReplyTransform[]): Promise<Reply> {
  const events = await transformEvents([event], transforms, true)
  const [only] = events
  if (only !== undefined && events.length === 1) return { type: 'whole', event: only }
  return { type: 'whole', event: event.withParts(events.flatMap(({ parts }) => parts)) }
}

function recordEvent(state: ReplyState, { parts }: ReplyEvent): void {
  for (const part of parts) {
    if (part.type === 'usage') state.usage = part.usage
    else if (part.type === 'finish') state.finishReason = part.reason
  }
}

function recordError(exchange: RepliedExchange, error: unknown): void {
  if (!exchange.client.isAborted) recordReplyError(exchange, error)
}

/** The batches of a stream after the transforms. Not a generator: that costs a promise more per batch. */
class ReadBatches implements AsyncIterable<readonly ReplyEvent[]>, AsyncIterator<readonly ReplyEvent[]> {
  readonly #exchange: RepliedExchange
  readonly #source: AsyncIterator<readonly ReplyEvent[]>
  readonly #transforms: readonly ReplyTransform[]
  #isEnded = false

  constructor(
    exchange: RepliedExchange,
    batches: AsyncIterable<readonly ReplyEvent[]>,
    transforms: readonly ReplyTransform[],
  ) {
    this.#exchange = exchange
    this.#source = batches[Symbol.asyncIterator]()
    this.#transforms = transforms
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<readonly ReplyEvent[]>> {
    if (this.#isEnded) return Promise.resolve(DONE)
    return this.#source.next().then(this.#onResult, this.#onError)
  }

  async return(): Promise<IteratorResult<readonly ReplyEvent[]>> {
    this.#isEnded = true
    await this.#source.return?.()
    return DONE
  }

  readonly #onResult = (
    result: IteratorResult<readonly ReplyEvent[]>,
  ): MaybePromise<IteratorResult<readonly ReplyEvent[]>> => {
    const batch: readonly ReplyEvent[] = result.done ? [] : result.value
    for (const event of batch) recordEvent(this.#exchange, event)
    if (this.#transforms.length === 0) return result
    const isLast = result.done === true
    this.#isEnded = isLast
    return transformEvents(batch, this.#transforms, isLast).then(
      (events) => {
        if (events.length > 0) return { done: false, value: events }
        return isLast ? DONE : this.next()
      },
      (error: unknown) => this.#stop(error),
    )
  }

  readonly #onError = (error: unknown): never => {
    recordError(this.#exchange, error)
    throw error
  }

  /** Ends the reply because a transform failed, and releases the provider's connection. */
  async #stop(error: unknown): Promise<never> {
    recordError(this.#exchange, error)
    await this.return()
    throw error
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** Passes events through all transforms in turn, flushing each one if the events are the last. */
async function transformEvents(
  events: readonly ReplyEvent[],
  transforms: readonly ReplyTransform[],
  isLast: boolean,
): Promise<readonly ReplyEvent[]> {
  let current = events
  for (const transform of transforms) {
    const transformed: ReplyEvent[] = []
    for (const event of current) transformed.push(...(await transform.transform(event)))
    if (isLast && transform.flush) transformed.push(...(await transform.flush()))
    current = transformed
  }
  return current
}
