import type { Next } from 'koa'
import type { Logger } from 'pino'
import type { GatewayContext } from '../contract/index.ts'

/** One line per request when its answer has ended: who asked, what became of it, how long it took. No texts. */
export function logRequests(logger: Logger) {
  return async (ctx: GatewayContext, next: Next): Promise<void> => {
    ctx.res.once('close', () => logger.info(describe(ctx), 'request'))
    await next()
  }
}

function describe(ctx: GatewayContext) {
  // Both are set only once a request came that far.
  const { account, exchange }: Partial<Pick<GatewayContext, 'account' | 'exchange'>> = ctx
  return {
    requestId: ctx.requestId,
    method: ctx.method,
    path: ctx.path,
    status: ctx.signal.aborted ? 'left' : ctx.status,
    ms: Math.round(performance.now() - ctx.startedAt),
    user: account?.userId,
    ...(exchange && {
      provider: exchange.target?.provider,
      model: exchange.target?.model,
      attempts: exchange.attempts.length,
    }),
  }
}
