import Koa from 'koa'
import type { Logger } from 'pino'
import { GatewayError } from '../../core/contract/index.ts'
import { formatError } from '../../core/http/errors.ts'
import { type Listener, listen } from '../../core/http/server/hardened-server.ts'
import type { SharedPorts } from './ports.ts'

/** How soon ports that the last worker has not released yet are tried again, in milliseconds. */
const RETRY_MS = 20

/**
 * Answers for the workers while none serves. See docs/decisions/cluster.md, "The primary answers while no
 * worker serves".
 */
export class Standby {
  readonly #logger: Logger
  #opening: Promise<readonly Listener[]> | undefined

  constructor(logger: Logger) {
    this.#logger = logger
  }

  open({ host, port, routePort }: SharedPorts): void {
    if (this.#opening !== undefined) return
    this.#logger.error('no worker serves; answering with 503')
    const app = createStandbyApp()
    this.#opening = Promise.all([port, routePort].map((each) => this.#listen(app, host, each))).then(
      (listeners) => listeners.filter((listener) => listener !== undefined),
    )
  }

  /** Releases the ports for a worker. */
  async close(): Promise<void> {
    const opening = this.#opening
    this.#opening = undefined
    for (const listener of (await opening) ?? []) await listener.stop(0)
  }

  /** Resolves to undefined if the port is not needed any more. */
  async #listen(app: Koa, host: string, port: number): Promise<Listener | undefined> {
    do {
      try {
        return await listen(app, host, port, { logger: this.#logger })
      } catch {
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    } while (this.#opening !== undefined)
    return undefined
  }
}

function createStandbyApp(): Koa {
  const message = 'The gateway is starting again after a failure. Try again.'
  const error = new GatewayError('no_worker', message, { retryAfter: 1 })
  const app = new Koa()
  app.use((ctx) => {
    const style = ctx.path.startsWith('/v1/messages') ? 'anthropic' : 'openai'
    ctx.status = error.status
    ctx.set({ connection: 'close', 'retry-after': '1', 'x-error-code': error.code })
    ctx.body = formatError(error, style)
  })
  return app
}
