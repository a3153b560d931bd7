import type { Next } from 'koa'
import { type Exchange, type GatewayContext, GatewayError, type RuleSet } from '../contract/index.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { bodyOf } from './read-body.ts'
import { sendStream } from './send-stream.ts'

/** Opens the exchange: reads the body as the dialect does and pins the user's rules as they are now. */
export function openExchange(dialect: Dialect, rulesOf: (userId: number) => RuleSet) {
  return async (ctx: GatewayContext, next: Next): Promise<void> => {
    const rules = rulesOf(ctx.account.userId)
    const body = bodyOf(ctx)
    const exchange: Exchange = {
      id: ctx.requestId,
      account: ctx.account,
      signal: ctx.signal,
      startedAt: ctx.startedAt,
      rules,
      rulesPosition: Math.max(rules.position, ctx.account.position),
      request: dialect.readRequest(body),
      preferences: dialect.readPreferences?.(body) ?? [],
      whenEnded: [],
      warnings: [],
      trace: [],
      attempts: [],
    }
    ctx.exchange = exchange
    ctx.res.once('close', () => {
      for (const notify of exchange.whenEnded) notify()
    })
    await next()
  }
}

/** Writes the reply that the plugins left, whole or streamed, in the client's format. */
export function answerIn(dialect: Dialect) {
  return async (ctx: GatewayContext): Promise<void> => {
    const { reply, decoration } = ctx.exchange
    if (reply === undefined) {
      throw new GatewayError('internal_error', 'No plugin answered. List "dispatch" among the plugins.')
    }
    if (decoration !== undefined) ctx.set({ ...decoration.headers })
    if (reply.type === 'stream') sendStream(ctx, dialect.writeStream(ctx.exchange))
    else ctx.body = dialect.writeWhole(ctx.exchange)
  }
}
