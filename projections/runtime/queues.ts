import { EventLogUnavailableError } from '../../core/contract/index.ts'

/** Tasks that wait for each other when they have a name in common. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs the task when those before it have ended. */
  run<Result>(name: string, task: () => Promise<Result>): Promise<Result> {
    const result = this.#run(this.#last.get(name), task)
    this.#last.set(name, result)
    const leave = () => {
      if (this.#last.get(name) === result) this.#last.delete(name)
    }
    result.then(leave, leave)
    return result
  }

  async #run<Result>(before: Promise<unknown> | undefined, task: () => Promise<Result>): Promise<Result> {
    await before?.catch(failAlike)
    return task()
  }
}

/** While the log is away, each waiting for an answer of its own would add up to no bound at all. */
function failAlike(error: unknown): void {
  if (!EventLogUnavailableError.isInstance(error) || error.diskFull) return
  throw new EventLogUnavailableError(error.message, { cause: error, transient: true })
}

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
  check(): void {
    for (const waiter of this.#waiting) {
      if (!waiter.condition()) continue
      this.#waiting.delete(waiter)
      waiter.resolve()
    }
  }
}
