import type { Next } from 'koa'
import { type Account, type Dialect, type GatewayContext, GatewayError } from '../contract/index.ts'
import { createExchange, type Pinned } from './exchange.ts'
import { bodyOf } from './read-body.ts'
import { sendStream } from './send-stream.ts'

/** Opens the exchange: reads the body as the dialect does and pins the user's rules as they are now. */
export function openExchange(dialect: Dialect, pin: (account: Account) => Pinned) {
  return async (ctx: GatewayContext, next: Next): Promise<void> => {
    ctx.exchange = await createExchange(dialect, bodyOf(ctx), ctx, pin(ctx.account))
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
    if (decoration !== undefined)
      for (const [name, value] of decoration.headers) ctx.res.setHeader(name, value)
    if (reply.type === 'stream') sendStream(ctx, dialect.writeStream(ctx.exchange, ctx))
    else ctx.body = await dialect.writeWhole(ctx.exchange, ctx)
  }
}
