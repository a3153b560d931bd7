import { parse as parseJson } from '@hapi/bourne'
import type { Next } from 'koa'
import { type GatewayContext, GatewayError, isJsonObject, type JsonObject } from '../contract/index.ts'
import { isNestedTooDeep, MAX_JSON_DEPTH, SAFE_JSON_LENGTH } from '../util/json-depth.ts'
import { lazy } from '../util/lazy.ts'
import { MessageRequest } from './message-request.ts'

/** Bodies of other methods have no meaning and are ignored. */
const METHODS_WITH_BODY: readonly (string | undefined)[] = ['POST', 'PUT', 'PATCH']

/**
 * Creates middleware that reads a JSON body of at most `limit` bytes into `ctx.request.body`, which stays
 * undefined if none was sent, or an empty one. The content type is ignored: every body is read as JSON.
 */
export function createBodyReader(limit: number) {
  const loadReader = lazy(() => loadKoaBodyReader(limit))

  function read(ctx: GatewayContext): Promise<void> {
    if (ctx.req instanceof MessageRequest) return readMessage(ctx.req, ctx)
    const { method, headers } = ctx.req
    const { 'content-length': length, 'content-encoding': encoding, 'transfer-encoding': transfer } = headers
    if (!METHODS_WITH_BODY.includes(method) || (length ?? transfer) === undefined) return Promise.resolve()
    if (length !== undefined && Number(length) > limit) return Promise.reject(bodyTooLargeError(limit))
    if (ctx.req.readableEnded) return parseConsumedBody(ctx.request, limit)
    if (headers.expect !== undefined) sendContinue(ctx)
    if (encoding === undefined) return readPlainBody(ctx, limit)
    return loadReader()
      .then((reader) => reader(ctx))
      .then(() => checkDepth(ctx.request.body))
  }

  return (ctx: GatewayContext, next: Next): Promise<void> =>
    read(ctx).then(next, (error: unknown) => {
      ctx.req.unpipe()
      throw toBodyError(error, limit)
    })
}

/** The connection has checked the size of the message. */
async function readMessage({ message }: MessageRequest, { request }: GatewayContext): Promise<void> {
  if (message === undefined) return
  const body: unknown = message.toBody(requireJsonObject(parseBody(message.text)))
  Object.assign(request, { body })
}

/**
 * Koa middleware such as koa-bodyparser has read the body. It keeps the text, which is parsed like any other:
 * its own parser has other limits.
 */
async function parseConsumedBody(request: GatewayContext['request'], limit: number): Promise<void> {
  const { rawBody } = request as { rawBody?: unknown }
  if (typeof rawBody !== 'string') {
    const message = 'Middleware has read the request body. Remove it from the plugins: the gateway reads it.'
    throw new GatewayError('internal_error', message)
  }
  if (rawBody.length > limit) throw bodyTooLargeError(limit)
  request.body = parseBodyText(rawBody)
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

/**
 * Reads an uncompressed body, which nearly all requests have. Accepts the same bodies as koa-body. Skipping
 * koa-body saves about a tenth of the cost of a request.
 */
function readPlainBody({ req, request }: GatewayContext, limit: number): Promise<void> {
  return new Promise((resolve, reject) => {
    if (req.destroyed) reject(new Error('client disconnected'))
    const chunks: Buffer[] = []
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= limit) return
      req.off('data', onData)
      reject(bodyTooLargeError(limit))
    }
    req.on('data', onData)
    req.once('error', reject)
    req.once('end', () => {
      try {
        request.body = parseBody(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
        resolve()
      } catch (error) {
        reject(error)
      }
    })
  })
}

/**
 * Parses a JSON object or array; undefined for an empty body. Strips a byte order mark. Throws for a key
 * `__proto__`, which would set the prototype of an object that it is copied into, and for a value that is
 * nested too deep.
 */
function parseBodyText(text: string) {
  if (text === '') return undefined
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null) throw new SyntaxError('neither an object nor an array')
  if (text.length > SAFE_JSON_LENGTH) checkDepth(value)
  return value
}

const parseBody = (bytes: Buffer) => parseBodyText(decoder.decode(bytes))

const decoder = new TextDecoder('utf-8')

/**
 * Loads koa-body, which reads compressed bodies. Loaded on first use, because it takes 23 MB of
 * memory, most of it for form parsing.
 */
async function loadKoaBodyReader(limit: number): Promise<(ctx: GatewayContext) => Promise<void>> {
  const { koaBody } = await import('koa-body')
  const middleware = koaBody({
    jsonLimit: limit,
    jsonTypes: ['*/*'],
    multipart: false,
    urlencoded: false,
    text: false,
    patchNode: false,
  })
  return (ctx) => {
    ctx.req.headers['content-type'] ??= 'application/json'
    return middleware(ctx, noop)
  }
}

/** Stands in for the next middleware, so that koa-body does not handle the errors of later middleware. */
const noop = () => Promise.resolve()

function toBodyError(error: unknown, limit: number): GatewayError {
  if (GatewayError.isInstance(error)) return error
  const status = error instanceof Error && 'status' in error ? error.status : undefined
  if (status === 413) return bodyTooLargeError(limit)
  if (status === 415) {
    const message =
      'The Content-Encoding of the request body is not supported. Use gzip, deflate or br, or none.'
    return new GatewayError('unsupported_media_type', message)
  }
  return new GatewayError('malformed_body', 'The request body is not valid JSON.', { cause: error })
}

function checkDepth(body: unknown): void {
  if (!isNestedTooDeep(body)) return
  const message = `The request body is nested more than ${MAX_JSON_DEPTH} levels deep.`
  throw new GatewayError('malformed_body', message)
}

function bodyTooLargeError(limit: number): GatewayError {
  return new GatewayError('body_too_large', `The request body exceeds the limit of ${limit} bytes.`)
}
