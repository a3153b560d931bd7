import type { RequestCount, RequestCounter } from './counter.ts'

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
