import type { Registry } from 'prom-client'
import {
  type Account,
  type Admission,
  type CounterValue,
  GatewayError,
  PLANS,
  type Plan,
  type Plugin,
  type RequestLimit,
  requireAccount,
} from '../../core/contract/index.ts'
import type { SharedCounters } from '../../core/shared-state/shared-state.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { createCounter } from '../../core/util/metrics.ts'

interface RateLimitSettings {
  /** By plan; null means no limit. */
  readonly requests_per_minute: Readonly<Record<Plan, RequestLimit>>
  /** By plan: whether requests are allowed or refused while Redis is unavailable. */
  readonly on_redis_failure: Readonly<Record<Plan, 'allow' | 'refuse'>>
}

/** Limits are per minute. See docs/decisions/limits.md, "A minute is counted from a user's first request". */
const WINDOW_SECONDS = 60

/** Limits the requests per minute of each user on all authenticated endpoints (docs/api.md, "Limits"). */
export function createRateLimit(settings: RateLimitSettings, counters: SharedCounters): Plugin {
  return {
    name: 'rate-limit',
    after: ['auth'],
    setup(_, { metrics }) {
      const recordOutcome = createOutcomeMetric(metrics)
      return {
        admit(request) {
          const account = requireAccount(request)
          return chain(
            countRequest(request, account, counters, settings),
            ({ outcome, error }): MaybePromise<void> => {
              recordOutcome(account.plan, outcome)
              if (error !== undefined) throw error
            },
          )
        },
      }
    },
  }
}

interface RateLimitDecision {
  readonly outcome: RateLimitOutcome
  /** The error to respond with; undefined if the request is allowed. */
  readonly error?: GatewayError
}

const UNLIMITED: RateLimitDecision = { outcome: 'unlimited' }
const ALLOWED: RateLimitDecision = { outcome: 'allowed' }
const ALLOWED_UNCOUNTED: RateLimitDecision = { outcome: 'allowed_uncounted' }

/** Counts the request, sets the rate limit headers and decides whether the request is allowed. */
function countRequest(
  request: Admission,
  account: Account,
  counters: SharedCounters,
  settings: RateLimitSettings,
): MaybePromise<RateLimitDecision> {
  const limit = limitOf(account, settings)
  if (limit === null) return UNLIMITED
  const decide = (count: CounterValue): RateLimitDecision => {
    setLimitHeaders(request, limit, count)
    return count.total > limit ? { outcome: 'refused', error: limitExceeded(limit, count) } : ALLOWED
  }
  // Not logged here: the shared state logs once, not per request, when it becomes unavailable.
  const decideUncounted = (): RateLimitDecision =>
    settings.on_redis_failure[account.plan] === 'allow'
      ? ALLOWED_UNCOUNTED
      : { outcome: 'refused_uncounted', error: counterUnavailable() }
  const count = counters.add(String(account.userId), 1, WINDOW_SECONDS)
  return count instanceof Promise ? count.then(decide, decideUncounted) : decide(count)
}

/**
 * Returns the user's own limit, or else the plan's, in requests per minute. See docs/decisions/limits.md,
 * "The counter counts, the plugin compares".
 */
function limitOf({ plan, requestsPerMinute }: Account, settings: RateLimitSettings): RequestLimit {
  return requestsPerMinute === undefined ? settings.requests_per_minute[plan] : requestsPerMinute
}

/** Sets the rate limit headers with OpenAI's names and formats (docs/api.md, "Limits"). */
function setLimitHeaders({ res }: Admission, limit: number, { total, resetMs }: CounterValue): void {
  res.setDefaultHeader('x-ratelimit-limit-requests', String(limit))
  res.setDefaultHeader('x-ratelimit-remaining-requests', String(Math.max(limit - total, 0)))
  res.setDefaultHeader('x-ratelimit-reset-requests', formatDuration(toRetryAfterSeconds(resetMs)))
}

function limitExceeded(limit: number, { resetMs }: CounterValue): GatewayError {
  const retryAfter = toRetryAfterSeconds(resetMs)
  const message = `Rate limit of ${limit} requests per minute exceeded. ${retryAdvice(retryAfter)}`
  return new GatewayError('rate_limit_exceeded', message, { retryAfter })
}

function counterUnavailable(): GatewayError {
  const retryAfter = 1
  const message = `The rate limit cannot be checked at the moment. ${retryAdvice(retryAfter)}`
  return new GatewayError('rate_limit_unavailable', message, { retryAfter })
}

/** Rounds up to whole seconds. At least 1, because clients that retry after 0 seconds are refused again. */
export function toRetryAfterSeconds(ms: number): number {
  return Math.max(Math.ceil(ms / 1000), 1)
}

/** Returns the last sentence of error messages that tell clients when to retry. */
export function retryAdvice(seconds: number): string {
  return `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
}

/** Formats a duration like OpenAI's rate limit headers: `59s`, `1m0s`. */
export function formatDuration(seconds: number): string {
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}

const OUTCOMES = ['unlimited', 'allowed', 'refused', 'allowed_uncounted', 'refused_uncounted'] as const

/** Outcomes ending in `_uncounted` mean that Redis was unavailable and the request could not be counted. */
type RateLimitOutcome = (typeof OUTCOMES)[number]

/** Creates the metric of outcomes by plan. All series exist from the start, so that rates have no gaps. */
function createOutcomeMetric(metrics: Registry): (plan: Plan, outcome: RateLimitOutcome) => void {
  const counter = createCounter(metrics, {
    name: 'signalbox_rate_limit_outcomes_total',
    help: 'Authenticated requests by plan and outcome of the rate limit.',
    labelNames: ['plan', 'outcome'],
  })
  for (const plan of PLANS) for (const outcome of OUTCOMES) counter(plan, outcome)
  return (plan, outcome) => counter(plan, outcome).inc()
}
