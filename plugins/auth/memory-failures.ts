import { LRUCache } from 'lru-cache'
import type { RequestCounter } from '../rate-limit/counter.ts'

/** Of a flood of addresses the latest are remembered: some megabytes at most. */
export const MAX_ADDRESSES = 20_000

/** Counts in this process. A window begins with the first failure of an address. */
export function createMemoryFailures(windowSeconds: number): RequestCounter<string> {
  const failures = new LRUCache<string, { used: number }>({ max: MAX_ADDRESSES, ttl: windowSeconds * 1000 })
  return {
    async count(id) {
      const known = failures.get(id) ?? { used: 0 }
      if (known.used++ === 0) failures.set(id, known)
      return { used: known.used, resetMs: failures.getRemainingTTL(id) }
    },
    close: async () => undefined,
  }
}
