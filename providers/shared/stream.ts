import { ReplyEvent, type ReplyPart } from '../../core/contract/chat.ts'
import type { WaitingTime } from '../../core/contract/exchange.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'
import type { CallDeadline } from './call-deadline.ts'
import type { BodyReader } from './frames.ts'
import type { ProviderCall } from './http.ts'
import { createSseReader } from './sse.ts'

/** Time for a provider to close a complete stream, so that its connection can be reused, in milliseconds. */
const CLOSE_TIMEOUT_MS = 500

const READER_STOPPED = new Error('The reader stopped.')

/** What it takes to read one stream of a provider. */
export interface StreamParts {
  readonly call: Pick<ProviderCall, 'read' | 'abort'>
  readonly reader: Pick<StreamReader, 'isDone'>
  readonly body: BodyReader
  readonly deadline: Pick<CallDeadline, 'extend' | 'pause' | 'end'>
  readonly idleMs: number
  readonly waiting?: WaitingTime | undefined
  /** Returns the error that readers get. */
  toError(error: unknown): unknown
}

type Result = IteratorResult<readonly ReplyEvent[], undefined>

const DONE: Result = { done: true, value: undefined }

/**
 * The batches of a provider's stream, read at the pace of the consumer. Each holds the events of one network
 * read. Bytes that complete no event, such as comments, yield no batch, but after the first event they extend
 * the deadline by `idleMs`. Errors are thrown as `toError` returns them; those of the connection after a
 * complete reply are ignored. Can be iterated once; stopping early aborts the call. Not a generator: that
 * costs promises per batch. See docs/decisions/replies.md, "A stream reader is a function of one record, not
 * a generator over generators".
 */
export class StreamBatches
  implements AsyncIterable<readonly ReplyEvent[]>, AsyncIterator<readonly ReplyEvent[]>
{
  readonly #parts: StreamParts
  #batch: ReplyEvent[] = []
  /** What `readFirst` has read. */
  #first: Result | undefined
  #hasStarted = false
  #isReading = false
  #isEnded = false
  /** The error that follows the last batch. */
  #failure: { readonly error: unknown } | undefined

  constructor(parts: StreamParts) {
    this.#parts = parts
  }

  /** Reads the first batch, which the iteration returns again. Resolves to false if there is none. */
  readFirst(): Promise<boolean> {
    return this.next().then((first) => {
      this.#first = first
      return first.done !== true
    })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result> {
    const first = this.#first
    const failure = this.#failure
    this.#first = undefined
    if (first !== undefined) return Promise.resolve(first)
    if (!this.#isEnded) {
      if (this.#hasStarted) this.#extend()
      return this.#read().then(this.#onChunks, this.#onError)
    }
    this.#failure = undefined
    return failure === undefined ? Promise.resolve(DONE) : Promise.reject(failure.error)
  }

  return(): Promise<Result> {
    this.#first = undefined
    this.#failure = undefined
    // The read fails with the client's reason if that has disconnected.
    if (this.#isReading) this.#parts.call.abort(READER_STOPPED)
    else this.#end()
    return Promise.resolve(DONE)
  }

  #read(): Promise<readonly Buffer[] | undefined> {
    this.#isReading = true
    return this.#parts.call.read(this.#parts.waiting)
  }

  readonly #onChunks = (chunks: readonly Buffer[] | undefined): MaybePromise<Result> =>
    this.#toResult(chunks) ?? this.#readOn()

  /** Reads until there are events. */
  async #readOn(): Promise<Result> {
    let result: Result | undefined
    while (result === undefined) result = await this.#read().then(this.#toResult, this.#onError)
    return result
  }

  /** Returns undefined if these bytes complete no event. */
  readonly #toResult = (chunks: readonly Buffer[] | undefined): Result | undefined => {
    this.#isReading = false
    const batch = this.#batch
    const { body, deadline } = this.#parts
    try {
      if (chunks === undefined) body.end(batch)
      // Concatenated, because fast streams arrive in a hundred small chunks.
      else body.read(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks), batch)
    } catch (error) {
      return this.#onError(error)
    }
    if (chunks === undefined) this.#end()
    else if (batch.length === 0) {
      this.#extend()
      return undefined
    } else {
      deadline.pause()
      this.#hasStarted = true
      this.#batch = []
    }
    return batch.length > 0 ? { done: false, value: batch } : DONE
  }

  readonly #onError = (error: unknown): Result => {
    this.#isReading = false
    const callError = this.#parts.toError(error)
    const isComplete = this.#parts.reader.isDone?.() === true
    const batch = this.#batch
    this.#end()
    // Events before the error are delivered, except in the first batch: then another target can still answer.
    if (this.#hasStarted && batch.length > 0) {
      if (!isComplete) this.#failure = { error: callError }
      return { done: false, value: batch }
    }
    if (isComplete) return DONE
    throw callError
  }

  #extend(): void {
    const { deadline, reader, idleMs } = this.#parts
    if (reader.isDone?.()) deadline.extend(CLOSE_TIMEOUT_MS)
    else if (this.#hasStarted) deadline.extend(idleMs)
  }

  #end(): void {
    this.#isEnded = true
    this.#parts.deadline.end()
    // Takes effect only if the response has not ended.
    this.#parts.call.abort(READER_STOPPED)
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
