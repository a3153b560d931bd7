import type { MaybePromise } from '../../core/util/maybe-promise.ts'

/**
 * Counts the requests of each user in windows; a window begins with a user's first request after the last one ended. What is counted,
 * and under which ids, is up to whoever asks.
 */
export interface RequestCounter<Id extends number | string = number> {
  /** Counts one request. Rejects when the store is away: nobody knows then whether it was counted. */
  count(id: Id): MaybePromise<RequestCount>
  close(): Promise<void>
}

export interface RequestCount {
  /** Requests in this window, this one and refused ones included. */
  readonly used: number
  /** Milliseconds until the window ends. */
  readonly resetMs: number
}

/** Limits are per minute. */
export const WINDOW_SECONDS = 60

interface Window {
  used: number
  /** By `performance.now()`. */
  endsAt: number
}

/** Counts in this process, at once; there are never more windows than users. */
export function createMemoryCounter(
  windowSeconds: number,
): RequestCounter & { count(userId: number): RequestCount } {
  const windows = new Map<number, Window>()
  return {
    count(userId) {
      const now = performance.now()
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
