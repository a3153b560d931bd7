import type { JsonObject } from '../../core/contract/index.ts'
import type { Budget } from '../../projections/events/budgets.ts'
import type { Key, User } from '../../projections/events/users.ts'

/** A user as the API shows it, without its keys. */
export function showUser(user: User, groups: readonly number[]): JsonObject {
  const { id, name, plan, requestsPerMinute, tokensPerMinute, maxConcurrent, budget, createdAt } = user
  return {
    id,
    name,
    plan,
    ...(requestsPerMinute !== undefined && { requests_per_minute: requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokens_per_minute: tokensPerMinute }),
    ...(maxConcurrent !== undefined && { max_concurrent: maxConcurrent }),
    ...(budget !== undefined && { budget: showBudget(budget) }),
    groups,
    created_at: createdAt,
  }
}

/** A key as the API shows it, without its hash. */
export function showKey(key: Key): JsonObject {
  const { id, name, models, endpoints, expiresAt, budget, createdAt, revokedAt } = key
  return {
    id,
    ...(name !== undefined && { name }),
    ...(models && { models }),
    ...(endpoints && { endpoints }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(budget && { budget: showBudget(budget) }),
    created_at: createdAt,
    revoked_at: revokedAt,
  }
}

/** The terms of a budget as the API shows them. */
export function showBudget({ limitUsd, period, warnRatio, onExceed }: Budget) {
  return {
    limit_usd: limitUsd,
    period,
    ...(warnRatio !== undefined && { warn_ratio: warnRatio }),
    on_exceed: onExceed,
  }
}
