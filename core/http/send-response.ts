import { Readable } from 'node:stream'
import type Koa from 'koa'
import type { Dialect, GatewayContext, GatewayMiddleware, JsonObject } from '../contract/index.ts'
import { IS_ASCII } from '../contract/native-records.ts'
import { isAsciiText } from '../util/ascii.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import { nextImmediate } from '../util/next-immediate.ts'
import { markIncomplete } from './incomplete-response.ts'

/** A stream that is told when it has been silent. */
interface WatchedStream {
  /** The stream has sent something. */
  noteActivity(): void
  end(): void
}

/** The longest silence is this many ticks. */
const TICKS = 5

/**
 * Notices streams that have sent nothing for a while. All of them share one timer, which runs only while
 * there are streams, so that a record costs no more than setting a number.
 */
export class KeepAlives {
  readonly #tickMs: number
  readonly #streams = new Set<Stream>()
  #timer: NodeJS.Timeout | undefined

  /** Silences are noticed before they have lasted for `maxSilenceMs`, after four fifths at the earliest. */
  constructor(maxSilenceMs: number) {
    this.#tickMs = Math.max(1, Math.floor(maxSilenceMs / TICKS))
  }

  /** Calls `onSilence` after each silence, until the stream ends. `silentMs`: how long it has been silent. */
  watch(onSilence: () => void, silentMs = 0): WatchedStream {
    const stream = new Stream(onSilence, Math.floor(silentMs / this.#tickMs), this.#streams)
    this.#streams.add(stream)
    this.#timer ??= setTimeout(() => this.#tick(), this.#tickMs).unref()
    return stream
  }

  #tick(): void {
    for (const stream of this.#streams) stream.tick()
    if (this.#streams.size > 0) this.#timer?.refresh()
    else this.#timer = undefined
  }
}

class Stream implements WatchedStream {
  #onSilence: () => void
  readonly #streams: Set<Stream>
  #silentTicks: number

  constructor(onSilence: () => void, silentTicks: number, streams: Set<Stream>) {
    this.#onSilence = onSilence
    this.#silentTicks = silentTicks
    this.#streams = streams
  }

  noteActivity(): void {
    this.#silentTicks = 0
  }

  /** Drops the request, which former tables of the old set would keep until a collection of all garbage. */
  end(): void {
    this.#streams.delete(this)
    this.#onSilence = ignore
  }

  tick(): void {
    if (++this.#silentTicks < TICKS) return
    this.#silentTicks = 0
    this.#onSilence()
  }
}

function ignore(): void {}

/** A body that middleware of packages may read and replace before it is sent. */
interface LazyBody {
  /** Returns the body as middleware sees it. */
  read(): object | Readable
  /** Sends the body, which no middleware has read or replaced. */
  send(): void
}

const LAZY_BODY = Symbol('lazy body')

interface LazyResponse {
  [LAZY_BODY]?: LazyBody | undefined
  body: unknown
}

/** Stands for the body: Koa sets the status and the headers by it. */
const PLACEHOLDER = {}

/**
 * Makes `ctx.body` build lazy bodies when middleware first reads it, which most middleware does not. Without
 * this, they are sent immediately. See docs/decisions/http.md, "Bodies are built for middleware when it reads
 * them".
 */
export function installLazyBodies({ response }: Koa): void {
  const body = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(response), 'body')
  if (body?.get === undefined || body.set === undefined)
    throw new Error('This version of Koa is not supported.')
  const { get, set } = body
  Object.assign(response, { [LAZY_BODY]: undefined })
  Object.defineProperty(response, 'body', {
    configurable: true,
    get(this: LazyResponse) {
      const lazy = this[LAZY_BODY]
      if (lazy !== undefined) this.body = lazy.read()
      return get.call(this)
    },
    set(this: LazyResponse, value: unknown) {
      this[LAZY_BODY] = undefined
      set.call(this, value)
    },
  })
}

/** Whether bodies wait for middleware, which may also change the status and the headers. */
export function isBodyLazy({ response }: Pick<GatewayContext, 'response'>): boolean {
  return LAZY_BODY in response
}

function setLazyBody(ctx: Pick<GatewayContext, 'response'>, body: LazyBody): void {
  if (isBodyLazy(ctx)) {
    ctx.response.body = PLACEHOLDER
    Object.assign(ctx.response, { [LAZY_BODY]: body })
  } else body.send()
}

/** Sends lazy bodies that are untouched when all other middleware has ended. */
export const sendLazyBody: GatewayMiddleware = async ({ response }, next) => {
  await next()
  const lazy = (response as LazyResponse)[LAZY_BODY]
  lazy?.send()
}

/** Sends the responses of inference endpoints. */
interface ResponseSender {
  /** Sends a body, given as an object or as its JSON text. */
  sendWhole(ctx: GatewayContext, body: JsonObject | string): MaybePromise<void>
  /**
   * Sends SSE records, several per string, and keep-alives when there are none for a while. They are read at
   * the client's pace (backpressure). If the reply has failed, and the dialect has no event for that, the
   * response ends without its last chunk.
   */
  sendStream(ctx: GatewayContext, records: AsyncIterable<string>): void
}

/** What streams of a dialect look like when there is nothing to send, and when they fail. */
type StreamForm = Required<Pick<Dialect, 'keepAlive'>> & Pick<Dialect, 'hasErrorEvent'>

/** Creates a sender. It writes to the socket directly, unless middleware of packages may read the bodies. */
export function createResponseSender(keepAlives: KeepAlives, form: StreamForm): ResponseSender {
  const { keepAlive } = form
  const markFailure = form.hasErrorEvent ? () => {} : markFailedResponse
  const writeWhole = (ctx: GatewayContext, body: JsonObject | string) =>
    setLazyBody(ctx, {
      read: () => (typeof body === 'string' ? JSON.parse(body) : body),
      send: () => sendText(ctx, typeof body === 'string' ? body : JSON.stringify(body)),
    })
  return {
    // Waits, so that the responses of one event-loop turn are written together (docs/decisions/http.md).
    sendWhole: (ctx, body) => nextImmediate().then(() => writeWhole(ctx, body)),
    sendStream(ctx, records) {
      setLazyBody(ctx, {
        // Marked before the body ends the response, if nobody replaces it.
        read: () =>
          toWatchedReadable(ctx, records, keepAlives, keepAlive).once('end', () => markFailure(ctx)),
        send: () => pipeRecords(ctx, records, markFailure, watchResponse(ctx, keepAlives, keepAlive)),
      })
      if (isBodyLazy(ctx)) setStreamHeaders(ctx)
    },
  }
}

type MarkFailure = (ctx: GatewayContext) => void

/** Sets SSE records as an ordinary Koa body. */
export function sendEventStream(ctx: GatewayContext, records: AsyncIterable<string | Uint8Array>): void {
  setStreamHeaders(ctx)
  ctx.body = toReadable(records)
}

/** Sends all SSE records of a stream. */
export function sendStreamText(ctx: GatewayContext, records: string): void {
  setStreamHeaders(ctx)
  ctx.status = 200
  ctx.body = records
}

/** Sends a value as JSON. `text`: the value as text, if it is encoded already. */
export function sendJsonValue(ctx: GatewayContext, value: object, text?: string): void {
  setLazyBody(ctx, {
    read: () => value,
    // Given an object, Koa compares it with classes of `fetch`, and their code is loaded for that.
    send() {
      ctx.body = text ?? JSON.stringify(value)
      if (!/\bjson\b/i.test(ctx.type)) ctx.type = 'json'
    },
  })
}

/** Sends a JSON text. Middleware of packages sees its value. */
export function sendJsonText(ctx: GatewayContext, status: number, json: Uint8Array): void {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength)
  ctx.status = status
  setLazyBody(ctx, {
    read: () => JSON.parse(text.toString()),
    send() {
      ctx.body = text
      ctx.type = 'application/json; charset=utf-8'
    },
  })
}

function setStreamHeaders(ctx: GatewayContext): void {
  for (const [name, value] of STREAM_HEADERS) ctx.set(name, value)
}

function toReadable(records: AsyncIterable<string | Uint8Array>): Readable {
  return Readable.from(records, { objectMode: false })
}

/** Returns records as a `Readable` that has `keepAlive` between them when it is silent. */
function toWatchedReadable(
  ctx: GatewayContext,
  records: AsyncIterable<string>,
  keepAlives: KeepAlives,
  keepAlive: string,
): Readable {
  const watched = keepAlives.watch(() => {
    if (readable.readableLength === 0 && !readable.destroyed) readable.push(keepAlive)
  })
  const readable = toReadable(noteRecords(records, watched)).once('close', () => watched.end())
  // Also if middleware has replaced it and nobody reads it.
  ctx.client.onClose(() => watched.end())
  return readable
}

async function* noteRecords(records: AsyncIterable<string>, watched: WatchedStream): AsyncGenerator<string> {
  for await (const text of records) {
    watched.noteActivity()
    yield text
  }
  watched.end()
}

function markFailedResponse({ exchange, res }: GatewayContext): void {
  if (exchange.error !== undefined) markIncomplete(res)
}

/** Writes `keepAlive` to a silent response. A client that has not read what was written needs none. */
function watchResponse(
  { res, client }: GatewayContext,
  keepAlives: KeepAlives,
  keepAlive: string,
): WatchedStream | undefined {
  // WebSocket connections have pings of their own.
  if (client.session !== undefined) return undefined
  return keepAlives.watch(() => {
    if (!res.writableNeedDrain && !res.destroyed) res.write(keepAlive)
  })
}

/** Writes the head and the records to the socket, bypassing Koa. */
function pipeRecords(
  ctx: GatewayContext,
  records: AsyncIterable<string>,
  markFailure: MarkFailure,
  watched: WatchedStream | undefined,
): void {
  const { writable } = ctx
  try {
    if (writable && isBodyLazy(ctx)) ctx.res.writeHead(ctx.status)
    else if (writable) ctx.res.writeHead(200, STREAM_HEADER_LIST)
  } catch (error) {
    watched?.end()
    throw error
  }
  ctx.respond = false
  if (!writable) {
    watched?.end()
    return
  }
  pumpRecords(ctx, records[Symbol.asyncIterator](), markFailure, watched).catch((error: unknown) => {
    ctx.app.emit('error', error, ctx)
    ctx.res.destroy()
  })
}

const STREAM_HEADERS: readonly (readonly [string, string])[] = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['cache-control', 'no-store, no-transform'],
  ['x-accel-buffering', 'no'],
]

/** The same as alternating names and values. */
const STREAM_HEADER_LIST = STREAM_HEADERS.flat()

function sendText(ctx: GatewayContext, text: string): void {
  if (isBodyLazy(ctx)) {
    ctx.body = text
    return
  }
  if (ctx.writable) {
    const length = String(Buffer.byteLength(text))
    ctx.res.writeHead(200, ['content-type', 'application/json; charset=utf-8', 'content-length', length])
    ctx.res.end(text)
  }
  // Koa can send an error if the head cannot be written.
  ctx.respond = false
}

/** Writes records as they come, and stops the source if the client disconnects. */
async function pumpRecords(
  ctx: GatewayContext,
  records: AsyncIterator<string> & { readonly [IS_ASCII]?: boolean },
  markFailure: MarkFailure,
  watched: WatchedStream | undefined,
): Promise<void> {
  const { res } = ctx
  try {
    for (let next = await records.next(); !next.done; next = await records.next()) {
      if (res.destroyed) return
      watched?.noteActivity()
      const encoding = records[IS_ASCII] ? 'latin1' : encodingOf(next.value)
      if (!res.write(next.value, encoding)) await drainOrClose(res)
    }
    watched?.end()
    markFailure(ctx)
    res.end()
  } finally {
    watched?.end()
    await records.return?.()
  }
}

/** Node reserves three times the length for UTF-8, and measures it as well. */
function encodingOf(text: string): BufferEncoding {
  return isAsciiText(text) ? 'latin1' : 'utf8'
}

/** Resolves once the response accepts more data or is closed. */
function drainOrClose(response: GatewayContext['res']): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.once('drain', done)
    response.once('close', done)
  })
}
