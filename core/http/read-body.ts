import type { Next } from 'koa'
import { koaBody } from 'koa-body'
import { type GatewayContext, GatewayError, isJsonObject, type JsonObject } from '../contract/index.ts'

/** Middleware that reads a JSON body of at most `limit` bytes into `ctx.request.body`. */
export function createBodyReader(limit: number) {
  const parse = koaBody({
    jsonLimit: limit,
    // A caller who forgets the content type means JSON all the same: nothing else is understood here.
    jsonTypes: ['*/*'],
    multipart: false,
    urlencoded: false,
    text: false,
    patchNode: false,
  })
  return (ctx: GatewayContext, next: Next): Promise<void> => {
    ctx.req.headers['content-type'] ??= 'application/json'
    return parse(ctx, nothing).then(next, (error: unknown) => {
      // What is left of the body is read and forgotten: unread, it would hold the connection.
      ctx.req.unpipe().resume()
      throw readFault(error, limit)
    })
  }
}

/** What comes next is not the parser's, nor are its errors. */
const nothing = () => Promise.resolve()

/** The body as an object; 400 for anything else. */
export function bodyOf(ctx: GatewayContext): JsonObject {
  const body: unknown = ctx.request.body
  if (!isJsonObject(body)) throw new GatewayError('malformed_body', 'The body must be a JSON object.')
  return body
}

function readFault(error: unknown, limit: number): GatewayError {
  const status = error instanceof Error && 'status' in error ? error.status : undefined
  if (status === 413)
    return new GatewayError('body_too_large', `The body is over the limit of ${limit} bytes.`)
  if (status === 415)
    return new GatewayError('malformed_body', 'The content encoding of the body is not supported.')
  return new GatewayError('malformed_body', 'The body is not valid JSON.', { cause: error })
}
