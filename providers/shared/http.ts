import type { Transform } from 'node:stream'
import type { Dispatcher } from 'undici'
import { GatewayError } from '../../core/contract/errors.ts'
import type { WaitingTime } from '../../core/contract/exchange.ts'
import type { CallOptions, Connection } from './connection.ts'
import { findDecoder } from './content-encoding.ts'
import { isErrorStatus, ResponseHead } from './response-head.ts'

/** A response that was read to its end or to the size limit. */
export interface WholeResponse {
  readonly head: ResponseHead
  readonly text: string
  /** False if the response exceeds the limit. */
  readonly complete: boolean
}

export interface ResponseLimit {
  readonly maxBytes: number
  /** Whether the text of a larger response is cut off. Otherwise it is empty, and no more of it is read. */
  readonly isCutOff: boolean
}

interface PendingPromise<Value> {
  resolve(value: Value): void
  reject(reason: unknown): void
}

interface PendingWholeResponse extends PendingPromise<WholeResponse> {
  readonly limitOf: (head: ResponseHead) => ResponseLimit
  readonly onBytes: () => void
  readonly waiting: WaitingTime | undefined
}

/**
 * No connection could be made: refused, unknown host, TLS or timeout. Nothing was sent, so the request cannot
 * be the cause.
 */
export class ConnectError extends Error {
  readonly code: string

  constructor(error: Error, code: string) {
    super(`${code}: ${error.message}`)
    this.code = code
  }
}

/** A response that HTTP does not allow, or that cannot be decoded. The message says what was sent. */
export class InvalidResponseError extends Error {
  readonly code = 'HPE_INVALID_RESPONSE'
}

/** Bytes to buffer for a slow reader before the connection is paused. */
const MAX_BUFFERED_BYTES = 64 * 1024

/**
 * A request to a provider. Its response can be read as a whole, or as a head and chunks with backpressure, in
 * both cases decompressed. Implements the handler that undici uses inside: with the other one it makes two
 * more objects per request, and parses all headers.
 */
export class ProviderCall implements Dispatcher.DispatchHandler {
  #head: ResponseHead | undefined
  #pendingHead: PendingPromise<ResponseHead> | undefined
  #pendingWhole: PendingWholeResponse | undefined
  /** Ends the request. Set when it is written to a connection. */
  #abortRequest: ((error: Error) => void) | undefined
  /** Goes on reading. Set when the response starts. */
  #resumeReading: (() => void) | undefined
  #isPaused = false
  /** Creates `#decoder` from the first bytes of a compressed response; false drops what cannot be decoded. */
  #createDecoder: ReturnType<typeof findDecoder>
  #decoder: Transform | undefined
  /** The size that the response announces; NaN if it does not. */
  #announcedBytes = Number.NaN
  #chunks: Buffer[] = []
  #bufferedBytes = 0
  /** The response has ended, but what undici has read with its end is not known yet. */
  #isEnding = false
  #hasEnded = false
  #error: { readonly reason: unknown } | undefined
  /** Wakes a `read` that is waiting for data. */
  #wakeReader: (() => void) | undefined
  #connection: Connection | undefined
  /** `performance.now()` when the request was written to a connection. */
  #sentAt: number | undefined
  /** The connection has carried a request before. */
  #isReused = false

  constructor(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions) {
    const callOptions: CallOptions = options
    callOptions.call = this
    // Only pipelined requests could be blocked.
    callOptions.blocking = false
    dispatcher.dispatch(callOptions, this)
  }

  /** Called with the connection that is about to carry the request. */
  assign(connection: Connection): void {
    this.#connection = connection
  }

  /** Resolves when the response starts. Rejects if the request fails or is aborted before that. */
  readHead(): Promise<ResponseHead> {
    return new Promise((resolve, reject) => {
      if (this.#head !== undefined) resolve(this.#head)
      else if (this.#error !== undefined) reject(this.#error.reason)
      else this.#pendingHead = { resolve, reject }
    })
  }

  /** Resolves to the first chunk that has not been read, which stays. Otherwise as `read`. */
  async peek(waiting?: WaitingTime): Promise<Buffer | undefined> {
    while (this.#chunks.length === 0 || this.#isEnding) {
      if (this.#error !== undefined) throw this.#error.reason
      if (this.#hasEnded) return undefined
      waiting?.begin()
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve
      })
      waiting?.end()
    }
    return this.#chunks[0]
  }

  /**
   * Resolves to all chunks received since the last read, as soon as there are any, and to undefined at the
   * end. Rejects if the connection fails or the request is aborted.
   */
  async read(waiting?: WaitingTime): Promise<readonly Buffer[] | undefined> {
    const hasChunks = this.#chunks.length > 0 && !this.#isEnding
    if (!hasChunks && (await this.peek(waiting)) === undefined) return undefined
    const chunks = this.#chunks
    this.#chunks = []
    this.#bufferedBytes = 0
    this.#resume()
    return chunks
  }

  /**
   * Reads the response as UTF-8 text, up to the limit for its head. Calls `onBytes` whenever data arrives.
   * Rejects like `readHead` and `read`. The caller aborts a response that exceeds its limit.
   */
  readWhole(
    limitOf: (head: ResponseHead) => ResponseLimit,
    onBytes: () => void,
    waiting?: WaitingTime,
  ): Promise<WholeResponse> {
    return new Promise((resolve, reject) => {
      if (this.#error !== undefined) return reject(this.#error.reason)
      waiting?.begin()
      this.#pendingWhole = { limitOf, onBytes, waiting, resolve, reject }
      if (this.#bufferedBytes > 0) onBytes()
      this.#resolveWhole()
      this.#resume()
    })
  }

  /**
   * Aborts the request and closes its connection, even while it is waiting for one. Reads reject with
   * `reason`. Has no effect once the response has ended.
   */
  abort(reason: unknown): void {
    if (this.#hasEnded || this.#error !== undefined) return
    this.#abort(reason)
  }

  get isSent(): boolean {
    return this.#sentAt !== undefined
  }

  /**
   * Whether a connection that has just failed was closed by the provider while it was idle: it was used
   * before, and ended without a byte right after the request was sent. See docs/decisions/routing.md, "What
   * may have been executed is not sent again".
   */
  get wasClosedIdle(): boolean {
    if (this.#sentAt === undefined || !this.#isReused || this.#connection?.isAnswering) return false
    return performance.now() - this.#sentAt < IDLE_CLOSE_MS
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abortRequest = abort
    this.#sentAt = performance.now()
    this.#isReused = this.#connection?.use() === true
    if (this.#error !== undefined) abort(ABORTED)
  }

  /** Returns whether undici may go on reading. */
  onHeaders(status: number, headers: Buffer[], resume: () => void): boolean {
    // `Connection` skips informational responses, unless there are too many.
    if (status < 200) return true
    const head = new ResponseHead(status, headers)
    this.#head = head
    this.#resumeReading = resume
    this.#announcedBytes = Number(head.find('content-length') ?? Number.NaN)
    this.#createDecoder = findDecoder(head.find('content-encoding'))
    if (this.#createDecoder === false && !isErrorStatus(head)) {
      this.#abort(new InvalidResponseError('a response with an unsupported content-encoding'))
      return true
    }
    this.#pendingHead?.resolve(head)
    this.#pendingWhole?.onBytes()
    this.#resolveWhole()
    return !this.#isPaused
  }

  /** Returns whether undici may go on reading. */
  onData(chunk: Buffer): boolean {
    if (this.#error !== undefined) return true
    if (this.#createDecoder === undefined) this.#receive(chunk)
    else if (this.#createDecoder !== false) this.#decode(chunk, this.#createDecoder)
    return !this.#isPaused
  }

  onComplete(): void {
    this.#connection?.end()
    this.#isEnding = true
    // Once undici has read everything that arrived. `queueMicrotask` makes an `AsyncResource` in addition.
    SETTLED.then(() => {
      this.#isEnding = false
      if (this.#error !== undefined) return
      // The response may be that of an earlier request. See docs/decisions/http.md, "A connection with unread
      // bytes is not used again".
      if (this.#connection?.hasSurplus && this.#isReused)
        this.#abort(new InvalidResponseError('more than one response to a request'))
      else if (this.#decoder === undefined) this.#end()
      else {
        this.#decoder.end()
        this.#wakeReader?.()
      }
    })
  }

  onError(error: Error): void {
    if (this.#error !== undefined) return
    this.#fail(this.#abortRequest === undefined ? toConnectError(error) : error)
  }

  #receive(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bufferedBytes += chunk.length
    if (this.#pendingWhole !== undefined) {
      // The end of the response follows at once if all of it is there.
      if (this.#bufferedBytes !== this.#announcedBytes) this.#pendingWhole.onBytes()
      this.#resolveWhole()
    } else {
      if (this.#bufferedBytes >= MAX_BUFFERED_BYTES) {
        if (this.#decoder === undefined) this.#isPaused = true
        else this.#decoder.pause()
      }
      this.#wakeReader?.()
    }
  }

  /** Passes what arrives through a decoder, which yields all that it has before it needs more. */
  #decode(chunk: Buffer, create: (start: Buffer) => Transform): void {
    this.#decoder ??= create(chunk)
      .on('data', (bytes: Buffer) => this.#error === undefined && this.#receive(bytes))
      .on('drain', () => this.#goOn())
      .on('end', () => this.#end())
      .on('error', () => this.#endUndecodable())
    if (!this.#decoder.write(chunk)) this.#isPaused = true
  }

  /** What could be decoded of an error response is enough. */
  #endUndecodable(): void {
    if (this.#error !== undefined) return
    if (this.#head !== undefined && isErrorStatus(this.#head)) this.#end()
    else this.#abort(new InvalidResponseError('a response that cannot be decompressed'))
  }

  #resume(): void {
    if (this.#decoder?.isPaused()) this.#decoder.resume()
    else if (this.#decoder === undefined) this.#goOn()
  }

  #goOn(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#resumeReading?.()
  }

  #end(): void {
    if (this.#error !== undefined) return
    this.#hasEnded = true
    this.#resolveWhole()
    this.#wakeReader?.()
  }

  #abort(reason: unknown): void {
    this.#chunks = []
    this.#fail(reason)
    this.#abortRequest?.(ABORTED)
  }

  #fail(reason: unknown): void {
    this.#decoder?.destroy()
    this.#error = { reason }
    this.#pendingHead?.reject(reason)
    this.#pendingWhole?.waiting?.end()
    this.#pendingWhole?.reject(reason)
    this.#wakeReader?.()
  }

  /** Resolves `readWhole` if the response has ended or exceeds the limit. */
  #resolveWhole(): void {
    const head = this.#head
    const pending = this.#pendingWhole
    if (head === undefined || pending === undefined) return
    const { maxBytes, isCutOff } = pending.limitOf(head)
    const exceeds = this.#bufferedBytes > maxBytes || (!isCutOff && this.#announcedBytes > maxBytes)
    if (!this.#hasEnded && !exceeds) return
    this.#pendingWhole = undefined
    pending.waiting?.end()
    if (exceeds && !isCutOff) this.#dropChunks()
    const chunks = this.#chunks
    const bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
    const text = decoder.decode(bytes.length > maxBytes ? bytes.subarray(0, maxBytes) : bytes)
    pending.resolve({ head, text, complete: !exceeds })
  }

  /** Releases what was read of a response that is too large, which may be many megabytes. */
  #dropChunks(): void {
    this.#chunks = []
    this.#bufferedBytes = 0
  }
}

const SETTLED = Promise.resolve()

/** Within this time the news that a provider has closed an idle connection arrives. */
const IDLE_CLOSE_MS = 1000

/** Sends a request, and reads its response up to a limit, until the signal aborts. */
export async function fetchWhole(
  pool: Dispatcher,
  options: Dispatcher.DispatchOptions,
  limit: ResponseLimit,
  signal: AbortSignal,
): Promise<WholeResponse> {
  signal.throwIfAborted()
  const call = new ProviderCall(pool, options)
  const abort = () => call.abort(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await call.readWhole(
      () => limit,
      () => undefined,
    )
  } finally {
    signal.removeEventListener('abort', abort)
    // Closes the connection of a response that exceeds the limit.
    call.abort(ABORTED)
  }
}

/** Returns undici's own errors other than timeouts, such as an invalid header, as they are. */
function toConnectError(error: Error): Error {
  const code = 'code' in error ? String(error.code) : undefined
  if (code === undefined || (code.startsWith('UND_ERR_') && !TIMEOUT_CODES.has(code))) return error
  return new ConnectError(error, code)
}

/** Unlike `Buffer.toString`, it removes a byte order mark. */
const decoder = new TextDecoder('utf-8')

/** undici needs an error; readers get the reason that was passed to `abort`. */
const ABORTED = new Error('The request was aborted.')

/**
 * Turns the error of a failed request into a `GatewayError`. Errors that need no explanation are returned as
 * they are: a `GatewayError`, and errors without a `code`, which are bugs of the gateway. Network errors say
 * whether `call` may have been executed.
 */
export function toNetworkError(
  error: unknown,
  provider: string,
  call: Pick<ProviderCall, 'isSent' | 'wasClosedIdle'>,
): unknown {
  if (GatewayError.isInstance(error) || !(error instanceof Error) || !('code' in error)) return error
  // The error itself may hold data of the provider, which may quote key and prompt: only its message is
  // logged.
  const cause =
    error instanceof ConnectError ? error : new Error(`${error.code ?? error.name}: ${error.message}`)
  const code = String(error.code)
  const mayHaveRun = call.isSent && !call.wasClosedIdle
  const executed = mayHaveRun ? { executed: 'maybe' as const } : {}
  if (TIMEOUT_CODES.has(code)) {
    const message = mayHaveRun
      ? `${provider} did not respond in time.`
      : `Connecting to ${provider} timed out.`
    return new GatewayError('provider_timeout', message, { ...executed, cause })
  }
  if (code.startsWith('HPE_') || error.name === 'HTTPParserError') {
    const what = error instanceof InvalidResponseError ? error.message : 'an invalid HTTP response'
    const message = `${provider} sent ${what}.`
    return new GatewayError('provider_error', message, { executed: 'yes', cause })
  }
  const message = `The connection to ${provider} failed.`
  return new GatewayError('provider_unreachable', message, { ...executed, cause })
}

const TIMEOUT_CODES = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'])
