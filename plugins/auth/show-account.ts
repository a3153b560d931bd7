import type { JsonObject } from '../../core/contract/index.ts'
import type { Key, User } from '../../projections/accounts.ts'

/** A user as the API shows it, without its keys. */
export function showUser({ id, name, plan, requestsPerMinute, createdAt }: User): JsonObject {
  const limit = requestsPerMinute === undefined ? {} : { requests_per_minute: requestsPerMinute }
  return { id, name, plan, ...limit, created_at: createdAt }
}

/** A key as the API shows it, without its hash. */
export function showKey({ id, createdAt, revokedAt }: Key): JsonObject {
  return { id, created_at: createdAt, revoked_at: revokedAt }
}
