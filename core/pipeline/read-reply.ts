import {
  GatewayError,
  type Host,
  type RepliedExchange,
  type Reply,
  type ReplyEvent,
  type ReplyTransform,
} from '../contract/index.ts'
import { splitRuns } from '../contract/native-records.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import { UsageRecorder } from './usage-recorder.ts'

/** Releases the provider connection of a stream that nobody will read. */
export function releaseReply(reply: Reply): void {
  if (reply.type === 'stream') releaseIterator(reply.batches[Symbol.asyncIterator]())
}

/** Stops a source of events. Its errors concern nobody any more. */
function releaseIterator(iterator: AsyncIterator<unknown>): void {
  Promise.resolve(iterator.return?.()).catch(() => undefined)
}

/**
 * Records why a reply failed after it had started, and returns the error for the client. An error that was
 * recorded before stays: it is the cause.
 */
export function recordReplyError(exchange: RepliedExchange, error: unknown): GatewayError {
  const state: { -readonly [Field in 'error']?: RepliedExchange[Field] } = exchange
  state.error ??= toStreamError(error)
  return state.error
}

/** Converts any error to the `GatewayError` that ends a response. The original error becomes its `cause`. */
export function toStreamError(error: unknown): GatewayError {
  if (GatewayError.isInstance(error)) return error
  const message = 'The gateway failed before the response was complete.'
  return new GatewayError('internal_error', message, { cause: error })
}

/**
 * Returns the reply as the client receives it: every event passes the transforms. Records the usage, the
 * finish reason and the error of the reply on the exchange, as the provider sent them, and its cost.
 */
export function readReply(
  exchange: RepliedExchange,
  reply: Reply,
  transforms: readonly ReplyTransform[],
  costOf: Host['costOf'],
): MaybePromise<Reply> {
  const usage = new UsageRecorder(exchange, costOf)
  if (reply.type === 'stream')
    return { type: 'stream', batches: new ReadBatches(exchange, reply.batches, transforms, usage) }
  usage.record(reply.event)
  usage.complete()
  throwIfUnread(exchange, usage)
  if (transforms.length === 0) return reply
  return transformWholeReply(reply.event, transforms).then(
    (event) => ({ type: 'whole', event }),
    (error: unknown) => {
      recordError(exchange, error)
      throw error
    },
  )
}

/** Passes the one event of a whole reply through transforms. */
export async function transformWholeReply(
  event: ReplyEvent,
  transforms: readonly ReplyTransform[],
): Promise<ReplyEvent> {
  const events = await transformEvents([event], transforms, true)
  const [only] = events
  if (only !== undefined && events.length === 1) return only
  return event.withParts(events.flatMap(({ parts }) => parts))
}

function throwIfUnread(exchange: RepliedExchange, usage: UsageRecorder): void {
  const error = usage.unreadError()
  if (error === undefined) return
  recordError(exchange, error)
  throw error
}

function recordError(exchange: RepliedExchange, error: unknown): void {
  if (!exchange.client.isAborted) recordReplyError(exchange, error)
}

/** The batches of a stream after the transforms. Not a generator: that costs a promise more per batch. */
class ReadBatches implements AsyncIterable<readonly ReplyEvent[]>, AsyncIterator<readonly ReplyEvent[]> {
  readonly #exchange: RepliedExchange
  readonly #source: AsyncIterator<readonly ReplyEvent[]>
  readonly #transforms: readonly ReplyTransform[]
  readonly #usage: UsageRecorder
  #isEnded = false

  constructor(
    exchange: RepliedExchange,
    batches: AsyncIterable<readonly ReplyEvent[]>,
    transforms: readonly ReplyTransform[],
    usage: UsageRecorder,
  ) {
    this.#exchange = exchange
    this.#source = batches[Symbol.asyncIterator]()
    this.#transforms = transforms
    this.#usage = usage
    // Before the observers see the request: the provider's stream may still be open then. It stays open if
    // middleware has replaced the response without reading it.
    exchange.client.onClose(() => {
      usage.endEarly()
      if (!this.#isEnded) releaseIterator(this.#source)
    })
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
    this.#usage.endEarly()
    await this.#source.return?.()
    return DONE
  }

  readonly #onResult = (
    result: IteratorResult<readonly ReplyEvent[]>,
  ): MaybePromise<IteratorResult<readonly ReplyEvent[]>> => {
    const batch: readonly ReplyEvent[] = result.done ? [] : result.value
    for (const event of batch) this.#usage.record(event)
    const isLast = result.done === true
    this.#isEnded = isLast
    if (isLast) {
      this.#usage.complete()
      throwIfUnread(this.#exchange, this.#usage)
    }
    if (this.#transforms.length === 0) return result
    return transformEvents(splitRuns(batch), this.#transforms, isLast).then(
      (events) => {
        if (events.length > 0) return { done: false, value: events }
        return isLast ? DONE : this.next()
      },
      (error: unknown) => this.#stop(error),
    )
  }

  readonly #onError = (error: unknown): never => {
    this.#usage.endEarly()
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
    for (const event of current) addEvents(transformed, await transform.transform(event))
    if (isLast && transform.flush) addEvents(transformed, await transform.flush())
    current = transformed
  }
  return current
}

/** Not `push(...events)`, which overflows the stack for 100,000 events. */
function addEvents(list: ReplyEvent[], events: readonly ReplyEvent[]): void {
  for (const event of events) list.push(event)
}
