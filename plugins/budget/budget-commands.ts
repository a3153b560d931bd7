import { isDeepStrictEqual } from 'node:util'
import { type Author, GatewayError } from '../../core/contract/index.ts'
import { createNotFoundError } from '../../core/resources/resource.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { type Budget, OVERALL_BUDGET_STREAM } from '../../projections/events/budgets.ts'
import { type Group, groupStream } from '../../projections/events/groups.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { userStream } from '../../projections/events/users.ts'
import type { Groups } from '../../projections/groups.ts'
import type { OverallBudget } from '../../projections/overall-budget.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { groups as groupResource } from '../policies/index.ts'
import type { BudgetTarget, OwnedBudget } from './owned-budget.ts'

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
  /**
   * Sets a budget, or removes it. Does nothing if that is so already. Resolves with true if there was no
   * budget of this period before. `check` may refuse the change of the budget as it is then.
   */
  change(
    target: BudgetTarget,
    budget: Budget | undefined,
    author: Author,
    check?: (current: Budget | undefined) => void,
  ): Promise<boolean>
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
    throw createNotFoundError(groupResource, id)
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
    async change(target, budget, author, check) {
      let isNew = false
      const decide = () => {
        const current = find(target)
        check?.(current)
        isNew = budget !== undefined && current?.period !== budget.period
        return isDeepStrictEqual(current, budget) ? [] : [toEvent(target, budget)]
      }
      await answerInTime(writer.write({ ...locate(target), decide }, author))
      return isNew
    },
  }
}

interface BudgetState extends Pick<BudgetServices, 'overallBudget'> {
  readonly accounts: Pick<Accounts, 'user'>
  readonly groups: Pick<Groups, 'group'>
}

/** Returns the budgets that events are about to set where there is none of the same period. */
export function findNewBudgets(
  events: readonly DomainEvent[],
  { accounts, groups, overallBudget }: BudgetState,
): readonly OwnedBudget[] {
  const found: OwnedBudget[] = []
  const add = (target: BudgetTarget, budget: Budget, current: Budget | undefined) => {
    if (current?.period !== budget.period) found.push({ target, budget })
  }
  for (const { type, data } of events) {
    if (type === 'OverallBudgetSet') add({ type: 'all' }, data.budget, overallBudget.current())
    else if (type === 'ShadowBudgetSet') add({ type: 'shadow' }, data.budget, overallBudget.shadow())
    else if (type === 'GroupBudgetSet')
      add({ type: 'group', groupId: data.groupId }, data.budget, groups.group(data.groupId)?.budget)
    else if (type === 'BudgetSet') {
      const { userId, keyId, budget } = data
      const user = accounts.user(userId)
      if (keyId === undefined) add({ type: 'user', userId }, budget, user?.budget)
      else add({ type: 'key', keyId }, budget, user?.keys.find(({ id }) => id === keyId)?.budget)
    }
  }
  return found
}
