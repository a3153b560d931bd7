import type { ServerResponse } from 'node:http'
import {
  type ClientConnection,
  type ClientSession,
  type GatewayContext,
  GatewayError,
} from '../contract/index.ts'
import { newRequestId } from '../util/ids.ts'
import type { ResponseClient } from './incomplete-response.ts'
import { MessageRequest } from './message-request.ts'
import { RequestWaits } from './own-time.ts'

/** The client of a request, or what stands in for one, that the gateway can end. */
interface InterruptibleClient {
  interrupt(error: GatewayError): void
}

/**
 * The requests of a process and their copies, until they are recorded and their costs counted. See
 * docs/decisions/http.md, "A shutdown interrupts requests before it closes anything".
 */
export class RequestsInFlight {
  readonly #clients = new Set<InterruptibleClient>()
  #interruption: GatewayError | undefined
  #waiting: (() => void)[] = []

  get size(): number {
    return this.#clients.size
  }

  add(client: InterruptibleClient): void {
    this.#clients.add(client)
    if (this.#interruption !== undefined) client.interrupt(this.#interruption)
  }

  delete(client: unknown): void {
    this.#clients.delete(client as InterruptibleClient)
    if (this.#clients.size === 0) for (const notify of this.#waiting.splice(0)) notify()
  }

  /**
   * Cancels what the requests wait for, also of those that arrive later. Their clients get an error, in
   * streams as the last record.
   */
  interrupt(): void {
    if (this.#interruption !== undefined) return
    const message = 'The gateway is shutting down and cannot complete the request. Try again.'
    this.#interruption = new GatewayError('shutting_down', message, { retryAfter: 1 })
    for (const client of this.#clients) client.interrupt(this.#interruption)
  }

  /** Resolves with the number of requests that have not ended after `timeoutMs`. */
  async untilEnded(timeoutMs: number): Promise<number> {
    let timer: NodeJS.Timeout | undefined
    if (this.#clients.size > 0)
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, timeoutMs)
        this.#waiting.push(resolve)
      })
    clearTimeout(timer)
    return this.#clients.size
  }
}

/** What a request has from the beginning. */
type Identity = {
  -readonly [Field in 'requestId' | 'startedAt' | 'client']: GatewayContext[Field]
}

/** Assigns the request id and the start time, and tracks whether the client disconnects early. */
export function identifyRequests(requests: Pick<RequestsInFlight, 'add'>) {
  return (ctx: GatewayContext): void => {
    const client = new HttpClientConnection(ctx.res)
    if (ctx.req instanceof MessageRequest) client.session = ctx.req.session
    const identified: Identity = ctx
    identified.requestId = newRequestId()
    identified.startedAt = performance.now()
    identified.client = client
    ctx.res.setDefaultHeader('x-request-id', ctx.requestId)
    requests.add(client)
  }
}

/** Shared by all connections: most never have a listener, or have one briefly. */
const NO_LISTENERS: readonly [] = []

/**
 * The client connection behind an HTTP response. See docs/decisions/http.md, "Client disconnects are tracked
 * by an object of our own, not an AbortSignal".
 */
class HttpClientConnection implements ClientConnection, ResponseClient {
  isAborted = false
  readonly waiting = new RequestWaits()
  session: ClientSession | undefined
  /** Why what the request waits for was cancelled: the client disconnected, or the gateway is ending. */
  #reason: Error | undefined
  #isClosed = false
  #abortListeners: readonly ((reason: unknown) => void)[] = NO_LISTENERS
  #closeListeners: readonly (() => void)[] = NO_LISTENERS
  #controller: AbortController | undefined

  constructor(response: ServerResponse & { client?: ResponseClient | undefined }) {
    response.client = this
    // Not `once`, which takes more; the second time has no effect.
    response.on('close', endClient)
  }

  onAbort(notify: (reason: unknown) => void): () => void {
    if (this.#reason !== undefined) notify(this.#reason)
    else this.#abortListeners = [...this.#abortListeners, notify]
    return () => {
      this.#abortListeners = this.#abortListeners.filter((other) => other !== notify)
    }
  }

  onClose(notify: () => void): void {
    if (this.#isClosed) notify()
    else this.#closeListeners = [...this.#closeListeners, notify]
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  /** Cancels what the request waits for, as if the client had disconnected. The client gets the error. */
  interrupt(error: GatewayError): void {
    if (!this.#isClosed) this.#abort(error)
  }

  #abort(reason: Error): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(reason)
    for (const notify of this.#abortListeners) callListener(() => notify(reason))
  }

  end(isFinished: boolean): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (!isFinished) {
      this.isAborted = true
      this.#abort(new Error('client disconnected'))
    }
    for (const notify of this.#closeListeners) callListener(notify)
    // Former tables of the set of requests in flight keep this object until a collection of all garbage.
    this.#abortListeners = NO_LISTENERS
    this.#closeListeners = NO_LISTENERS
  }
}

/** The listener of all responses. */
function endClient(this: ServerResponse & { readonly client: ResponseClient }): void {
  this.client.end(this.writableFinished)
}

/** If a listener of a plugin throws, the others are called; the error then ends the process in order. */
function callListener(notify: () => void): void {
  try {
    notify()
  } catch (error) {
    setImmediate(() => {
      throw error
    })
  }
}
