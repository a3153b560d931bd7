import type { MessageRequest } from '../message-request.ts'
import { PlainResponse } from './default-headers.ts'

/** Receives a response in place of a connection. */
export interface ResponseSink {
  /** Returns false if it cannot take more until the response emits `drain`. */
  write(chunk: string | Uint8Array, response: MessageResponse): boolean
  end(response: MessageResponse): void
}

/** Handles a message as the server handles a request. */
export type HandleMessage = (request: MessageRequest, response: MessageResponse) => void

/** The response to a `MessageRequest`. It never has a connection, and Node sends nothing of it. */
export class MessageResponse extends PlainResponse<MessageRequest> {
  readonly #sink: ResponseSink

  constructor(request: MessageRequest, sink: ResponseSink) {
    super(request)
    this.#sink = sink
    // From Node 24 on, Node's own is true only for responses that it has sent itself.
    Object.defineProperty(this, 'writableFinished', { get: () => this.finished })
  }

  override write(chunk: unknown): boolean {
    if (this.destroyed || this.finished) return false
    this.#startBody()
    return isContent(chunk) ? this.#sink.write(chunk, this) : true
  }

  override end(chunk?: unknown): this {
    if (this.destroyed || this.finished) return this
    this.#startBody()
    if (isContent(chunk)) this.#sink.write(chunk, this)
    this.finished = true
    this.#sink.end(this)
    this.emit('finish')
    process.nextTick(() => this.emit('close'))
    return this
  }

  /** Called if the client disconnects, or if the response cannot be completed. */
  override destroy(): this {
    if (this.destroyed || this.finished) return this
    this.destroyed = true
    process.nextTick(() => this.emit('close'))
    return this
  }

  #startBody(): void {
    if (!this.headersSent) this.writeHead(this.statusCode)
  }
}

function isContent(chunk: unknown): chunk is string | Uint8Array {
  return typeof chunk === 'string' || chunk instanceof Uint8Array
}
