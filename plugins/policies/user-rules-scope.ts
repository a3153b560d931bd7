import { operator } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Rules } from '../../projections/rules.ts'
import { userId, userNotFoundError } from '../auth/index.ts'
import type { RuleScope } from '../rules/index.ts'

/** The rules of the user that the path names, whatever the user's plan is. */
export function createUserRulesScope(
  accounts: Pick<Accounts, 'user'>,
  rules: Pick<Rules, 'revision'>,
): RuleScope {
  return {
    path: '/admin/users/{user_id}',
    params: { user_id: userId },
    read: operator('auditor', 'filtered'),
    write: operator('editor', 'filtered'),
    operation: 'User',
    whose: "a user's",
    ownerOf({ params, scope }, isPast = false) {
      // The cast is safe: the paths of all endpoints have this parameter.
      const { user_id: id } = params as { readonly user_id: number }
      if (scope ? scope.hasUser(id) : accounts.user(id) || (isPast && rules.revision(id) >= 0)) return id
      throw userNotFoundError(id)
    },
  }
}
