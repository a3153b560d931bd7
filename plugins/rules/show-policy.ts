import type { JsonObject } from '../../core/contract/index.ts'
import type { Group } from '../../projections/events/groups.ts'
import type { Policy } from '../../projections/policies.ts'
import { showBudget } from '../auth/show-account.ts'

/** A group as the API shows it, without its members. */
export function showGroup({ id, name, description, budget, createdAt, updatedAt }: Group): JsonObject {
  return {
    id,
    name,
    description,
    ...(budget !== undefined && { budget: showBudget(budget) }),
    created_at: createdAt,
    updated_at: updatedAt,
  }
}

/** A policy as the API shows it, without its rules. */
export function showPolicy(policy: Policy): JsonObject {
  const { id, name, description, isEnabled, priority, appliesTo, createdAt, updatedAt } = policy
  const { visibility = 'name' } = policy
  return {
    id,
    name,
    description,
    is_enabled: isEnabled,
    priority,
    applies_to: appliesTo,
    visibility,
    created_at: createdAt,
    updated_at: updatedAt,
  }
}
