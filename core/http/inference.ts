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

/** Opens the exchange: reads the body as the dialect does and pins the user's rules as they are now. */
export function createExchangeReader(dialect: Dialect, pin: (account: Account) => CallerSnapshot) {
  return (ctx: GatewayContext, next: Next): Promise<void> =>
    chain(createExchange(dialect, jsonBody(ctx), ctx, pin(ctx.account)), (exchange) => {
      ctx.exchange = exchange
      return next()
    })
}

/**
 * Writes the reply that the plugins left, whole or streamed, in the client's format. What is whole is sent from here, past Koa, unless
 * something of a plugin package may want to see it or change it first.
 */
export function createReplySender(dialect: Dialect, isWatched: boolean) {
  return (ctx: GatewayContext): MaybePromise<void> => {
    const { reply, decoration } = ctx.exchange
    if (reply === undefined) {
      throw new GatewayError('internal_error', 'No plugin answered. List "dispatch" among the plugins.')
    }
    if (decoration !== undefined)
      for (const [name, value] of decoration.headers) ctx.res.setDefaultHeader(name, value)
    if (reply.type === 'stream') sendEventStream(ctx, dialect.writeStream(ctx.exchange, ctx))
    else
      return chain(dialect.writeWhole(ctx.exchange, ctx), (answer) =>
        nextImmediate().then(() => sendWhole(ctx, answer, isWatched)),
      )
  }
}

function sendWhole(ctx: GatewayContext, answer: JsonObject | string, isWatched: boolean): void {
  const isText = typeof answer === 'string'
  if (!isWatched) {
    sendText(ctx, isText ? answer : JSON.stringify(answer))
  } else {
    if (isText) ctx.type = 'json'
    ctx.body = answer
  }
}

function sendText(ctx: GatewayContext, text: string): void {
  ctx.respond = false
  if (!ctx.writable) return
  ctx.res.setDefaultHeader('content-type', 'application/json; charset=utf-8')
  ctx.res.setDefaultHeader('content-length', String(Buffer.byteLength(text)))
  ctx.res.writeHead(200)
  ctx.res.end(text)
}

/** Who asks, and by which rules, at one moment. */
export interface CallerSnapshot {
  readonly account: Account
  readonly rules: RuleSet
}

/** What of a dialect is about requests. */
export type RequestParser = Pick<Dialect, 'parseRequest' | 'parsePreferences' | 'defaults'>

/** The exchange of a request that nobody has looked at yet. Throws 400 naming the parameter at fault. */
export function createExchange(
  reader: RequestParser,
  body: JsonObject,
  ctx: GatewayContext,
  { account, rules }: CallerSnapshot,
): MaybePromise<Exchange> {
  return chain(reader.parseRequest(body, ctx), (request) => ({
    id: ctx.requestId,
    account,
    client: ctx.client,
    startedAt: ctx.startedAt,
    rules,
    rulesPosition: Math.max(rules.position, account.position),
    request,
    preferences: reader.parsePreferences?.(body) ?? [],
    defaulted: (reader.defaults ?? []).filter((name) => body[name] === undefined),
    warnings: [],
    trace: [],
    attempts: [],
  }))
}
