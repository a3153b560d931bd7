import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import {
  type Account,
  type GatewayContext,
  GatewayError,
  PLANS,
  type Plan,
  type Plugin,
  type RequestLimit,
} from '../../core/contract/index.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { createCounter } from '../../core/util/metrics.ts'
import { createMemoryCounter, type RequestCount, type RequestCounter, WINDOW_SECONDS } from './counter.ts'

/** Where requests are counted: in the Redis at `redisUrl`, else by `shared` for several processes, else in this one. */
interface CounterChoice {
  readonly redisUrl: string | undefined
  readonly shared: RequestCounter | undefined
}

/** Requests per minute and user, on everything that needs an API key (docs/api.md, "Limits"). */
export function createRateLimit(settings: RateLimitSettings, choice: CounterChoice): Plugin {
  return {
    name: 'rate-limit',
    after: ['auth'],
    applies: 'all',
    needs: 'headers',
    async setup(_, { logger, metrics }) {
      const counter = await openCounter(settings, choice, logger)
      const note = createOutcomeCounter(metrics)
      return {
        middleware: (ctx, next) =>
          chain(judge(ctx, counter, settings), (outcome) => {
            note(ctx.account.plan, outcome.type)
            if (outcome.refusal !== undefined) throw outcome.refusal
            return next()
          }),
        close: counter.close,
      }
    },
  }
}

async function openCounter(
  { redis_timeout_ms }: RateLimitSettings,
  { redisUrl: url, shared }: CounterChoice,
  logger: Logger,
): Promise<RequestCounter> {
  if (url === undefined) return shared ?? createMemoryCounter(WINDOW_SECONDS)
  const { openRedisCounter } = await import('./redis-counter.ts')
  return openRedisCounter({ url, timeoutMs: redis_timeout_ms, windowSeconds: WINDOW_SECONDS }, logger)
}

interface Outcome {
  readonly type: LimitOutcome
  readonly refusal?: GatewayError
}

const UNLIMITED: Outcome = { type: 'unlimited' }
const ALLOWED: Outcome = { type: 'allowed' }
const OPEN: Outcome = { type: 'open' }

/** Counts the request and says on the answer what is left. */
function judge(
  ctx: GatewayContext,
  counter: RequestCounter,
  settings: RateLimitSettings,
): MaybePromise<Outcome> {
  const { account } = ctx
  const limit = limitOf(account, settings)
  if (limit === null) return UNLIMITED
  const compare = (count: RequestCount): Outcome => {
    setLimitHeaders(ctx, limit, count)
    return count.used > limit ? { type: 'refused', refusal: overLimit(limit, count) } : ALLOWED
  }
  // A store that is away says so in the log by itself, once and not per request.
  const uncounted = (): Outcome =>
    settings.on_redis_failure[account.plan] === 'allow' ? OPEN : { type: 'closed', refusal: notCounted() }
  const count = counter.count(account.userId)
  return count instanceof Promise ? count.then(compare, uncounted) : compare(count)
}

function overLimit(limit: number, { resetMs }: RequestCount): GatewayError {
  const retryAfter = wholeSeconds(resetMs)
  const message = `Over the limit of ${limit} requests per minute. Try again in ${retryAfter} seconds.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfter })
}

function notCounted(): GatewayError {
  const message = 'Requests cannot be counted at the moment, so none is let through. Try again.'
  return new GatewayError('rate_limit_unavailable', message, { retryAfter: 1 })
}

export interface RateLimitSettings {
  /** By plan; `null` is no limit. */
  readonly requests_per_minute: Readonly<Record<Plan, RequestLimit>>
  /** Whether requests that Redis cannot count are allowed or refused. */
  readonly on_redis_failure: Readonly<Record<Plan, 'allow' | 'refuse'>>
  /** How long a request waits for Redis. */
  readonly redis_timeout_ms: number
}

/** Requests per minute: the user's own limit, else the plan's. */
function limitOf({ plan, requestsPerMinute }: Account, settings: RateLimitSettings): RequestLimit {
  return requestsPerMinute === undefined ? settings.requests_per_minute[plan] : requestsPerMinute
}

/** Says on the answer how much of the limit is left, under OpenAI's names and in OpenAI's form (docs/api.md, "Limits"). */
function setLimitHeaders(ctx: GatewayContext, limit: number, { used, resetMs }: RequestCount): void {
  ctx.res.setDefaultHeader('x-ratelimit-limit-requests', String(limit))
  ctx.res.setDefaultHeader('x-ratelimit-remaining-requests', String(Math.max(limit - used, 0)))
  ctx.res.setDefaultHeader('x-ratelimit-reset-requests', writeDuration(wholeSeconds(resetMs)))
}

/** Seconds until something may happen again; never 0, for "now" would be refused once more. */
export function wholeSeconds(milliseconds: number): number {
  return Math.max(Math.ceil(milliseconds / 1000), 1)
}

/** `59s`, `1m0s`. */
export function writeDuration(seconds: number): string {
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}

const OUTCOMES = ['unlimited', 'allowed', 'refused', 'open', 'closed'] as const

/** What became of a request: `open` and `closed` are those that could not be counted, let through or refused. */
type LimitOutcome = (typeof OUTCOMES)[number]

/** A counter of outcomes by plan; every series is there from the start, so that a rate over them has no gaps. */
function createOutcomeCounter(metrics: Registry): (plan: Plan, outcome: LimitOutcome) => void {
  const counter = createCounter(metrics, {
    name: 'signalbox_rate_limit_outcomes_total',
    help: 'Requests of known users by what the rate limit made of them.',
    labelNames: ['plan', 'outcome'],
  })
  for (const plan of PLANS) for (const outcome of OUTCOMES) counter(plan, outcome)
  return (plan, outcome) => counter(plan, outcome).inc()
}
