import type { Next } from 'koa'
import type { GatewayContext } from '../contract/index.ts'
import { newId } from '../ids.ts'

/** Gives every request its id and a signal that aborts when the client leaves before the answer ended. */
export async function identify(ctx: GatewayContext, next: Next): Promise<void> {
  const requestId = newId('req_')
  const leaving = new AbortController()
  Object.assign(ctx, { requestId, startedAt: performance.now(), signal: leaving.signal })
  ctx.set('x-request-id', requestId)
  ctx.res.once('close', () => {
    if (!ctx.res.writableFinished) leaving.abort(new Error('the client left'))
  })
  await next()
}
