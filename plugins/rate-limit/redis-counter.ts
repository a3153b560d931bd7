import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { RequestCounter } from './counter.ts'

export interface RedisCounterOptions {
  /** May contain a password. */
  readonly url: string
  /** How long `count` waits for Redis. */
  readonly timeoutMs: number
  readonly windowSeconds: number
  /**
   * The prefix of the Redis keys, which separates counters in the same Redis. Default: `signalbox:requests`.
   */
  readonly prefix?: string
}

/**
 * Counts in Redis, shared by all processes that use the same Redis. Resolves after the first connection
 * attempt, even if it failed.
 */
export async function openRedisCounter(
  options: RedisCounterOptions,
  logger: Logger,
): Promise<RequestCounter<number | string>> {
  const redis = await openRedis(options.url, options.timeoutMs, logger)
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: options.prefix ?? 'signalbox:requests',
    duration: options.windowSeconds,
    // The limiter only counts. Limits differ by user and can change at any time, so callers compare the
    // count.
    points: Number.MAX_SAFE_INTEGER,
  })
  return {
    async count(id) {
      const { consumedPoints, msBeforeNext } = await limiter.consume(id)
      return { used: consumedPoints, resetMs: msBeforeNext }
    },
    async close() {
      // An intentional disconnect must not be logged as an outage.
      redis.removeAllListeners('close')
      redis.disconnect()
    },
  }
}

/** The backoff between connection attempts. Attempts are unlimited. */
const RECONNECT_BACKOFF_MS = { step: 100, max: 2000 }

const CONNECT_TIMEOUT_MS = 2000

/** A connection without a response for this many command timeouts is replaced. */
const SOCKET_TIMEOUT_FACTOR = 4

/**
 * Connects to Redis and reconnects whenever the connection is lost. Commands reject immediately without a
 * connection, and after `timeoutMs` without a response. Resolves after the first attempt, also a failed one.
 */
async function openRedis(url: string, timeoutMs: number, logger: Logger): Promise<Redis> {
  const redis = new Redis(url, {
    connectionName: 'signalbox',
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: timeoutMs,
    socketTimeout: timeoutMs * SOCKET_TIMEOUT_FACTOR,
    // Better not to count a request than to delay it until Redis is available again or to count it twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * RECONNECT_BACKOFF_MS.step, RECONNECT_BACKOFF_MS.max),
  })
  logAvailability(redis, logger)
  await new Promise<void>((resolve) => {
    redis.once('ready', resolve)
    redis.once('close', resolve)
  })
  return redis
}

/**
 * Logs once when Redis becomes unavailable and once when it is available again. Logs only error messages,
 * because the `command` property of an error contains the password.
 */
function logAvailability(redis: Redis, logger: Logger): void {
  let isAvailable = true
  let reason = 'connection closed'
  redis.on('error', (error: Error) => {
    reason = error.message
  })
  redis.on('close', () => {
    if (isAvailable) logger.warn({ reason }, 'redis unavailable; requests are not counted')
    isAvailable = false
  })
  redis.on('ready', () => {
    if (!isAvailable) logger.info('redis available again')
    isAvailable = true
  })
}
