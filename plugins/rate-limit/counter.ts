import type { MaybePromise } from '../../core/util/maybe-promise.ts'

/**
 * Counts requests per id in fixed windows. A window starts with the first request of an id after its previous
 * window has ended. Callers choose what the ids stand for.
 */
export interface RequestCounter<Id extends number | string = number> {
  /**
   * Counts one request. Rejects if the store is unavailable; the request may or may not have been counted
   * then.
   */
  count(id: Id): MaybePromise<RequestCount>
  close(): Promise<void>
}

export interface RequestCount {
  /** Requests in the current window, including this one and refused ones. */
  readonly used: number
  /** Milliseconds until the window ends. */
  readonly resetMs: number
}

/** Limits are per minute. See docs/decisions/limits.md, "A minute is counted from a user's first request". */
export const WINDOW_SECONDS = 60

interface Window {
  used: number
  /** A `performance.now()` timestamp. */
  endsAt: number
}

/** Counts in this process, synchronously. Keeps one window per user, for the life of the process. */
export function createMemoryCounter(
  windowSeconds: number,
): RequestCounter & { count(userId: number): RequestCount } {
  const windows = new Map<number, Window>()
  return {
    count(userId) {
      // Whole milliseconds, so that the difference of two times is exact.
      const now = Math.floor(performance.now())
      let window = windows.get(userId)
      if (window === undefined) {
        window = { used: 0, endsAt: 0 }
        windows.set(userId, window)
      }
      if (now >= window.endsAt) {
        window.used = 0
        window.endsAt = now + windowSeconds * 1000
      }
      window.used++
      return { used: window.used, resetMs: window.endsAt - now }
    },
    close: async () => undefined,
  }
}
