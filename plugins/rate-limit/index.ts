import { service } from '../../core/contract/index.ts'
import type { RateLimitSettings } from './settings.ts'

export type { RateLimitSettings } from './settings.ts'
export { createUsageLimit, USAGE_WAIT_MS } from './usage-limit.ts'

/** The limits that are in force, for replaying them. */
export const RateLimits = service<RateLimitSettings>('rate-limit.limits')
