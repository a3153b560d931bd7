import { isDeepStrictEqual } from 'node:util'
import { type Author, GatewayError } from '../../core/contract/index.ts'
import type { DomainEvent } from '../../core/events/codec.ts'
import { type Budget, OVERALL_BUDGET_STREAM, userStream } from '../../core/events/domain-events.ts'
import { groupStream } from '../../core/events/policy-events.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Group, Groups } from '../../projections/groups.ts'
import type { OverallBudget } from '../../projections/overall-budget.ts'
import { answerInTime, type EventWriter } from '../../projections/runtime/write.ts'
import { groupNotFoundError } from '../policies/group-commands.ts'
import type { BudgetTarget } from './owned-budget.ts'

export interface BudgetServices {
  readonly accounts: Pick<Accounts, 'user' | 'ownerOfKey' | 'budgetOfKey'>
  readonly groups: Pick<Groups, 'group' | 'groupsOf' | 'revision'>
  readonly overallBudget: Pick<OverallBudget, 'current' | 'shadow' | 'revision'>
  readonly writer: EventWriter
}

/** Changes to budgets. Each resolves when all processes of this node apply it. */
export interface BudgetCommands {
  /** Undefined if there is none. Throws 404 for an unknown user, key or group. */
  find(target: BudgetTarget): Budget | undefined
  /** Sets a budget, or removes it. Does nothing if that is so already. */
  change(target: BudgetTarget, budget: Budget | undefined, author: Author): Promise<void>
}

export function createBudgetCommands(services: BudgetServices): BudgetCommands {
  const { accounts, groups, overallBudget, writer } = services

  /** Returns the user that a budget belongs to, and the key that has it. */
  function findOwner(target: Extract<BudgetTarget, { type: 'user' | 'key' }>) {
    const isKey = target.type === 'key'
    const user = isKey ? accounts.ownerOfKey(target.keyId) : accounts.user(target.userId)
    const key = isKey ? user?.keys.find(({ id }) => id === target.keyId) : undefined
    if (user !== undefined) return { user, key, budget: isKey ? key?.budget : user.budget }
    const name = isKey ? `Key ${target.keyId}` : `User ${target.userId}`
    throw new GatewayError('not_found', `${name} was not found.`)
  }

  function requireGroup(id: number): Group {
    const group = groups.group(id)
    if (group !== undefined) return group
    throw groupNotFoundError(id)
  }

  function find(target: BudgetTarget): Budget | undefined {
    if (target.type === 'all') return overallBudget.current()
    if (target.type === 'shadow') return overallBudget.shadow()
    return target.type === 'group' ? requireGroup(target.groupId).budget : findOwner(target).budget
  }

  function toEvent(target: BudgetTarget, budget: Budget | undefined): DomainEvent {
    if (target.type === 'all')
      return budget
        ? { type: 'OverallBudgetSet', data: { budget } }
        : { type: 'OverallBudgetRemoved', data: {} }
    if (target.type === 'shadow')
      return budget
        ? { type: 'ShadowBudgetSet', data: { budget } }
        : { type: 'ShadowBudgetRemoved', data: {} }
    if (target.type === 'group') {
      const { groupId } = target
      return budget
        ? { type: 'GroupBudgetSet', data: { groupId, budget } }
        : { type: 'GroupBudgetRemoved', data: { groupId } }
    }
    const { user, key } = findOwner(target)
    const owner = { userId: user.id, ...(key && { keyId: key.id }) }
    return budget ? { type: 'BudgetSet', data: { ...owner, budget } } : { type: 'BudgetRemoved', data: owner }
  }

  /** Returns the stream of a budget, and a function that returns its current revision. */
  function locate(target: BudgetTarget) {
    if (target.type === 'all' || target.type === 'shadow')
      return { stream: OVERALL_BUDGET_STREAM, revision: overallBudget.revision }
    if (target.type === 'group') {
      const { id } = requireGroup(target.groupId)
      return { stream: groupStream(id), revision: () => groups.revision(id) }
    }
    return {
      stream: userStream(findOwner(target).user.id),
      revision: () => findOwner(target).user.revision,
    }
  }

  return {
    find,
    async change(target, budget, author) {
      const decide = () => (isDeepStrictEqual(find(target), budget) ? [] : [toEvent(target, budget)])
      await answerInTime(writer.write({ ...locate(target), decide }, author))
    },
  }
}
