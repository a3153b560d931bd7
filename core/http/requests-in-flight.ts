import { GatewayError } from '../contract/index.ts'

/** The client of a request, or what stands in for one, that the gateway can end. */
export interface InterruptibleClient {
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
