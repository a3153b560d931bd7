import { Readable } from 'node:stream'
import type { GatewayContext, JsonObject } from '../contract/index.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import { nextImmediate } from '../util/next-immediate.ts'
import { markIncomplete } from './incomplete-response.ts'
import { setLazyBody } from './lazy-body.ts'

/** Sends the responses of inference endpoints. */
export interface ResponseSender {
  /** Sends a body, given as an object or as its JSON text. */
  sendWhole(ctx: GatewayContext, body: JsonObject | string): MaybePromise<void>
  /**
   * Sends SSE records, several per string. They are read at the client's pace (backpressure). If the reply
   * has failed, the response ends without its last chunk.
   */
  sendStream(ctx: GatewayContext, records: AsyncIterable<string>): void
}

/**
 * Creates a sender. By default it writes to the socket directly, bypassing Koa's response handling. With
 * `usesKoa`, responses become Koa bodies that third-party middleware can read and replace.
 */
export function createResponseSender(usesKoa: boolean): ResponseSender {
  return usesKoa ? KOA_SENDER : DIRECT_SENDER
}

const KOA_SENDER: ResponseSender = {
  // Waits like the direct sender: Koa writes the response once the middleware has ended.
  sendWhole(ctx, body) {
    if (typeof body !== 'string') ctx.body = body
    else setLazyBody(ctx, { read: () => JSON.parse(body), send: () => setBody(ctx, body) })
    return nextImmediate()
  },
  sendStream(ctx, records) {
    setLazyBody(ctx, {
      // Marked before the body ends the response, if nobody replaces it.
      read: () => toReadable(records).once('end', () => markFailure(ctx)),
      send: () => pipeRecords(ctx, records, ctx.status),
    })
    setStreamHeaders(ctx)
  },
}

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

/**
 * Sends the JSON text of a value as Koa would send the value. Given an object, Koa compares it with classes
 * of `fetch`, and their code is loaded for that.
 */
export function sendJsonValue(ctx: GatewayContext, text: string): void {
  ctx.body = text
  if (!/\bjson\b/i.test(ctx.type)) ctx.type = 'json'
}

/** Sends a JSON text. Third-party middleware sees its value. */
export function sendJsonText(ctx: GatewayContext, status: number, json: Uint8Array, usesKoa: boolean): void {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength)
  const send = () => {
    ctx.body = text
    ctx.type = 'application/json; charset=utf-8'
  }
  ctx.status = status
  if (usesKoa) setLazyBody(ctx, { read: () => JSON.parse(text.toString()), send })
  else send()
}

function setStreamHeaders(ctx: GatewayContext): void {
  for (const [name, value] of STREAM_HEADERS) ctx.set(name, value)
}

function toReadable(records: AsyncIterable<string>): Readable {
  return Readable.from(records, { objectMode: false })
}

function setBody(ctx: GatewayContext, body: string): void {
  ctx.body = body
}

function markFailure({ exchange, res }: GatewayContext): void {
  if (exchange.error !== undefined) markIncomplete(res)
}

const DIRECT_SENDER: ResponseSender = {
  // Waits, so that the responses of one event-loop turn are written together (docs/decisions/http.md).
  sendWhole: (ctx, body) =>
    nextImmediate().then(() => writeWhole(ctx, typeof body === 'string' ? body : JSON.stringify(body))),
  sendStream: (ctx, records) => pipeRecords(ctx, records, 200, STREAM_HEADER_LIST),
}

/** Writes the head and the records to the socket, bypassing Koa. `headers`: alternating names and values. */
function pipeRecords(
  ctx: GatewayContext,
  records: AsyncIterable<string>,
  status: number,
  headers?: string[],
): void {
  ctx.respond = false
  if (!ctx.writable) return
  ctx.res.writeHead(status, headers)
  pumpRecords(ctx, records[Symbol.asyncIterator]()).catch((error: unknown) => {
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

function writeWhole(ctx: GatewayContext, text: string): void {
  ctx.respond = false
  if (!ctx.writable) return
  ctx.res.setDefaultHeader('content-type', 'application/json; charset=utf-8')
  ctx.res.setDefaultHeader('content-length', String(Buffer.byteLength(text)))
  ctx.res.writeHead(200)
  ctx.res.end(text)
}

/** Writes records as they come, and stops the source if the client disconnects. */
async function pumpRecords(ctx: GatewayContext, records: AsyncIterator<string>): Promise<void> {
  const { res } = ctx
  try {
    for (let next = await records.next(); !next.done; next = await records.next()) {
      if (res.destroyed) return
      if (!res.write(next.value)) await drainOrClose(res)
    }
    markFailure(ctx)
    res.end()
  } finally {
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
