import type { OperatorScope } from '../core/contract/index.ts'
import type { Policy } from './events/policies.ts'
import type { Groups } from './groups.ts'

export type ScopedGroups = Pick<Groups, 'group' | 'groupsOf'>

/** Groups that are deleted, and members who leave, are out of the scope at once. */
export function createOperatorScope(ids: readonly number[], groups: ScopedGroups): OperatorScope {
  const hasGroup = (id: number) => ids.includes(id) && groups.group(id) !== undefined
  return {
    groups: () => ids.filter(hasGroup),
    hasGroup,
    hasUser: (userId) => groups.groupsOf(userId).some(hasGroup),
  }
}

/** Whether a policy applies to groups of the scope only. */
export function isOwnPolicy({ appliesTo }: Pick<Policy, 'appliesTo'>, scope: OperatorScope): boolean {
  return 'groups' in appliesTo && appliesTo.users.length === 0 && appliesTo.groups.every(scope.hasGroup)
}
