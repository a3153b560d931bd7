import { GatewayError } from '../../core/contract/errors.ts'
import type { ClientConnection } from '../../core/contract/exchange.ts'

/**
 * One call's patience: as long as the client is there, and within the provider's time limits. One timer serves the whole call; to
 * expect more only moves it.
 */
export class CallDeadline {
  /** Why the call was broken off: the client's reason, or a `provider_timeout`. */
  aborted: { readonly reason: unknown } | undefined
  readonly #provider: string
  readonly #breakOff: (reason: unknown) => void
  readonly #stopListening: (() => void) | undefined
  #waiting = true
  #limit: number
  #timer: NodeJS.Timeout

  /** Starts the wait for a provider's first sign; `breakOff` is called when it was in vain, at once when the client has left. */
  constructor(
    provider: string,
    client: ClientConnection,
    firstMs: number,
    breakOff: (reason: unknown) => void,
  ) {
    this.#provider = provider
    this.#breakOff = breakOff
    this.#limit = firstMs
    this.#timer = setTimeout(onTimeout, firstMs, this)
    this.#stopListening = client.onAbort((reason) => this.#cancel(reason))
  }

  /** From now on the provider has `ms` to send something. */
  extend(ms: number): void {
    this.#waiting = true
    if (ms === this.#limit) {
      this.#timer.refresh()
    } else {
      clearTimeout(this.#timer)
      this.#limit = ms
      this.#timer = setTimeout(onTimeout, ms, this)
    }
  }

  /** We are not waiting for the provider: until the next `expect` no limit counts. */
  pause(): void {
    this.#waiting = false
  }

  /** The call is over, and its connection may serve another. */
  end(): void {
    this.#waiting = false
    clearTimeout(this.#timer)
    this.#stopListening?.()
  }

  /** The time is up. */
  expire(): void {
    if (!this.#waiting) return
    this.#cancel(new GatewayError('provider_timeout', `${this.#provider} did not answer in time.`))
  }

  #cancel(reason: unknown): void {
    this.end()
    this.aborted = { reason }
    this.#breakOff(reason)
  }
}

function onTimeout(watch: CallDeadline): void {
  watch.expire()
}
