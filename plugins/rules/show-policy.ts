import type { JsonObject } from '../../core/contract/index.ts'
import type { Group } from '../../projections/groups.ts'
import type { Policy } from '../../projections/policies.ts'

/** A group as the API shows it, without its members. */
export function showGroup({ id, name, description, createdAt, updatedAt }: Group): JsonObject {
  return { id, name, description, created_at: createdAt, updated_at: updatedAt }
}

/** A policy as the API shows it, without its rules. */
export function showPolicy(policy: Policy): JsonObject {
  const { id, name, description, isEnabled, priority, appliesTo, createdAt, updatedAt } = policy
  return {
    id,
    name,
    description,
    is_enabled: isEnabled,
    priority,
    applies_to: appliesTo,
    created_at: createdAt,
    updated_at: updatedAt,
  }
}
