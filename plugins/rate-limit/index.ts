import { service } from '../../core/contract/index.ts'
import type { ToolCallLimit as CallLimit } from './request-limit.ts'
import type { RateLimitSettings } from './settings.ts'

export type { RateLimitSettings } from './settings.ts'
export { createUsageLimit, USAGE_WAIT_MS } from './usage-limit.ts'

/** Counts calls of tools against the limit of their user. */
export type ToolCallLimit = CallLimit
export const ToolCallLimit = service<CallLimit>('rate-limit.tool-calls')

/** The limits that are in force, for replaying them. */
export const RateLimits = service<RateLimitSettings>('rate-limit.limits')
