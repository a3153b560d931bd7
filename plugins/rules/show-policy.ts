import type { JsonObject } from '../../core/contract/index.ts'
import type { Policy } from '../../projections/events/policies.ts'

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
