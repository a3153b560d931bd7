import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'

export interface Head {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** Bytes that may wait for their reader before the vendor is asked to pause. */
const MOST_WAITING = 64 * 1024

/** A request to a vendor, and its answer as it comes in: the head, then the bytes at the reader's pace. */
export class Post implements Dispatcher.DispatchHandler {
  /** Rejects when the request fails, or is broken off, before there is an answer. */
  readonly head: Promise<Head>
  #head: { resolve(head: Head): void; reject(reason: unknown): void } | undefined
  #controller: Dispatcher.DispatchController | undefined
  #chunks: Buffer[] = []
  #waiting = 0
  #ended = false
  #failure: { readonly reason: unknown } | undefined
  /** Of a reader for whom there was nothing yet. */
  #wake: (() => void) | undefined
  /** Bytes that a reader of the whole takes; they wait for nobody. */
  #wanted = 0
  #onBytes: (() => void) | undefined

  constructor(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions) {
    this.head = new Promise((resolve, reject) => {
      this.#head = { resolve, reject }
    })
    dispatcher.dispatch(options, this)
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
   * What comes until the end as UTF-8 text, up to `limit` bytes; `complete` is false when there was more, which is not read. Calls
   * `onBytes` whenever something comes. Rejects as `read` does.
   */
  async readText(limit: number, onBytes: () => void): Promise<{ text: string; complete: boolean }> {
    this.#wanted = limit
    this.#onBytes = onBytes
    if (this.#waiting > 0) onBytes()
    if (this.#controller?.paused) this.#controller.resume()
    while (!this.#ended && this.#waiting <= limit) {
      if (this.#failure !== undefined) throw this.#failure.reason
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const [only] = this.#chunks
    const whole = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks)
    return { text: decoder.decode(whole.subarray(0, limit)), complete: whole.length <= limit }
  }

  /** Gives the request up, with its connection, also while it still waits for one. No effect once the answer has ended. */
  breakOff(reason: unknown): void {
    if (this.#ended || this.#failure !== undefined) return
    this.#chunks = []
    this.#fail(reason)
    this.#controller?.abort(BROKEN_OFF)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#failure !== undefined) controller.abort(BROKEN_OFF)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // What comes before is only a notice, such as 103.
    if (status >= 200) this.#head?.resolve({ status, headers })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#failure !== undefined) return
    this.#chunks.push(chunk)
    this.#waiting += chunk.length
    this.#onBytes?.()
    if (this.#waiting <= this.#wanted) return
    if (this.#waiting >= MOST_WAITING) controller.pause()
    this.#wake?.()
  }

  onResponseEnd(): void {
    this.#ended = true
    this.#wake?.()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#failure === undefined) this.#fail(error)
  }

  #fail(reason: unknown): void {
    this.#failure = { reason }
    this.#head?.reject(reason)
    this.#wake?.()
  }
}

/** Unlike `Buffer.toString` it takes a byte order mark away. */
const decoder = new TextDecoder('utf-8')

/** Why it was broken off is told to the reader; undici only needs an error. */
const BROKEN_OFF = new Error('broken off')
