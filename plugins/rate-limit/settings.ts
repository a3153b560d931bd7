import {
  type Account,
  type ErrorDefinition,
  errorsOf,
  type Plan,
  type RequestLimit,
} from '../../core/contract/index.ts'

export interface RateLimitSettings {
  /** By plan; null means no limit. */
  readonly requests_per_minute: Readonly<Record<Plan, RequestLimit>>
  readonly tokens_per_minute: Readonly<Record<Plan, RequestLimit>>
  readonly max_concurrent: Readonly<Record<Plan, RequestLimit>>
  readonly tool_calls_per_minute: Readonly<Record<Plan, RequestLimit>>
  /** By plan: whether requests are allowed or refused while Redis is unavailable. */
  readonly on_redis_failure: Readonly<Record<Plan, 'allow' | 'refuse'>>
}

export const RATE_LIMIT_ERROR_CODES = {
  token_limit_exceeded: {
    ...{ status: 429, type: 'rate_limit_error', of: 'inference' },
    description: 'The request may use more tokens than its user has left in this minute.',
  },
  concurrency_limit_exceeded: {
    ...{ status: 429, type: 'rate_limit_error', of: 'inference' },
    description: 'The user has as many inference requests in flight as allowed.',
  },
  rate_limit_unavailable: {
    ...{ status: 503, type: 'service_unavailable_error', of: 'users', failsClosed: true },
    description: 'Requests cannot be counted at the moment.',
  },
} as const satisfies Readonly<Record<string, ErrorDefinition>>

export const rateLimitError = errorsOf(RATE_LIMIT_ERROR_CODES)

/** Limits are per minute. See docs/decisions/limits.md, "A minute is counted from a user's first request". */
export const WINDOW_SECONDS = 60

/**
 * Returns the user's own limit, or else the plan's. See docs/decisions/limits.md, "The counter counts, the
 * plugin compares".
 */
export function limitOf(
  { plan }: Account,
  own: RequestLimit | undefined,
  byPlan: Readonly<Record<Plan, RequestLimit>>,
): RequestLimit {
  return own === undefined ? byPlan[plan] : own
}
