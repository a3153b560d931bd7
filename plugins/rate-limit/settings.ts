import type { Account, Plan, RequestLimit } from '../../core/contract/index.ts'

export interface RateLimitSettings {
  /** By plan; null means no limit. */
  readonly requests_per_minute: Readonly<Record<Plan, RequestLimit>>
  readonly tokens_per_minute: Readonly<Record<Plan, RequestLimit>>
  readonly max_concurrent: Readonly<Record<Plan, RequestLimit>>
  /** By plan: whether requests are allowed or refused while Redis is unavailable. */
  readonly on_redis_failure: Readonly<Record<Plan, 'allow' | 'refuse'>>
}

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
