import { GatewayError } from '../../core/contract/errors.ts'
import type { ClientConnection } from '../../core/contract/exchange.ts'

/**
 * Aborts one provider call when the client disconnects or the provider exceeds a time limit. The call uses a
 * single timer; extending the deadline only resets it.
 */
export class CallDeadline {
  /**
   * Why the call was aborted: the client's reason, or a `provider_timeout` error. Undefined if it was not.
   */
  aborted: { readonly reason: unknown } | undefined
  readonly #provider: string
  readonly #abort: (reason: unknown) => void
  readonly #unsubscribe: (() => void) | undefined
  #isRunning = true
  #limitMs: number
  #controller: AbortController | undefined
  #timer: NodeJS.Timeout

  /**
   * Gives the provider `firstByteMs` to respond. Calls `abort` at most once, or immediately if the client has
   * already disconnected.
   */
  constructor(
    provider: string,
    client: ClientConnection,
    firstByteMs: number,
    abort: (reason: unknown) => void,
  ) {
    this.#provider = provider
    this.#abort = abort
    this.#limitMs = firstByteMs
    this.#timer = setTimeout(onTimeout, firstByteMs, this)
    this.#unsubscribe = client.onAbort((reason) => this.#cancel(reason))
  }

  /** Aborts with the call. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.aborted !== undefined) this.#controller.abort(this.aborted.reason)
    return this.#controller.signal
  }

  /** Gives the provider `ms` from now to send something. */
  extend(ms: number): void {
    this.#isRunning = true
    if (ms === this.#limitMs) {
      this.#timer.refresh()
    } else {
      clearTimeout(this.#timer)
      this.#limitMs = ms
      this.#timer = setTimeout(onTimeout, ms, this)
    }
  }

  /** Suspends the time limit until the next `extend`, while the gateway is not waiting for the provider. */
  pause(): void {
    this.#isRunning = false
  }

  /** Ends the call: the timer is cleared, and a disconnecting client no longer aborts it. */
  end(): void {
    this.#isRunning = false
    clearTimeout(this.#timer)
    this.#unsubscribe?.()
  }

  /** Called by the timer. Aborts the call with `provider_timeout` unless the deadline is paused. */
  expire(): void {
    if (!this.#isRunning) return
    this.#cancel(new GatewayError('provider_timeout', `${this.#provider} did not respond in time.`))
  }

  #cancel(reason: unknown): void {
    this.end()
    this.aborted = { reason }
    this.#controller?.abort(reason)
    this.#abort(reason)
  }
}

function onTimeout(deadline: CallDeadline): void {
  deadline.expire()
}
