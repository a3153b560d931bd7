import { isJsonObject, type JsonObject, type OperatorScope } from '../../core/contract/index.ts'
import type { PolicyScope } from '../../projections/events/policies.ts'
import { isOwnPolicy } from '../../projections/operator-scope.ts'
import type { Policies } from '../../projections/policies.ts'
import type { LogEntry } from './audit-entries.ts'

/** Kinds of entries that can be about the groups of a scope. */
const SCOPED_KINDS: ReadonlySet<string> = new Set([
  'user',
  'key',
  'routing',
  'firewall',
  'tool',
  'policy',
  'group',
  'access',
  'approval',
])

/**
 * Returns whether an entry is about the groups of a scope: their members now, themselves, or a policy that
 * applies to them only.
 */
export function toEntryFilter(
  scope: OperatorScope | undefined,
  policies: Pick<Policies, 'policy'>,
): (entry: LogEntry) => boolean {
  if (scope === undefined) return () => true
  return ({ record: { data }, kind, noEffect }) => {
    const { userId, groupId, policyId } = data
    if (!SCOPED_KINDS.has(kind)) return false
    if (typeof groupId === 'number' && !scope.hasGroup(groupId)) return false
    if (typeof userId === 'number') return scope.hasUser(userId)
    // The reason why a group was kept names a policy.
    if (typeof groupId === 'number') return noEffect === undefined
    const policy = typeof policyId === 'number' ? policies.policy(policyId) : undefined
    if (policy === undefined || !isOwnPolicy(policy, scope)) return false
    const changes = isJsonObject(data.changes) ? data.changes : data
    // The cast is safe: only events of policies have this field.
    const appliesTo = changes.appliesTo as PolicyScope | undefined
    return appliesTo === undefined || isOwnPolicy({ appliesTo }, scope)
  }
}

/** Leaves out of an object, as the API shows it, what does not belong to the scope. */
export function narrowObject(
  { kind }: LogEntry,
  object: JsonObject | null,
  scope: OperatorScope,
): JsonObject | null {
  if (object === null) return null
  // The casts are safe: objects of these kinds have these fields.
  if (kind === 'policy')
    return isOwnPolicy({ appliesTo: object.applies_to as PolicyScope }, scope) ? object : null
  if (kind !== 'user') return object
  return { ...object, groups: (object.groups as readonly number[]).filter(scope.hasGroup) }
}
