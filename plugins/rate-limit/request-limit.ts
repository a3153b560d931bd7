import type { Registry } from 'prom-client'
import {
  type Account,
  type Admission,
  type CounterValue,
  GatewayError,
  PLANS,
  requireAccount,
} from '../../core/contract/index.ts'
import { formatDuration, retryAdvice, toRetryAfterSeconds } from '../../core/http/error-words.ts'
import type { LeasedCounters } from '../../core/shared-state/leased-counters.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { createOutcomeCounter } from '../../core/util/metrics.ts'
import { limitOf, type RateLimitSettings, rateLimitError } from './settings.ts'

/** Returns the phase `admit` that limits the requests per minute of each user on all endpoints. */
export function createRequestLimit(settings: RateLimitSettings, counters: LeasedCounters, metrics: Registry) {
  const recordOutcome = createOutcomeMetric(metrics)
  return (request: Admission): MaybePromise<void> => {
    const account = requireAccount(request)
    return chain(
      countRequest(request, account, counters, settings),
      ({ outcome, error }): MaybePromise<void> => {
        recordOutcome(account.plan, outcome)
        if (error !== undefined) throw error
      },
    )
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
  counters: LeasedCounters,
  settings: RateLimitSettings,
): MaybePromise<RateLimitDecision> {
  const limit = limitOf(account, account.requestsPerMinute, settings.requests_per_minute)
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
  const count = counters.take(String(account.userId), limit)
  return count instanceof Promise ? count.then(decide, decideUncounted) : decide(count)
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

/** The error while the shared state is unavailable. */
export function counterUnavailable(): GatewayError {
  const retryAfter = 1
  const message = `The rate limit cannot be checked at the moment. ${retryAdvice(retryAfter)}`
  return rateLimitError('rate_limit_unavailable', message, { retryAfter })
}

const OUTCOMES = ['unlimited', 'allowed', 'refused', 'allowed_uncounted', 'refused_uncounted'] as const

/** Outcomes ending in `_uncounted` mean that Redis was unavailable and the request could not be counted. */
type RateLimitOutcome = (typeof OUTCOMES)[number]

function createOutcomeMetric(metrics: Registry) {
  const name = 'signalbox_rate_limit_outcomes_total'
  const help = 'Authenticated requests by plan and outcome of the rate limit.'
  return createOutcomeCounter(metrics, { name, help }, 'plan', PLANS, OUTCOMES)
}
