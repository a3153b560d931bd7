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
import { countValues, MAX_JSON_DEPTH, SAFE_JSON_LENGTH } from '../util/json.ts'
import { lazy } from '../util/lazy.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import type { keepReceived } from '../util/received-json.ts'
import type { BodyQuota, CountedBody } from './body-quota.ts'
import { MessageRequest } from './message-request.ts'
import type { Step } from './steps.ts'

/** Bodies of other methods have no meaning and are ignored. */
const METHODS_WITH_BODY: readonly (string | undefined)[] = ['POST', 'PUT', 'PATCH']

/**
 * Creates a step that reads a JSON body of at most `limit` bytes into `ctx.request.body`, which stays
 * undefined if none was sent, or an empty one. The content type is ignored: every body is read as JSON.
 * `quota` counts bytes. `keep` gets an uncompressed body and its bytes; what it returns is called at the end.
 */
export function createBodyReader(limit: number, quota: BodyQuota, keep?: typeof keepReceived): Step {
  const loadReader = lazy(() => loadKoaBodyReader(limit))

  function read(ctx: GatewayContext): MaybePromise<void> {
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
    if (decompressed === undefined) return readPlainBody(ctx, limit, counted, keep)
    return readDecompressed(ctx, decompressed, counted)
  }

  async function readDecompressed(ctx: GatewayContext, body: Readable, counted: CountedBody): Promise<void> {
    const stopWaiting = waitForEnd(ctx)
    try {
      await loadReader()(Object.create(ctx, { req: { value: body } }))
      stopWaiting()
      ctx.request.body = parseBody(Buffer.from(String(ctx.request.body ?? '')), counted)
    } catch (error) {
      stopWaiting()
      throw toReadError(ctx, error, limit)
    }
  }

  return (ctx) => {
    ctx.admittedAt = performance.now()
    try {
      return read(ctx)
    } catch (error) {
      throw toReadError(ctx, error, limit)
    }
  }
}

function toReadError({ req }: GatewayContext, error: unknown, limit: number): GatewayError {
  req.unpipe()
  return toBodyError(error, limit)
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
  ctx: GatewayContext,
  limit: number,
  counted: CountedBody,
  keep?: typeof keepReceived,
): Promise<void> {
  const body = new PlainBody(ctx, limit, counted, keep)
  const req: IncomingMessage & { [PLAIN_BODY]?: PlainBody } = ctx.req
  req[PLAIN_BODY] = body
  if (req.destroyed) body.fail(new Error('client disconnected'))
  req.on('data', addToBody)
  req.once('error', failBody)
  req.once('end', endBody)
  return body.read
}

const PLAIN_BODY = Symbol('plain body')

function noop(): void {}

interface BodyRequest {
  readonly [PLAIN_BODY]: PlainBody
}

function addToBody(this: BodyRequest, chunk: Buffer): void {
  this[PLAIN_BODY].add(chunk)
}

function failBody(this: BodyRequest, error: unknown): void {
  this[PLAIN_BODY].fail(error)
}

function endBody(this: BodyRequest): void {
  this[PLAIN_BODY].end()
}

/** A body while it arrives. Its listeners are the same for all requests. */
class PlainBody {
  /** Rejects with the error for the client. */
  readonly read: Promise<void>
  readonly #ctx: GatewayContext
  readonly #limit: number
  readonly #counted: CountedBody
  readonly #keep: typeof keepReceived | undefined
  #chunks: Buffer[] = []
  #size = 0
  #resolve: () => void = noop
  #reject: (error: unknown) => void = noop

  constructor(
    ctx: GatewayContext,
    limit: number,
    counted: CountedBody,
    keep: typeof keepReceived | undefined,
  ) {
    this.#ctx = ctx
    this.#limit = limit
    this.#counted = counted
    this.#keep = keep
    ctx.client.waiting?.begin()
    this.read = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  add(chunk: Buffer): void {
    this.#size += chunk.length
    this.#chunks.push(chunk)
    try {
      if (this.#size > this.#limit) throw bodyTooLargeError(this.#limit)
      this.#counted.raise(this.#size)
    } catch (error) {
      this.fail(error)
    }
  }

  fail(error: unknown): void {
    this.#ctx.client.waiting?.end()
    this.#ctx.req.off('data', addToBody)
    this.#chunks = []
    this.#reject(toReadError(this.#ctx, error, this.#limit))
  }

  end(): void {
    this.#ctx.client.waiting?.end()
    if (this.#size < LARGE_BODY_BYTES) this.#parse()
    else void turns.yieldNow().then(() => this.#parse())
  }

  #parse(): void {
    const { request, client } = this.#ctx
    try {
      const bytes =
        this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks)
      // The request, and with it the chunks, stays for as long as its connection.
      this.#chunks = []
      const body = parseBody(bytes, this.#counted)
      request.body = body
      const release = isJsonObject(body) ? this.#keep?.(body, bytes) : undefined
      if (release !== undefined) client.onClose(release)
      this.#resolve()
    } catch (error) {
      this.#reject(toReadError(this.#ctx, error, this.#limit))
    }
  }
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
    return middleware(ctx, noNext)
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
const noNext = () => Promise.resolve()

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
