import type { Next } from 'koa'
import type { GatewayContext } from '../contract/index.ts'
import { newRequestId } from '../ids.ts'
import { HttpClientConnection } from './presence.ts'

/** Gives every request its id, and watches whether its client waits for the end of the answer. */
export function identify(ctx: GatewayContext, next: Next): Promise<void> {
  const requestId = newRequestId()
  Object.assign(ctx, { requestId, startedAt: performance.now(), client: new HttpClientConnection(ctx.res) })
  ctx.res.setDefaultHeader('x-request-id', requestId)
  return next()
}
