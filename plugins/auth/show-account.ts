import type { JsonObject } from '../../core/contract/index.ts'
import type { Key, User } from '../../projections/accounts.ts'

/** A user as the API shows it, without its keys. */
export function showUser(user: User): JsonObject {
  const { id, name, plan, requestsPerMinute, tokensPerMinute, maxConcurrent, createdAt } = user
  return {
    id,
    name,
    plan,
    ...(requestsPerMinute !== undefined && { requests_per_minute: requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokens_per_minute: tokensPerMinute }),
    ...(maxConcurrent !== undefined && { max_concurrent: maxConcurrent }),
    created_at: createdAt,
  }
}

/** A key as the API shows it, without its hash. */
export function showKey({ id, createdAt, revokedAt }: Key): JsonObject {
  return { id, created_at: createdAt, revoked_at: revokedAt }
}
