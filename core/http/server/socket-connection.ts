import type { IncomingMessage } from 'node:http'
import { createParser } from 'eventsource-parser'
import type { WebSocket } from 'ws'
import type { ClientSession } from '../../contract/index.ts'
import type { SharedQuota } from '../../util/shared-quota.ts'
import { MessageRequest, type ReadSocketMessage } from '../message-request.ts'
import { PlainResponse } from './default-headers.ts'

/** Receives a response in place of a connection. */
interface ResponseSink {
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

/** What the client receives in place of a response with an error. */
export type FormatSocketError = (status: number, body: string, headers: SocketHeaders) => object

type SocketHeaders = Readonly<Record<string, number | string | string[] | undefined>>

interface SocketOptions {
  /** Limit of all messages that wait together, in bytes. */
  readonly maxWaitingBytes: number
  /** Bytes of messages that are being received or wait, of all connections. */
  readonly unhandledBytes: SharedQuota<number | undefined>
  /** See `ClientSession`. */
  readonly owner: number | undefined
  readonly formatError: FormatSocketError
  readonly toBody: ReadSocketMessage
}

/** Data that the client has not received yet and that is kept for it before the provider has to wait. */
const MAX_BUFFERED_BYTES = 256 * 1024

/** Messages that wait. Each takes more memory than its bytes. */
const MAX_WAITING_MESSAGES = 100

/** What is still read of a connection that ends, so that a client can answer and complete its message. */
const MAX_LATE_BYTES = 64 * 1024

/** Close codes of RFC 6455. */
const GOING_AWAY = 1001
const POLICY_VIOLATION = 1008
const INTERNAL_ERROR = 1011
const TRY_AGAIN_LATER = 1013

/**
 * A WebSocket connection. Handles every message as a request with a streamed response, one after the other,
 * and sends the data of each SSE record as a message.
 */
export class SocketConnection implements ClientSession {
  readonly #socket: WebSocket
  readonly #upgrade: IncomingMessage
  readonly #handle: HandleMessage
  readonly #options: SocketOptions
  readonly #waiting: Buffer[] = []
  #waitingBytes = 0
  /** Bytes that arrived since the last message: of its successor, and of frames without content. */
  #incomingBytes = 0
  #lateBytes = 0
  #current: MessageResponse | undefined
  #isEnding = false
  #unansweredPings = 0

  constructor(socket: WebSocket, upgrade: IncomingMessage, handle: HandleMessage, options: SocketOptions) {
    this.#socket = socket
    this.#upgrade = upgrade
    this.#handle = handle
    this.#options = options
    // Before the data is parsed, so that the bytes of a message count before it is complete.
    upgrade.socket.prependListener('data', (data: Buffer) => this.#countIncoming(data.length))
    socket.on('message', (data: Buffer) => this.#receive(data))
    socket.on('pong', () => {
      this.#unansweredPings = 0
    })
    socket.on('close', () => {
      this.#drop()
      this.#current?.destroy()
    })
    // Always followed by `close`.
    socket.on('error', () => undefined)
  }

  get owner(): number | undefined {
    return this.#options.owner
  }

  get isClosed(): boolean {
    return this.#socket.readyState === this.#socket.CLOSED
  }

  onClose(notify: () => void): void {
    if (this.isClosed) notify()
    else this.#socket.once('close', notify)
  }

  /** Sends a ping, or terminates the connection if the client has not answered the last two. */
  checkAlive(): void {
    if (this.#unansweredPings < 2) this.#socket.ping()
    else this.#socket.terminate()
    this.#unansweredPings++
  }

  /** Closes the connection once the current response has ended. Messages that wait are not handled. */
  end(lastMessage?: object): void {
    if (this.#isEnding) return
    this.#drop()
    const close = () => {
      if (lastMessage !== undefined) this.#socket.send(JSON.stringify(lastMessage))
      this.#socket.close(GOING_AWAY, 'Open another connection.')
    }
    if (this.#current === undefined) close()
    else this.#current.once('close', close)
  }

  #drop(): void {
    this.#isEnding = true
    this.#waiting.length = 0
    this.#release(this.#waitingBytes + this.#incomingBytes)
    this.#waitingBytes = 0
    this.#incomingBytes = 0
  }

  #release(bytes: number): void {
    this.#options.unhandledBytes.release(this.owner, bytes)
  }

  /** Closes the connection if too much is unhandled. */
  #take(bytes: number): boolean {
    const exceeded = this.#options.unhandledBytes.take(this.owner, bytes)
    if (exceeded === 'perOwner') this.#close(POLICY_VIOLATION, 'Too much data of this user waits.')
    if (exceeded === 'total') this.#close(TRY_AGAIN_LATER, 'Too much data waits. Try again later.')
    return exceeded === undefined
  }

  #countIncoming(bytes: number): void {
    if (this.#isEnding) this.#countLate(bytes)
    else if (this.#take(bytes)) this.#incomingBytes += bytes
  }

  /** Data that no limit counts any more would be kept until its message is complete. */
  #countLate(bytes: number): void {
    this.#lateBytes += bytes
    if (this.#lateBytes > MAX_LATE_BYTES) this.#socket.pause()
  }

  #receive(data: Buffer): void {
    if (this.#isEnding) return
    this.#release(this.#incomingBytes)
    this.#incomingBytes = 0
    if (this.#current === undefined) {
      this.#handleMessage(data)
      return
    }
    const isFull =
      this.#waitingBytes + data.length > this.#options.maxWaitingBytes ||
      this.#waiting.length >= MAX_WAITING_MESSAGES
    if (isFull) {
      this.#close(POLICY_VIOLATION, 'Too many messages wait for a response.')
    } else if (this.#take(data.length)) {
      this.#waiting.push(data)
      this.#waitingBytes += data.length
    }
  }

  /** Messages that wait are not handled: their responses could not be sent. */
  #close(code: number, reason: string): void {
    this.#drop()
    this.#socket.close(code, reason)
  }

  #handleNext(): void {
    const message = this.#waiting.shift()
    if (message === undefined) return
    this.#waitingBytes -= message.length
    this.#release(message.length)
    this.#handleMessage(message)
  }

  #handleMessage(message: Buffer): void {
    const content = { text: message, toBody: this.#options.toBody }
    const request = new MessageRequest('POST', this.#upgrade, this, content)
    const response = new MessageResponse(request, this.#createSink())
    this.#current = response
    response.once('close', () => {
      this.#current = undefined
      if (!response.writableFinished) this.#close(INTERNAL_ERROR, 'The response failed.')
      else if (response.statusCode === 401) this.#close(POLICY_VIOLATION, 'The key is not valid.')
      this.#handleNext()
    })
    this.#handle(request, response)
  }

  #createSink(): ResponseSink {
    const decoder = new TextDecoder()
    let whole = ''
    let response: MessageResponse | undefined
    const parser = createParser({ onEvent: ({ data }) => this.#send(data, response) })
    return {
      write: (chunk, writing) => {
        response = writing
        const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
        if (isEventStream(writing)) parser.feed(text)
        else whole += text
        return this.#socket.bufferedAmount < MAX_BUFFERED_BYTES
      },
      end: (ending) => {
        if (isEventStream(ending)) return
        const { statusCode } = ending
        if (statusCode < 400) this.#send(whole, ending)
        else this.#send(JSON.stringify(this.#options.formatError(statusCode, whole, ending.getHeaders())))
      },
    }
  }

  #send(text: string, response?: MessageResponse): void {
    this.#socket.send(text, () => {
      if (this.#socket.bufferedAmount < MAX_BUFFERED_BYTES) response?.emit('drain')
    })
  }
}

function isEventStream(response: MessageResponse): boolean {
  return String(response.getHeader('content-type')).startsWith('text/event-stream')
}
