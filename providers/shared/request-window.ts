/** Requests and failures of a period. */
export interface RequestCounts {
  readonly requests: number
  readonly failures: number
}

const NONE: RequestCounts = { requests: 0, failures: 0 }

/**
 * Counts the requests of about the last `windowMs` milliseconds. The window moves in steps of half its
 * length, so that it needs no list of requests.
 */
export class RequestWindow {
  readonly #halfMs: number
  #startedAt: number
  #current = { ...NONE }
  #previous = NONE

  constructor(windowMs: number, now: number) {
    this.#halfMs = windowMs / 2
    this.#startedAt = now
  }

  add(isFailure: boolean, now: number): void {
    this.#move(now)
    this.#current.requests++
    if (isFailure) this.#current.failures++
  }

  read(now: number): RequestCounts {
    this.#move(now)
    return {
      requests: this.#current.requests + this.#previous.requests,
      failures: this.#current.failures + this.#previous.failures,
    }
  }

  #move(now: number): void {
    const halves = Math.floor((now - this.#startedAt) / this.#halfMs)
    if (halves < 1) return
    this.#previous = halves === 1 ? this.#current : NONE
    this.#current = { ...NONE }
    this.#startedAt += halves * this.#halfMs
  }
}
