import { EventLogUnavailableError } from '../core/contract/index.ts'

interface Waiter {
  readonly condition: () => boolean
  readonly resolve: () => void
}

/** Those who wait until the projections show something. */
export class ConditionWaiters {
  readonly #waiting = new Set<Waiter>()

  /** Resolves when the condition holds; rejects with `LogUnavailable` after `patience` milliseconds, if there is a limit. */
  async wait(condition: () => boolean, patience?: number): Promise<void> {
    if (condition()) return
    let timer: NodeJS.Timeout | undefined
    let waiter: Waiter | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        waiter = { condition, resolve }
        this.#waiting.add(waiter)
        if (patience === undefined) return
        timer = setTimeout(
          () => reject(new EventLogUnavailableError('the event log is slow to be followed')),
          patience,
        )
      })
    } finally {
      clearTimeout(timer)
      if (waiter) this.#waiting.delete(waiter)
    }
  }

  /** Looks at every condition again. */
  look(): void {
    for (const waiter of this.#waiting) {
      if (!waiter.condition()) continue
      this.#waiting.delete(waiter)
      waiter.resolve()
    }
  }
}
