export type { RateLimitSettings } from './settings.ts'
export { createUsageLimit, USAGE_WAIT_MS } from './usage-limit.ts'
