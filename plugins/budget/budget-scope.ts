import { GatewayError, type OperatorScope } from '../../core/contract/index.ts'
import { createNotFoundError } from '../../core/resources/resource.ts'
import type { Budget } from '../../projections/events/budgets.ts'
import type { GatewayState } from '../../projections/state.ts'
import { type BudgetTarget, ownerOf } from './owned-budget.ts'

/** The budgets that operators with a scope see, and how high they may set them. */
export interface BudgetScoping {
  /** Throws 404 for the budget of what is not in the scope. */
  require(target: BudgetTarget, scope: OperatorScope): void
  /** Throws 403 if a budget is above that of a group which the user is in. */
  checkLimit(target: BudgetTarget, budget: Budget, scope: OperatorScope): void
}

export function createBudgetScoping({ accounts, groups }: Pick<GatewayState, 'accounts' | 'groups'>) {
  function userOf(target: BudgetTarget): number {
    if (target.type === 'user') return target.userId
    return target.type === 'key' ? (accounts.ownerOfKey(target.keyId)?.id ?? 0) : 0
  }

  function isInScope(target: BudgetTarget, scope: OperatorScope): boolean {
    return target.type === 'group' ? scope.hasGroup(target.groupId) : scope.hasUser(userOf(target))
  }

  const scoping: BudgetScoping = {
    require(target, scope) {
      if (!isInScope(target, scope)) throw createNotFoundError({ name: target.type }, ownerOf(target) ?? '')
    },
    checkLimit(target, { limitUsd }, scope) {
      const limits = groups
        .groupsOf(userOf(target))
        .filter(scope.hasGroup)
        .flatMap((id) => groups.group(id)?.budget?.limitUsd ?? [])
      const max = Math.min(...limits)
      if (limitUsd <= max) return
      const advice = 'Ask an operator without a scope.'
      const message = `limit_usd may be at most ${max}, the budget of the group. ${advice}`
      throw new GatewayError('scope_exceeded', message, { param: 'limit_usd' })
    },
  }
  return scoping
}
