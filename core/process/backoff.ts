/**
 * A delay that doubles from `initialMs` up to `maxMs` with each failure. It is 0 before the first failure.
 */
export class Backoff {
  readonly #initialMs: number
  readonly #maxMs: number
  #delayMs = 0

  constructor(initialMs: number, maxMs: number) {
    this.#initialMs = initialMs
    this.#maxMs = maxMs
  }

  /** Milliseconds to wait before the next attempt. */
  get delayMs(): number {
    return this.#delayMs
  }

  increase(): void {
    this.#delayMs = Math.min(Math.max(this.#delayMs * 2, this.#initialMs), this.#maxMs)
  }

  reset(): void {
    this.#delayMs = 0
  }
}
