import { isAscii } from 'node:buffer'
import { closeSync, openSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { devNull } from 'node:os'
import { PassThrough, pipeline, type Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import { parse as parseJson } from '@hapi/bourne'
import { type GatewayContext, GatewayError, isJsonObject, type JsonObject } from '../contract/index.ts'
import { createBackgroundYield } from '../util/cooperative-yield.ts'
import { countValues, hasMoreValues, MAX_JSON_DEPTH, SAFE_JSON_LENGTH } from '../util/json.ts'
import { lazy } from '../util/lazy.ts'
import type { keepReceived } from '../util/received-json.ts'
import { createSharedQuota, type QuotaLimits } from '../util/shared-quota.ts'
import { MessageRequest } from './message-request.ts'
import type { Step } from './steps.ts'

/** Smaller bodies are not counted: they take less memory than the rest of their requests. */
const MIN_COUNTED_BYTES = 16 * 1024

/** What a field or an item of a parsed body takes besides its text, on average. An empty array takes 40. */
const VALUE_BYTES = 32

/** Of smaller bodies, the values are counted once they are parsed, which is cheaper. */
const MIN_SCANNED_BYTES = 1024 * 1024

/**
 * Limits what the bodies of all requests in flight take, and those of each user. See docs/decisions/http.md,
 * "Bodies count until the response has ended".
 */
export interface BodyQuota {
  /** Counts the body of a request until its response has ended. */
  count(ctx: GatewayContext): CountedBody
}

/** The body of a request, as far as it has arrived. */
interface CountedBody {
  /** Raises the bytes that count. Throws 503 if they exceed what is left, 413 if they always will. */
  raise(bytes: number): void
  /** Counts the values of the parsed body, too. Throws as `raise`. */
  raiseParsed(bytes: number, values: number): void
  /** Throws 413 for a large JSON text with more values than the body of a request may have. */
  checkValues(json: Buffer): void
}

/** Callers without an account are operators. */
type Owner = number | undefined

export function createBodyQuota(limits: QuotaLimits): BodyQuota {
  const quota = createSharedQuota<Owner>(limits)
  const maxBytes = Math.min(limits.perOwner, limits.total)
  return {
    count({ client, account }) {
      const owner: Owner = (account as typeof account | undefined)?.userId
      let held = 0
      function raise(bytes: number): void {
        if (bytes < MIN_COUNTED_BYTES || bytes <= held) return
        if (bytes > maxBytes) throw createTooLargeError(maxBytes)
        const exceeded = quota.take(owner, bytes - held)
        if (exceeded !== undefined) throw createQuotaError(exceeded === 'perOwner')
        const isFirst = held === 0
        held = bytes
        if (isFirst) client.onClose(() => quota.release(owner, held))
      }
      return {
        raise,
        raiseParsed: (bytes, values) => raise(bytes + (bytes < MIN_COUNTED_BYTES ? 0 : values * VALUE_BYTES)),
        checkValues(json) {
          const isLarge = json.length >= MIN_SCANNED_BYTES
          if (isLarge && hasMoreValues(json, (maxBytes - json.length) / VALUE_BYTES))
            throw createTooLargeError(maxBytes)
        },
      }
    },
  }
}

function createTooLargeError(maxBytes: number): GatewayError {
  const message =
    `The request body takes more memory than the ${maxBytes} bytes that a request may take: each field and ` +
    `each item of a list takes ${VALUE_BYTES} bytes besides its text.`
  return new GatewayError('body_too_large', message)
}

function createQuotaError(isOfUser: boolean): GatewayError {
  const whose = isOfUser ? "the user's requests" : 'all requests'
  const message = `The bodies of ${whose} in flight take as much memory as they may. Try again later.`
  return new GatewayError('memory_limit_reached', message, { retryAfter: 1 })
}

/** Bodies of other methods have no meaning and are ignored. */
const METHODS_WITH_BODY: readonly (string | undefined)[] = ['POST', 'PUT', 'PATCH']

/**
 * Creates a step that reads a JSON body of at most `limit` bytes into `ctx.request.body`, which stays
 * undefined if none was sent, or an empty one. The content type is ignored: every body is read as JSON.
 * `quota` counts bytes. `keep` gets an uncompressed body and its bytes; what it returns is called at the end.
 */
export function createBodyReader(limit: number, quota: BodyQuota, keep?: typeof keepReceived): Step {
  const loadReader = lazy(() => loadKoaBodyReader(limit))

  async function read(ctx: GatewayContext): Promise<void> {
    if (ctx.req instanceof MessageRequest) return readMessage(ctx.req, ctx, quota)
    const { method, headers } = ctx.req
    const { 'content-length': length, 'content-encoding': encoding, 'transfer-encoding': transfer } = headers
    if (!METHODS_WITH_BODY.includes(method) || (length ?? transfer) === undefined) return
    if (length !== undefined && Number(length) > limit) throw bodyTooLargeError(limit)
    const counted = quota.count(ctx)
    if (ctx.req.readableEnded) return readConsumedBody(ctx, limit, counted)
    if (encoding === undefined && length !== undefined) counted.raise(Number(length))
    const decompressed = encoding === undefined ? undefined : decompress(ctx.req, encoding, counted)
    if (headers.expect !== undefined) sendContinue(ctx)
    if (decompressed === undefined) return await readPlainBody(ctx, limit, counted, keep)
    const stopWaiting = waitForEnd(ctx)
    try {
      await loadReader()(Object.create(ctx, { req: { value: decompressed } }))
    } finally {
      stopWaiting()
    }
    ctx.request.body = parseBody(Buffer.from(String(ctx.request.body ?? '')), counted)
  }

  return async (ctx) => {
    ctx.admittedAt = performance.now()
    try {
      await read(ctx)
    } catch (error) {
      ctx.req.unpipe()
      throw toBodyError(error, limit)
    }
  }
}

/** The connection has checked the size of the message. */
function readMessage(request: MessageRequest, ctx: GatewayContext, quota: BodyQuota): void {
  const message = request.takeMessage()
  if (message === undefined) return
  const body: unknown = message.toBody(requireJsonObject(parseBody(message.text, quota.count(ctx))))
  Object.assign(ctx.request, { body })
}

/** Waits until the last byte has arrived, or the returned function is called: decompressing is no waiting. */
function waitForEnd({ req, client: { waiting } }: GatewayContext): () => void {
  let isWaiting = true
  const stop = () => {
    if (isWaiting) waiting?.end()
    isWaiting = false
  }
  waiting?.begin()
  req.once('end', stop)
  return stop
}

/**
 * Koa middleware such as koa-bodyparser has read the body. It keeps the text, which is parsed like any other:
 * its own parser has other limits.
 */
function readConsumedBody({ request }: GatewayContext, limit: number, counted: CountedBody): void {
  const { rawBody } = request as { rawBody?: unknown }
  if (typeof rawBody !== 'string') {
    const message = 'Middleware has read the request body. Remove it from the plugins: the gateway reads it.'
    throw new GatewayError('internal_error', message)
  }
  if (rawBody.length > limit) throw bodyTooLargeError(limit)
  request.body = parseBodyText(rawBody, counted)
}

/** Tells a client that waits for admission to send the body. */
function sendContinue({ req, res }: GatewayContext): void {
  delete req.headers.expect
  res.writeContinue()
}

/**
 * Yields the text of a body as it arrives, however long it is. `confirm` is called before each piece, and
 * rejects if the caller may not send more. Throws 415 if the body is compressed. The content type is ignored.
 */
export async function* readTextBody(
  ctx: GatewayContext,
  confirm: () => Promise<void>,
): AsyncGenerator<string, void, undefined> {
  const { headers } = ctx.req
  if (headers['content-encoding'] !== undefined) {
    const message = 'The Content-Encoding of the request body is not supported. Send it uncompressed.'
    throw new GatewayError('unsupported_media_type', message)
  }
  if (headers.expect !== undefined) sendContinue(ctx)
  const text = new TextDecoder('utf-8')
  // A client that may not send more gets the response before the connection closes.
  for await (const chunk of requireComplete(ctx.req.iterator({ destroyOnReturn: false }))) {
    await confirm()
    yield text.decode(chunk, { stream: true })
  }
  await confirm()
  yield text.decode()
}

/** Reads the body of a request, in whatever form it is. Rejects with 413 above the limit. */
export type RawBodyReader = (ctx: GatewayContext, maxBytes: number) => Promise<Buffer>

/** Creates a reader of bodies that are no JSON, which decompresses them. `quota` counts what is read. */
export function createRawBodyReader(quota: BodyQuota): RawBodyReader {
  return async (ctx, maxBytes) => {
    const { headers } = ctx.req
    const counted = quota.count(ctx)
    const encoding = headers['content-encoding']
    const body = encoding === undefined ? ctx.req : decompress(ctx.req, encoding, counted)
    if (headers.expect !== undefined) sendContinue(ctx)
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of requireComplete(body.iterator({ destroyOnReturn: false }))) {
      size += chunk.length
      if (size > maxBytes) throw bodyTooLargeError(maxBytes)
      counted.raise(size)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}

async function* requireComplete(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* body
  } catch (error) {
    throw new GatewayError('malformed_body', 'The request body ended early.', { cause: error })
  }
}

/** Returns the body as an object; throws 400 if it is anything else, or missing. */
export function requireJsonObject(body: unknown): JsonObject {
  if (!isJsonObject(body)) throw new GatewayError('malformed_body', 'The request body must be a JSON object.')
  return body
}

/** Larger bodies are parsed and handled in turns of the event loop of their own. */
const LARGE_BODY_BYTES = 1024 * 1024

const turns = createBackgroundYield()

/**
 * Reads an uncompressed body, which nearly all requests have. Skipping koa-body saves about a tenth of the
 * cost of a request.
 */
function readPlainBody(
  { req, request, client }: GatewayContext,
  limit: number,
  counted: CountedBody,
  keep?: typeof keepReceived,
): Promise<void> {
  client.waiting?.begin()
  return new Promise((resolve, reject) => {
    if (req.destroyed) reject(new Error('client disconnected'))
    let chunks: Buffer[] = []
    let size = 0
    const stop = (error: unknown) => {
      client.waiting?.end()
      req.off('data', onData)
      chunks = []
      reject(error)
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > limit) return stop(bodyTooLargeError(limit))
      try {
        counted.raise(size)
      } catch (error) {
        stop(error)
      }
    }
    const parse = () => {
      try {
        const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
        // The listeners, and with them the chunks, stay for as long as the request.
        chunks = []
        const body = parseBody(bytes, counted)
        request.body = body
        const release = isJsonObject(body) ? keep?.(body, bytes) : undefined
        if (release !== undefined) client.onClose(release)
        resolve()
      } catch (error) {
        reject(error)
      }
    }
    req.on('data', onData)
    req.once('error', stop)
    req.once('end', () => {
      client.waiting?.end()
      if (size < LARGE_BODY_BYTES) parse()
      else void turns.yieldNow().then(parse)
    })
  })
}

const DECOMPRESSORS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createUnzip],
  ['deflate', createUnzip],
  ['br', createBrotliDecompress],
  ['identity', () => new PassThrough()],
])

/**
 * Returns the decompressed body as a request for koa-body. What is read is counted. Throws 415 for an unknown
 * encoding.
 */
function decompress(req: Readable, encoding: string, counted: CountedBody): Readable {
  const decompressor = DECOMPRESSORS.get(encoding.toLowerCase())?.()
  if (decompressor === undefined) {
    const message =
      'The Content-Encoding of the request body is not supported. Use gzip, deflate or br, or none.'
    throw new GatewayError('unsupported_media_type', message)
  }
  let size = 0
  const counter = new Transform({
    transform(chunk: Buffer, _, done) {
      size += chunk.length
      try {
        counted.raise(size)
        done(null, chunk)
      } catch (error) {
        // The cast is safe: `raise` throws a `GatewayError`.
        done(error as GatewayError)
      }
    },
  })
  // The reader sees the error of any of them.
  pipeline(req, decompressor, counter, () => undefined)
  return Object.assign(counter, { headers: {} })
}

const require = createRequire(import.meta.url)

/**
 * Loads koa-body, which reads compressed bodies as text. Loaded on first use, because it takes 23 MB of
 * memory, most of it for form parsing. Node remembers forever which modules and packages it could not read,
 * so they are not looked for without a free file descriptor, and `require` needs one at a time.
 */
function loadKoaBodyReader(limit: number): (ctx: GatewayContext) => Promise<void> {
  const { koaBody } = requireKoaBody()
  const middleware = koaBody({
    textLimit: limit,
    textTypes: ['*/*'],
    jsonTypes: [],
    multipart: false,
    urlencoded: false,
    json: false,
    patchNode: false,
  })
  return (ctx) => {
    ctx.headers['content-type'] ??= 'application/json'
    return middleware(ctx, noop)
  }
}

function requireKoaBody(): typeof import('koa-body') {
  try {
    closeSync(openSync(devNull, 'r'))
    return require('koa-body')
  } catch (error) {
    const message = 'Compressed request bodies cannot be read at the moment.'
    throw new GatewayError('internal_error', message, { cause: error })
  }
}

/** Stands in for the next middleware, so that koa-body does not handle the errors of later middleware. */
const noop = () => Promise.resolve()

/**
 * Parses a JSON object or array; undefined for an empty body. Strips a byte order mark. Throws for a key
 * `__proto__`, which would set the prototype of an object that it is copied into, and for a value that is
 * nested too deep or takes too much memory.
 */
function parseBodyText(text: string, counted: CountedBody) {
  if (text === '') return undefined
  // bourne's own search for the name takes as long as half of parsing.
  const value = mayHaveProto(text) ? parseJson(text) : JSON.parse(text)
  if (typeof value !== 'object' || value === null) throw new SyntaxError('neither an object nor an array')
  if (text.length > SAFE_JSON_LENGTH) {
    const values = countValues(value)
    if (values === Number.POSITIVE_INFINITY) throw nestedTooDeepError()
    counted.raiseParsed(text.length, values)
  }
  return value
}

/** Whether a key may be `__proto__`, whose characters may be escaped. */
function mayHaveProto(text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u00')
}

function parseBody(bytes: Buffer, counted: CountedBody) {
  counted.checkValues(bytes)
  // Twice as fast as decoding it as UTF-8.
  const text = isAscii(bytes) ? bytes.toString('latin1') : decoder.decode(bytes)
  return parseBodyText(text, counted)
}

const decoder = new TextDecoder('utf-8')

function toBodyError(error: unknown, limit: number): GatewayError {
  if (GatewayError.isInstance(error)) return error
  if (error instanceof Error && 'status' in error && error.status === 413) return bodyTooLargeError(limit)
  return new GatewayError('malformed_body', 'The request body is not valid JSON.', { cause: error })
}

function nestedTooDeepError(): GatewayError {
  const message = `The request body is nested more than ${MAX_JSON_DEPTH} levels deep.`
  return new GatewayError('malformed_body', message)
}

function bodyTooLargeError(limit: number): GatewayError {
  return new GatewayError('body_too_large', `The request body exceeds the limit of ${limit} bytes.`)
}

/** The largest body that is read and discarded behind its response, so that the connection can be reused. */
const MAX_DISCARDED_BYTES = 64 * 1024

/** How long a connection stays open for reading once its response was sent. */
const LINGER_MS = 1000

/**
 * Handles a body that will not be read, because the response does not depend on it. A small one is discarded.
 * For others the connection closes after the response: a caller without a key could send anything.
 */
export function discardUnreadBody({ req, res }: GatewayContext): void {
  if (req.complete || res.headersSent || !hasBody(req)) return
  const isSmall = Number(req.headers['content-length']) <= MAX_DISCARDED_BYTES
  // Clients that wait for 100 (Continue) may or may not send the body behind the response.
  if (!isSmall || req.headers.expect !== undefined) {
    res.setHeader('connection', 'close')
    linger(req.socket)
  }
  req.resume()
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/**
 * Makes the socket close in two steps: a client that is still sending would lose the response if the socket
 * closed with unread data.
 */
function linger(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end()
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}
