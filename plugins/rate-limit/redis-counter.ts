import type { Logger } from 'pino'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { RequestCounter } from './counter.ts'
import { openRedis } from './redis.ts'

export interface RedisCounterOptions {
  /** May hold a password. */
  readonly url: string
  /** How long a request waits for an answer of Redis. */
  readonly timeoutMs: number
  readonly windowSeconds: number
  /** Before the ids, so that other things can be counted in the same Redis. */
  readonly prefix?: string
}

/** Counts in Redis, for all processes that share it. Resolves when Redis is there, or has failed to answer once. */
export async function openRedisCounter(
  options: RedisCounterOptions,
  logger: Logger,
): Promise<RequestCounter<number | string>> {
  const redis = await openRedis(options.url, options.timeoutMs, logger)
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: options.prefix ?? 'signalbox:requests',
    duration: options.windowSeconds,
    // It only counts: limits differ by user and change at any time, so they are compared with the count.
    points: Number.MAX_SAFE_INTEGER,
  })
  return {
    async count(id) {
      const { consumedPoints, msBeforeNext } = await limiter.consume(id)
      return { used: consumedPoints, resetMs: msBeforeNext }
    },
    async close() {
      // Who closes the connection need not be told that it is closed.
      redis.removeAllListeners('close')
      redis.disconnect()
    },
  }
}
