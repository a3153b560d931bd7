import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { GatewayError } from '../../core/contract/errors.ts'

export interface ResponseHead {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** Bytes that may wait for their reader before the provider is asked to pause. */
const MAX_BUFFERED_BYTES = 64 * 1024

/** An answer that has ended, or was longer than wanted. */
export interface WholeResponse {
  readonly head: ResponseHead
  readonly text: string
  /** False when there was more than the limit; it was not read. */
  readonly complete: boolean
}

interface Waiting<Value> {
  resolve(value: Value): void
  reject(reason: unknown): void
}

interface WholeReader extends Waiting<WholeResponse> {
  readonly limitOf: (head: ResponseHead) => number
  readonly onBytes: () => void
}

/** A request to a provider, and its answer as it comes in: the head, then the bytes at the reader's pace, or all of it at once. */
export class ProviderCall implements Dispatcher.DispatchHandler {
  #head: ResponseHead | undefined
  #headReader: Waiting<ResponseHead> | undefined
  #wholeReader: WholeReader | undefined
  #controller: Dispatcher.DispatchController | undefined
  #chunks: Buffer[] = []
  #waiting = 0
  #ended = false
  #failure: { readonly reason: unknown } | undefined
  /** Of a reader for whom there was nothing yet. */
  #wake: (() => void) | undefined

  constructor(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions) {
    dispatcher.dispatch(options, this)
  }

  /** Rejects when the request fails, or is broken off, before there is an answer. */
  head(): Promise<ResponseHead> {
    return new Promise((resolve, reject) => {
      if (this.#head !== undefined) resolve(this.#head)
      else if (this.#failure !== undefined) reject(this.#failure.reason)
      else this.#headReader = { resolve, reject }
    })
  }

  /**
   * All that came since the last read, once there is something: pieces that arrived together stay together. Undefined at the end.
   * Rejects when the connection fails, or the request is broken off.
   */
  async read(): Promise<readonly Buffer[] | undefined> {
    while (this.#chunks.length === 0) {
      if (this.#failure !== undefined) throw this.#failure.reason
      if (this.#ended) return undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const chunks = this.#chunks
    this.#chunks = []
    this.#waiting = 0
    if (this.#controller?.paused) this.#controller.resume()
    return chunks
  }

  /**
   * The answer until its end as UTF-8 text, up to as many bytes as its head allows. Calls `onBytes` whenever something comes. Rejects as
   * `head` and `read` do.
   */
  readWhole(limitOf: (head: ResponseHead) => number, onBytes: () => void): Promise<WholeResponse> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure.reason)
      this.#wholeReader = { limitOf, onBytes, resolve, reject }
      if (this.#waiting > 0) onBytes()
      this.#serveWhole()
      if (this.#controller?.paused) this.#controller.resume()
    })
  }

  /** Gives the request up, with its connection, also while it still waits for one. No effect once the answer has ended. */
  abort(reason: unknown): void {
    if (this.#ended || this.#failure !== undefined) return
    this.#chunks = []
    this.#fail(reason)
    this.#controller?.abort(ABORTED)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#failure !== undefined) controller.abort(ABORTED)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // What comes before is only a notice, such as 103.
    if (status < 200) return
    this.#head = { status, headers }
    this.#headReader?.resolve(this.#head)
    this.#wholeReader?.onBytes()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#failure !== undefined) return
    this.#chunks.push(chunk)
    this.#waiting += chunk.length
    if (this.#wholeReader !== undefined) {
      this.#wholeReader.onBytes()
      this.#serveWhole()
    } else {
      if (this.#waiting >= MAX_BUFFERED_BYTES) controller.pause()
      this.#wake?.()
    }
  }

  onResponseEnd(): void {
    this.#ended = true
    this.#serveWhole()
    this.#wake?.()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#failure === undefined) this.#fail(error)
  }

  #fail(reason: unknown): void {
    this.#failure = { reason }
    this.#headReader?.reject(reason)
    this.#wholeReader?.reject(reason)
    this.#wake?.()
  }

  #serveWhole(): void {
    const head = this.#head
    const reader = this.#wholeReader
    if (head === undefined || reader === undefined) return
    const limit = reader.limitOf(head)
    if (!this.#ended && this.#waiting <= limit) return
    const [only] = this.#chunks
    const bytes = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks)
    this.#wholeReader = undefined
    reader.resolve({ head, text: decoder.decode(bytes.subarray(0, limit)), complete: bytes.length <= limit })
  }
}

/** Unlike `Buffer.toString` it takes a byte order mark away. */
const decoder = new TextDecoder('utf-8')

/** Why it was broken off is told to the reader; undici only needs an error. */
const ABORTED = new Error('broken off')

/**
 * What a failed upstream request means. Gives back as it is what was already explained: why the request was broken off
 * (the client's own reason, a timeout), and a `GatewayError`. A fault of our own program stays one too.
 */
export function toNetworkError(
  error: unknown,
  provider: string,
  brokenOff: { readonly reason: unknown } | undefined,
): unknown {
  if (brokenOff !== undefined) return brokenOff.reason
  if (GatewayError.isInstance(error) || !(error instanceof Error) || !('code' in error)) return error
  // The error itself may carry what the provider sent, which may quote key and prompt: the log gets its words only.
  const cause = new Error(`${error.code ?? error.name}: ${error.message}`)
  const code = String(error.code)
  if (TIMEOUTS.has(code)) {
    return new GatewayError('provider_timeout', `${provider} could not be reached in time.`, { cause })
  }
  if (code.startsWith('HPE_') || error.name === 'HTTPParserError') {
    return new GatewayError('provider_error', `${provider} sent an answer that is not HTTP.`, { cause })
  }
  return new GatewayError('provider_unreachable', `The connection to ${provider} failed.`, { cause })
}

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'])
