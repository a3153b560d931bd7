import type { OperatorScope } from '../core/contract/index.ts'
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
