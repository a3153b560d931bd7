import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { RequestCounter } from './counter.ts'

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

/** Between two tries to connect, in milliseconds. It is tried for ever. */
const RETRY_MS = { step: 100, most: 2000 }

const CONNECT_MS = 2000

/** A connection that answers nothing for so many command timeouts is given up for a new one. */
const SILENT_TIMEOUTS = 4

/**
 * Connects to Redis, and again whenever it was lost. Commands reject at once while it is away, and after `timeoutMs` when it
 * does not answer. Resolves after the first try, whatever came of it.
 */
export async function openRedis(url: string, timeoutMs: number, logger: Logger): Promise<Redis> {
  const redis = new Redis(url, {
    connectionName: 'signalbox',
    connectTimeout: CONNECT_MS,
    commandTimeout: timeoutMs,
    socketTimeout: timeoutMs * SILENT_TIMEOUTS,
    // A request that waits for Redis to come back, or is counted twice, is worse than one that is not counted.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (tries) => Math.min(tries * RETRY_MS.step, RETRY_MS.most),
  })
  reportAbsence(redis, logger)
  await new Promise<void>((resolve) => {
    redis.once('ready', resolve)
    redis.once('close', resolve)
  })
  return redis
}

/** One line when Redis goes and one when it is back. Only messages: an error's command would show the password. */
function reportAbsence(redis: Redis, logger: Logger): void {
  let isAway = false
  let reason = 'the connection was closed'
  redis.on('error', (error: Error) => {
    reason = error.message
  })
  redis.on('close', () => {
    if (!isAway) logger.warn({ reason }, 'Redis is away: requests are not counted until it is back')
    isAway = true
  })
  redis.on('ready', () => {
    if (isAway) logger.info('Redis is back')
    isAway = false
  })
}
