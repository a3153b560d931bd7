import Koa from 'koa'

type Run = (ctx: Koa.Context) => Promise<void>

/**
 * Koa without the watch that it keeps over every response, to hear of a socket that breaks: `Client` hears of that, and an answer that is sent
 * past Koa needs nothing else of it. The watch's listeners are a twentieth of the work that a small answer makes.
 */
export class UnwatchedKoa extends Koa {
  /** Koa calls it for every request, with all middleware as one; Koa's types do not know it. */
  handleRequest(ctx: Koa.Context, run: Run): Promise<void> {
    ctx.res.statusCode = 404
    return run(ctx).then(
      () => (ctx.respond === false ? undefined : respond(ctx)),
      (error) => ctx.onerror(error),
    )
  }
}

// What Koa itself does for every request.
const { handleRequest } = Koa.prototype as unknown as Pick<UnwatchedKoa, 'handleRequest'>

/** Koa's own way to send the body that the middleware left, watch and all. It begins with a status of its own. */
function respond(ctx: Koa.Context): Promise<void> {
  const { statusCode } = ctx.res
  return handleRequest.call(ctx.app as UnwatchedKoa, ctx, async () => {
    ctx.res.statusCode = statusCode
  })
}
