import type { Registry } from 'prom-client'
import {
  type Account,
  type Admission,
  type CounterValue,
  GatewayError,
  PLANS,
  type RequestLimit,
  requireAccount,
} from '../../core/contract/index.ts'
import { formatDuration, retryAdvice, toRetryAfterSeconds } from '../../core/http/error-words.ts'
import type { LeasedCounters } from '../../core/shared-state/leased-counters.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { createOutcomeCounter } from '../../core/util/metrics.ts'
import { limitOf, type RateLimitSettings, rateLimitError } from './settings.ts'

/** Returns the phase `admit` that limits the requests per minute of each user on all endpoints. */
export function createRequestLimit(settings: RateLimitSettings, counters: LeasedCounters, metrics: Registry) {
  const recordOutcome = createOutcomeMetric(metrics, {
    name: 'signalbox_rate_limit_outcomes_total',
    help: 'Authenticated requests by plan and outcome of the rate limit.',
  })
  return (request: Admission): MaybePromise<void> => {
    const account = requireAccount(request)
    const limit = limitOf(account, account.requestsPerMinute, settings.requests_per_minute)
    const counted = countOne(account, limit, { counters, settings, counts: 'request' })
    return chain(counted, ({ outcome, count, error }): MaybePromise<void> => {
      if (count !== undefined && limit !== null) setLimitHeaders(request, limit, count)
      recordOutcome(account.plan, outcome)
      if (error !== undefined) throw error
    })
  }
}

export interface ToolCallLimit {
  /** Counts a call. Throws `rate_limit_exceeded` if the user has none left in this minute. */
  take(account: Account): MaybePromise<void>
}

/** Limits the calls of tools per minute of each user. */
export function createToolCallLimit(
  settings: RateLimitSettings,
  counters: LeasedCounters,
  metrics: Registry,
): ToolCallLimit {
  const recordOutcome = createOutcomeMetric(metrics, {
    name: 'signalbox_tool_call_limit_outcomes_total',
    help: 'Calls of tools that rules let pass, by plan and outcome of the limit of calls per minute.',
  })
  return {
    take(account) {
      const limit = limitOf(account, account.toolCallsPerMinute, settings.tool_calls_per_minute)
      const counted = countOne(account, limit, { counters, settings, counts: 'tool call' })
      return chain(counted, ({ outcome, error }): MaybePromise<void> => {
        recordOutcome(account.plan, outcome)
        if (error !== undefined) throw error
      })
    },
  }
}

interface RateLimitDecision {
  readonly outcome: RateLimitOutcome
  readonly count?: CounterValue
  /** The error to respond with; undefined if it is allowed. */
  readonly error?: GatewayError
}

interface Counting {
  readonly counters: LeasedCounters
  readonly settings: Pick<RateLimitSettings, 'on_redis_failure'>
  /** Names one of them in messages. */
  readonly counts: string
}

const UNLIMITED: RateLimitDecision = { outcome: 'unlimited' }
const ALLOWED_UNCOUNTED: RateLimitDecision = { outcome: 'allowed_uncounted' }

/** Counts one, and decides whether it is allowed. */
function countOne(
  account: Account,
  limit: RequestLimit,
  { counters, settings, counts }: Counting,
): MaybePromise<RateLimitDecision> {
  if (limit === null) return UNLIMITED
  const decide = (count: CounterValue): RateLimitDecision =>
    count.total > limit
      ? { outcome: 'refused', count, error: limitExceeded(limit, counts, count) }
      : { outcome: 'allowed', count }
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

function limitExceeded(limit: number, counts: string, { resetMs }: CounterValue): GatewayError {
  const retryAfter = toRetryAfterSeconds(resetMs)
  const what = `${limit} ${counts}${limit === 1 ? '' : 's'} per minute`
  const message = `Rate limit of ${what} exceeded. ${retryAdvice(retryAfter)}`
  return new GatewayError('rate_limit_exceeded', message, { retryAfter })
}

/** The error while the shared state is unavailable. */
export function counterUnavailable(): GatewayError {
  const retryAfter = 1
  const message = `The rate limit cannot be checked at the moment. ${retryAdvice(retryAfter)}`
  return rateLimitError('rate_limit_unavailable', message, { retryAfter })
}

const OUTCOMES = ['unlimited', 'allowed', 'refused', 'allowed_uncounted', 'refused_uncounted'] as const

/** Outcomes ending in `_uncounted` mean that Redis was unavailable and nothing could be counted. */
type RateLimitOutcome = (typeof OUTCOMES)[number]

function createOutcomeMetric(
  metrics: Registry,
  description: { readonly name: string; readonly help: string },
) {
  return createOutcomeCounter(metrics, description, 'plan', PLANS, OUTCOMES)
}
