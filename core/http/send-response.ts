import { Readable } from 'node:stream'
import type { Dialect, GatewayContext, JsonObject } from '../contract/index.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import { nextImmediate } from '../util/next-immediate.ts'
import { markIncomplete } from './incomplete-response.ts'
import type { KeepAlives, WatchedStream } from './keep-alives.ts'
import { isBodyLazy, setLazyBody } from './lazy-body.ts'

/** Sends the responses of inference endpoints. */
export interface ResponseSender {
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
export function sendEventStream(ctx: GatewayContext, records: AsyncIterable<string>): void {
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

function toReadable(records: AsyncIterable<string>): Readable {
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
  records: AsyncIterator<string>,
  markFailure: MarkFailure,
  watched: WatchedStream | undefined,
): Promise<void> {
  const { res } = ctx
  try {
    for (let next = await records.next(); !next.done; next = await records.next()) {
      if (res.destroyed) return
      watched?.noteActivity()
      if (!res.write(next.value)) await drainOrClose(res)
    }
    watched?.end()
    markFailure(ctx)
    res.end()
  } finally {
    watched?.end()
    await records.return?.()
  }
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
