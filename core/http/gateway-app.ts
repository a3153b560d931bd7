import type { IncomingMessage, ServerResponse } from 'node:http'
import Koa from 'koa'
import type { GatewayContext } from '../contract/index.ts'
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

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const ctx = this.createContext(request, response)
    const koa = this as unknown as Handler
    response.statusCode = 404
    try {
      await this.#handle(ctx as unknown as GatewayContext)
    } catch (error) {
      return koa.handleRequest(ctx, () => Promise.reject(error))
    }
    if (ctx.respond === false) return
    const { statusCode } = response
    return koa.handleRequest(ctx, async () => {
      response.statusCode = statusCode
    })
  }
}
