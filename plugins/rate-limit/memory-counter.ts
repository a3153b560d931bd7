import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { RequestCounter } from './counter.ts'
import { limiterOptions } from './limiter-options.ts'

/** Counts in this process. */
export function createMemoryCounter(windowSeconds: number): RequestCounter {
  const limiter = new RateLimiterMemory(limiterOptions(windowSeconds))
  return {
    async count(userId) {
      const { consumedPoints, msBeforeNext } = await limiter.consume(userId)
      return { used: consumedPoints, resetMs: msBeforeNext }
    },
    close: async () => undefined,
  }
}
