import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { type MaybePromise, SharedStateUnavailableError } from '../contract/index.ts'
import { createRedisReservations, type ReservationRedis } from './redis-reservations.ts'
import { buildReservationScripts } from './redis-scripts.ts'
import { NotSentError } from './reservations.ts'
import {
  type SharedCounters,
  type SharedSets,
  type SharedState,
  type SharedStore,
  WINDOW_TOLERANCE_MS,
} from './shared-state.ts'

interface RedisOptions {
  /** May contain a password. */
  readonly url: string
  /** How long a command waits for Redis. */
  readonly timeoutMs: number
}

/**
 * Keeps counters, reservations and records in Redis, shared by all processes that use the same Redis.
 * Resolves after the first connection attempt, even if it failed.
 */
export async function openRedisSharedState(
  { url, timeoutMs }: RedisOptions,
  logger: Logger,
): Promise<SharedState> {
  const { redis, run } = await openRedis(url, timeoutMs, logger)
  return {
    counters: (namespace) => createRedisCounters(redis, `signalbox:${namespace}:`),
    reservations: (namespace) =>
      createRedisReservations(redis, { prefix: `signalbox:${namespace}:`, run, rejectUnavailable }),
    store: (namespace) => createRedisStore(redis, `signalbox:${namespace}:`),
    sets: (namespace) => createRedisSets(redis, `signalbox:${namespace}:`),
    async close() {
      // An intentional disconnect must not be logged as an outage.
      redis.removeAllListeners('close')
      redis.disconnect()
    },
  }
}

/**
 * Returns the new total and the milliseconds until the window ends. A key without an expiry gets one. See
 * docs/decisions/limits.md, "One script counts in Redis".
 */
const ADD_TO_COUNTER = `
local total = redis.call('INCRBYFLOAT', KEYS[1], ARGV[1])
local reset = redis.call('PTTL', KEYS[1])
if reset < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  reset = tonumber(ARGV[2])
end
local time = redis.call('TIME')
return { total, reset, time[1] * 1000 + math.floor(time[2] / 1000) + reset }`

/** Subtracts from a counter if its window ends when it did, up to a deviation. */
const GIVE_BACK = `
local time = redis.call('TIME')
local reset = redis.call('PTTL', KEYS[1])
local finish = time[1] * 1000 + math.floor(time[2] / 1000) + reset
if reset > 0 and math.abs(finish - tonumber(ARGV[2])) < tonumber(ARGV[3]) then
  redis.call('INCRBYFLOAT', KEYS[1], -tonumber(ARGV[1]))
end`

const ADD_TO_SET = `
for index = 2, #ARGV do redis.call('SADD', KEYS[1], ARGV[index]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return redis.call('SMEMBERS', KEYS[1])`

/** A client with all scripts as commands. */
interface CounterRedis extends ReservationRedis {
  addToCounter(
    key: string,
    amount: number,
    windowMs: number,
  ): Promise<[total: string, resetMs: number, window: number]>
  giveBackToCounter(key: string, amount: number, window: number, toleranceMs: number): Promise<unknown>
  addToSet(key: string, ttlMs: number, ...texts: string[]): Promise<string[]>
}

function createRedisCounters(redis: CounterRedis, prefix: string): SharedCounters {
  return {
    async add(key, amount, windowSeconds) {
      const windowMs = Math.ceil(windowSeconds * 1000)
      const [total, resetMs, window] = await redis
        .addToCounter(prefix + key, amount, windowMs)
        .catch(rejectUnavailable)
      return { total: Number(total), resetMs, window }
    },
    async giveBack(key, amount, window) {
      await redis
        .giveBackToCounter(prefix + key, amount, window, WINDOW_TOLERANCE_MS)
        .catch(rejectUnavailable)
    },
    async read(key) {
      const [total, resetMs] = await Promise.all([redis.get(prefix + key), redis.pttl(prefix + key)]).catch(
        rejectUnavailable,
      )
      return { total: Number(total ?? 0), resetMs: Math.max(resetMs, 0) }
    },
  }
}

function createRedisStore(redis: Redis, prefix: string): SharedStore {
  return {
    get: async (key) => (await redis.get(prefix + key).catch(rejectUnavailable)) ?? undefined,
    async set(key, json, ttlSeconds) {
      await redis.set(prefix + key, json, 'PX', Math.ceil(ttlSeconds * 1000)).catch(rejectUnavailable)
    },
    async delete(key) {
      await redis.del(prefix + key).catch(rejectUnavailable)
    },
  }
}

function createRedisSets(redis: CounterRedis, prefix: string): SharedSets {
  return {
    add: (key, texts, ttlSeconds) =>
      redis.addToSet(prefix + key, Math.ceil(ttlSeconds * 1000), ...texts).catch(rejectUnavailable),
    read: (key) => redis.smembers(prefix + key).catch(rejectUnavailable),
  }
}

/** Keeps only the code of Redis' own errors: the rest, and the property `command`, may quote the command. */
function rejectUnavailable(error: Error): never {
  const reason = error.name === 'ReplyError' ? error.message.split(' ')[0] : error.message
  throw error instanceof NotSentError ? error : new SharedStateUnavailableError(`Redis: ${reason}`)
}

/** The backoff between connection attempts. Attempts are unlimited. */
const RECONNECT_BACKOFF_MS = { step: 100, max: 1000 }

const CONNECT_TIMEOUT_MS = 2000

/** A connection without a response for this many command timeouts is replaced. */
const SOCKET_TIMEOUT_FACTOR = 4

interface OpenedRedis {
  readonly redis: CounterRedis
  /** See `createRedisReservations`. */
  readonly run: () => MaybePromise<string>
}

const RESERVATION_SCRIPTS = buildReservationScripts()

/**
 * Connects to Redis and reconnects whenever the connection is lost. Commands reject immediately without a
 * connection, and after `timeoutMs` without a response. Resolves after the first attempt, also a failed one.
 */
async function openRedis(url: string, timeoutMs: number, logger: Logger): Promise<OpenedRedis> {
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
    scripts: {
      addToCounter: { lua: ADD_TO_COUNTER, numberOfKeys: 1 },
      giveBackToCounter: { lua: GIVE_BACK, numberOfKeys: 1 },
      addToSet: { lua: ADD_TO_SET, numberOfKeys: 1 },
      ...RESERVATION_SCRIPTS,
    },
  })
  logAvailability(redis, logger)
  const run = trackRun(redis)
  await new Promise<void>((resolve) => {
    redis.once('ready', resolve)
    redis.once('close', resolve)
  })
  await Promise.resolve()
    .then(run)
    .catch(() => undefined)
  return { redis: redis as CounterRedis, run }
}

/** Reads the id of the server whenever a connection is ready. */
function trackRun(redis: Redis): OpenedRedis['run'] {
  const disconnected = () => {
    throw new NotSentError('Redis: not connected')
  }
  let current: () => MaybePromise<string> = disconnected
  redis.on('close', () => {
    current = disconnected
  })
  redis.on('ready', () => {
    // A script that is not loaded is sent twice, and would be overtaken by later commands.
    const loaded = Object.values(RESERVATION_SCRIPTS).map(({ lua }) => redis.script('LOAD', lua))
    const read = Promise.all([redis.info('server'), ...loaded]).then(([info]) => {
      const id = /^run_id:(\w+)/m.exec(info)?.[1] ?? ''
      if (current === reading) current = () => id
      return id
    })
    // Commands of a connection that has failed meanwhile are not sent.
    const reading = () => read.catch(disconnected)
    read.catch(() => undefined)
    current = reading
  })
  return () => current()
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
    if (isAvailable) logger.warn({ reason }, 'redis unavailable; retrying')
    isAvailable = false
  })
  redis.on('ready', () => {
    if (!isAvailable) logger.info('redis available again')
    isAvailable = true
  })
}
