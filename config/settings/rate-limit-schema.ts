import { Nullable, StrictObject, StringEnum, type TSchema, Type } from '../../core/contract/index.ts'
import { Milliseconds } from './schema-types.ts'

const RequestLimit = Nullable(Type.Integer({ minimum: 1 }))

function byPlan<Setting extends TSchema>(setting: Setting, description: string) {
  return StrictObject({ free: setting, paid: setting }, { description })
}

/** Limits of each user (docs/guides/limits.md). */
export const RateLimitSettings = StrictObject({
  requests_per_minute: byPlan(RequestLimit, 'Per user, by plan; null disables the limit.'),
  tokens_per_minute: byPlan(
    RequestLimit,
    'Prompt and reply tokens per user, by plan; null disables the limit.',
  ),
  max_concurrent: byPlan(
    RequestLimit,
    'Inference requests of a user at the same time, by plan; null disables the limit.',
  ),
  tool_calls_per_minute: byPlan(
    RequestLimit,
    'Calls of tools at /mcp per user, by plan; null disables the limit.',
  ),
  on_redis_failure: byPlan(
    StringEnum(['allow', 'refuse']),
    'Whether requests that Redis cannot count are allowed or refused, by plan.',
  ),
  redis_timeout_ms: Milliseconds('How long a request waits for Redis.'),
})
