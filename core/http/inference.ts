import type { Next } from 'koa'
import {
  type Account,
  type Dialect,
  type Exchange,
  type GatewayContext,
  GatewayError,
  type JsonObject,
  type RuleSet,
} from '../contract/index.ts'
import { chain, type MaybePromise } from '../util/maybe-promise.ts'
import { nextImmediate } from '../util/next-immediate.ts'
import { jsonBody } from './read-body.ts'
import { sendEventStream } from './sse-body.ts'

/** Creates middleware that parses the body with the dialect and snapshots the caller's account and rules. */
export function createExchangeReader(dialect: Dialect, snapshotCaller: (account: Account) => CallerSnapshot) {
  return (ctx: GatewayContext, next: Next): Promise<void> =>
    chain(createExchange(dialect, jsonBody(ctx), ctx, snapshotCaller(ctx.account)), (exchange) => {
      ctx.exchange = exchange
      return next()
    })
}

/**
 * Creates the last middleware of the chain, which sends the exchange's reply in the client's format. A whole
 * reply bypasses Koa, unless `hasExternalCode`: then it becomes `ctx.body`, which middleware of plugin
 * packages may read or change.
 */
export function createReplySender(dialect: Dialect, hasExternalCode: boolean) {
  return (ctx: GatewayContext): MaybePromise<void> => {
    const { reply, decoration } = ctx.exchange
    if (reply === undefined) {
      const message = 'No plugin produced a reply. Add "dispatch" to the list of plugins.'
      throw new GatewayError('internal_error', message)
    }
    if (decoration !== undefined)
      for (const [name, value] of decoration.headers) ctx.res.setDefaultHeader(name, value)
    if (reply.type === 'stream') sendEventStream(ctx, dialect.writeStream(ctx.exchange, ctx))
    else
      return chain(dialect.writeWhole(ctx.exchange, ctx), (body) =>
        nextImmediate().then(() => sendWhole(ctx, body, hasExternalCode)),
      )
  }
}

function sendWhole(ctx: GatewayContext, body: JsonObject | string, hasExternalCode: boolean): void {
  const isText = typeof body === 'string'
  if (!hasExternalCode) {
    sendJsonText(ctx, isText ? body : JSON.stringify(body))
  } else {
    if (isText) ctx.type = 'json'
    ctx.body = body
  }
}

/** Writes the response directly, bypassing Koa. */
function sendJsonText(ctx: GatewayContext, text: string): void {
  ctx.respond = false
  if (!ctx.writable) return
  ctx.res.setDefaultHeader('content-type', 'application/json; charset=utf-8')
  ctx.res.setDefaultHeader('content-length', String(Buffer.byteLength(text)))
  ctx.res.writeHead(200)
  ctx.res.end(text)
}

/** The caller's account and rules at one point in time. */
export interface CallerSnapshot {
  readonly account: Account
  readonly rules: RuleSet
}

/** The part of a dialect that parses requests. */
export type RequestParser = Pick<Dialect, 'parseRequest' | 'parsePreferences' | 'defaults'>

/**
 * Creates the exchange of a request that no plugin has processed yet. Throws 400 with the invalid parameter.
 */
export function createExchange(
  parser: RequestParser,
  body: JsonObject,
  ctx: GatewayContext,
  { account, rules }: CallerSnapshot,
): MaybePromise<Exchange> {
  return chain(parser.parseRequest(body, ctx), (request) => ({
    id: ctx.requestId,
    account,
    client: ctx.client,
    startedAt: ctx.startedAt,
    rules,
    rulesPosition: Math.max(rules.position, account.position),
    request,
    preferences: parser.parsePreferences?.(body) ?? [],
    defaulted: (parser.defaults ?? []).filter((name) => body[name] === undefined),
    warnings: [],
    trace: [],
    attempts: [],
  }))
}
