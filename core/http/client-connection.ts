import type { ServerResponse } from 'node:http'
import type { Next } from 'koa'
import type { ClientConnection, GatewayContext } from '../contract/index.ts'
import { newRequestId } from '../util/ids.ts'

/** The client at the other end of a response. */
class HttpClientConnection implements ClientConnection {
  isAborted = false
  #reason: Error | undefined
  #ended = false
  #whenLeft: readonly ((reason: unknown) => void)[] = NOBODY
  #whenEnded: readonly (() => void)[] = NOBODY
  #controller: AbortController | undefined

  constructor(response: ServerResponse) {
    response.once('close', () => this.#end(response.writableFinished))
  }

  onAbort(notify: (reason: unknown) => void): () => void {
    if (this.isAborted) notify(this.#reason)
    else this.#whenLeft = [...this.#whenLeft, notify]
    return () => {
      this.#whenLeft = this.#whenLeft.filter((other) => other !== notify)
    }
  }

  onClose(notify: () => void): void {
    if (this.#ended) notify()
    else this.#whenEnded = [...this.#whenEnded, notify]
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.isAborted) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  #end(finished: boolean): void {
    this.#ended = true
    if (!finished) {
      this.isAborted = true
      this.#reason = new Error('the client left')
      this.#controller?.abort(this.#reason)
      for (const notify of this.#whenLeft) notify(this.#reason)
    }
    for (const notify of this.#whenEnded) notify()
  }
}

/** Shared, for most lists are empty or have one entry for a moment. */
const NOBODY: readonly [] = []

/** Gives every request its id, and watches whether its client waits for the end of the answer. */
export function identifyRequest(ctx: GatewayContext, next: Next): Promise<void> {
  const requestId = newRequestId()
  Object.assign(ctx, { requestId, startedAt: performance.now(), client: new HttpClientConnection(ctx.res) })
  ctx.res.setDefaultHeader('x-request-id', requestId)
  return next()
}
