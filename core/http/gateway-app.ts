import type { IncomingMessage, ServerResponse } from 'node:http'
import Koa from 'koa'
import type { GatewayContext } from '../contract/index.ts'
import { isPromiseLike } from '../util/maybe-promise.ts'
import type { Step } from './steps.ts'

type KoaContext = ReturnType<Koa['createContext']>

/** A method of Koa that its types do not have. */
interface Handler {
  /** Sets the status to 404, calls the middleware, and sends the body or the error. */
  handleRequest(ctx: KoaContext, middleware: () => Promise<void>): Promise<void>
}

/**
 * A Koa application with one step in place of its list of middleware. Koa gets what the step has not sent
 * itself. For the others, which are most inference requests, it would watch the end of the response.
 */
export class GatewayApp extends Koa {
  readonly #handle: Step

  constructor(handle: Step) {
    super()
    this.#handle = handle
  }

  override callback(): ReturnType<Koa['callback']> {
    return (request, response) => this.#respond(request as IncomingMessage, response as ServerResponse)
  }

  #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const ctx = this.createContext(request, response)
    response.statusCode = 404
    try {
      const handled = this.#handle(ctx as unknown as GatewayContext)
      if (!isPromiseLike(handled)) return Promise.resolve(this.#send(ctx))
      return handled.then(
        () => this.#send(ctx),
        (error: unknown) => this.#fail(ctx, error),
      )
    } catch (error) {
      return this.#fail(ctx, error)
    }
  }

  #send(ctx: KoaContext): void | Promise<void> {
    if (ctx.respond === false) return
    const { statusCode } = ctx.res
    const koa = this as unknown as Handler
    return koa.handleRequest(ctx, async () => {
      ctx.res.statusCode = statusCode
    })
  }

  #fail(ctx: KoaContext, error: unknown): Promise<void> {
    const koa = this as unknown as Handler
    return koa.handleRequest(ctx, () => Promise.reject(error))
  }
}
