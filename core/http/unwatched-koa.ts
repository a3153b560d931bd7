import Koa from 'koa'

type Run = (ctx: Koa.Context) => Promise<void>

/**
 * Skips Koa's per-response `on-finished` listeners for responses that bypass Koa (`ctx.respond = false`);
 * `ClientConnection` already tracks disconnects. Together, the listeners account for about
 * 5% of the cost of a small response.
 */
export class UnwatchedKoa extends Koa {
  /** Called by Koa for every request with the composed middleware. The method is missing from Koa's types. */
  handleRequest(ctx: Koa.Context, run: Run): Promise<void> {
    ctx.res.statusCode = 404
    return run(ctx).then(
      () => (ctx.respond === false ? undefined : respondWithKoa(ctx)),
      (error) => ctx.onerror(error),
    )
  }
}

/** Koa's own method, which adds the listeners, runs the middleware and sends the body. */
const { handleRequest } = Koa.prototype as unknown as Pick<UnwatchedKoa, 'handleRequest'>

/** Sends the body that the middleware has set. Restores the status, because Koa's method resets it to 404. */
function respondWithKoa(ctx: Koa.Context): Promise<void> {
  const { statusCode } = ctx.res
  return handleRequest.call(ctx.app as UnwatchedKoa, ctx, async () => {
    ctx.res.statusCode = statusCode
  })
}
