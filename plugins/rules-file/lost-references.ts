import type { PolicyScope } from '../../projections/events/policies.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { isRuleEvent } from '../../projections/events/rules.ts'
import type { RulesFileState } from './planned.ts'

/**
 * Returns what has happened to a group, a policy or a user that makes events without effect, as a sentence;
 * undefined if they have one. These are in other streams than the events, so no revision tells.
 */
export function findLostReference(
  events: readonly DomainEvent[],
  state: Pick<RulesFileState, 'accounts' | 'groups' | 'policies'>,
): string | undefined {
  for (const event of events) {
    const issue = findIssue(event, state)
    if (issue !== undefined) return issue
  }
  return undefined
}

function findIssue(
  event: DomainEvent,
  { accounts, groups, policies }: Pick<RulesFileState, 'accounts' | 'groups' | 'policies'>,
): string | undefined {
  if (event.type === 'GroupDeleted') {
    const { groupId } = event.data
    const policy = policies.policyOfGroup(groupId)
    if (policy) return `Policy ${policy.id} ("${policy.name}") was applied to group ${groupId} meanwhile.`
  }
  const scope = scopeOf(event)
  const groupId = scope.groups.find((id) => groups.group(id) === undefined)
  if (groupId !== undefined) return `Group ${groupId} was deleted meanwhile.`
  const userId = scope.users.find((id) => accounts.user(id) === undefined)
  return userId === undefined ? undefined : `User ${userId} was deleted meanwhile.`
}

/** The groups and users that the event requires. */
function scopeOf(event: DomainEvent): Exclude<PolicyScope, { everyone: true }> {
  const { type, data } = event
  if (isRuleEvent(event)) return { groups: [], users: 'userId' in event.data ? [event.data.userId] : [] }
  if (type === 'UserAddedToGroup') return { groups: [data.groupId], users: [data.userId] }
  const scope =
    type === 'PolicyCreated' ? data.appliesTo : type === 'PolicyUpdated' ? data.changes.appliesTo : undefined
  return scope === undefined || 'everyone' in scope ? { groups: [], users: [] } : scope
}
