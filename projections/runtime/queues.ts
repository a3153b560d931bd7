import { EventLogUnavailableError } from '../../core/contract/index.ts'
import { withTimeout } from '../../core/threads/timeout.ts'

/**
 * Runs tasks with the same key one after the other. See docs/decisions/event-log.md, "Writers queue per
 * stream on a node".
 */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  /**
   * Runs the task after all earlier tasks with the same key have settled. Rejects without running it if the
   * previous task found the event log unavailable.
   */
  run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const result = this.#runAfter(this.#last.get(key), task)
    this.#last.set(key, result)
    const release = () => {
      if (this.#last.get(key) === result) this.#last.delete(key)
    }
    result.then(release, release)
    return result
  }

  async #runAfter<Result>(
    previous: Promise<unknown> | undefined,
    task: () => Promise<Result>,
  ): Promise<Result> {
    await previous?.catch(rethrowIfUnavailable)
    return task()
  }
}

/**
 * While the event log is unavailable, queued tasks fail together: if each one waited for its own timeout, the
 * total would be unbounded. A full disk is different, because a smaller write may still fit.
 */
function rethrowIfUnavailable(error: unknown): void {
  if (!EventLogUnavailableError.isInstance(error) || error.diskFull) return
  throw new EventLogUnavailableError(error.message, { cause: error, transient: true })
}

interface Waiter {
  readonly condition: () => boolean
  readonly resolve: () => void
}

function createTimeoutError(): EventLogUnavailableError {
  return new EventLogUnavailableError('new events were not applied in time')
}

/** Promises that resolve when the projections satisfy a condition. */
export class ConditionWaiters {
  readonly #waiters = new Set<Waiter>()

  /**
   * Resolves when the condition holds. Rejects with `EventLogUnavailableError` after `timeoutMs`, if given.
   */
  async wait(condition: () => boolean, timeoutMs?: number): Promise<void> {
    if (condition()) return
    let waiter: Waiter | undefined
    const applied = new Promise<void>((resolve) => {
      waiter = { condition, resolve }
      this.#waiters.add(waiter)
    })
    try {
      await (timeoutMs === undefined ? applied : withTimeout(applied, timeoutMs, createTimeoutError))
    } finally {
      if (waiter) this.#waiters.delete(waiter)
    }
  }

  /** Evaluates all conditions again. */
  check(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.condition()) continue
      this.#waiters.delete(waiter)
      waiter.resolve()
    }
  }
}
