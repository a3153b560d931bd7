import type { Account, Plan, RequestLimit } from '../../core/contract/index.ts'

export interface RateLimitSettings {
  /** By plan; `null` is no limit. */
  readonly requests_per_minute: Readonly<Record<Plan, RequestLimit>>
  /** What becomes of a request that Redis cannot count: `open` lets it through, `closed` refuses it. */
  readonly without_redis: Readonly<Record<Plan, 'open' | 'closed'>>
  /** How long a request waits for Redis. */
  readonly redis_timeout_ms: number
}

/** Requests per minute: the user's own limit, else the plan's. */
export function limitOf({ plan, requestsPerMinute }: Account, settings: RateLimitSettings): RequestLimit {
  return requestsPerMinute === undefined ? settings.requests_per_minute[plan] : requestsPerMinute
}
