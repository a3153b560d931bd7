/** Runs a few tasks at a time. Others wait for their turn, first come, first served. */
export class TurnQueue {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  readonly #waiting = new Set<() => void>()
  #running = 0

  constructor(maxRunning: number, maxWaiting: number) {
    this.#maxRunning = maxRunning
    this.#maxWaiting = maxWaiting
  }

  /**
   * Runs a task when it is its turn. Returns undefined if too many wait; the promise rejects with the
   * signal's reason if it aborts before the turn.
   */
  run<Result>(task: () => Promise<Result>, signal: AbortSignal): Promise<Result> | undefined {
    if (this.#running < this.#maxRunning) {
      this.#running += 1
      return this.#runNow(task)
    }
    if (this.#waiting.size >= this.#maxWaiting) return undefined
    return this.#takeTurn(signal).then(() => this.#runNow(task))
  }

  async #runNow<Result>(task: () => Promise<Result>): Promise<Result> {
    try {
      return await task()
    } finally {
      const [next] = this.#waiting
      if (next === undefined) this.#running -= 1
      else next()
    }
  }

  /** Resolves when a task that has ended passes its place on. */
  async #takeTurn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const start = () => {
        this.#waiting.delete(start)
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        this.#waiting.delete(start)
        reject(signal.reason)
      }
      this.#waiting.add(start)
      signal.addEventListener('abort', leave, { once: true })
    })
  }
}
