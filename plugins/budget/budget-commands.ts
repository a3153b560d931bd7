import { isDeepStrictEqual } from 'node:util'
import type { Author } from '../../core/contract/index.ts'
import type { EntityChange } from '../../core/resources/changes.ts'
import { createNotFoundError } from '../../core/resources/resource.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import type { AsOf } from '../../core/util/as-of.ts'
import { type Budget, OVERALL_BUDGET_STREAM } from '../../projections/events/budgets.ts'
import { groupStream } from '../../projections/events/groups.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { userStream } from '../../projections/events/users.ts'
import type { GatewayState } from '../../projections/state.ts'
import {
  type BudgetTarget,
  budgetIn,
  findTarget,
  nameTarget,
  type OwnedBudget,
  ownerOf,
} from './owned-budget.ts'

type BudgetServices = Pick<GatewayState, 'accounts' | 'groups' | 'overallBudget' | 'writer' | 'history'>

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
  /** All changes of a budget, oldest first; none for an owner that does not exist. */
  history(target: BudgetTarget, asOf?: AsOf): Promise<readonly EntityChange<Budget>[]>
}

export function createBudgetCommands(services: BudgetServices): BudgetCommands {
  const { groups, writer, history } = services

  function find(target: BudgetTarget): Budget | undefined {
    const owner = locate(target, services).owner()
    if (owner !== undefined) return owner.budget
    throw createNotFoundError({ name: target.type }, ownerOf(target) ?? '')
  }

  return {
    find,
    async change(target, budget, author, check) {
      const { stream, revision } = locate(target, services)
      let isNew = false
      const decide = () => {
        const current = find(target)
        check?.(current)
        isNew = budget !== undefined && current?.period !== budget.period
        return isDeepStrictEqual(current, budget) ? [] : [toBudgetEvent(target, budget, services)]
      }
      await answerInTime(writer.write({ stream, revision, decide }, author))
      return isNew
    },
    async history(target, asOf) {
      const changes: EntityChange<Budget>[] = []
      const name = nameTarget(target)
      let before: Budget | undefined
      for (const { record, event } of await history.eventsOf(locate(target, services).stream, asOf)) {
        if (event === undefined || groups.withoutEffect().has(record.position)) continue
        const [changed, after] = [findTarget(event), budgetIn(event)]
        if (!changed || nameTarget(changed) !== name || before === after) continue
        changes.push({ record, event, before, after, noEffect: undefined })
        before = after
      }
      return changes
    },
  }
}

interface BudgetState {
  readonly accounts: Pick<GatewayState['accounts'], 'user' | 'ownerOfKey'>
  readonly groups: Pick<GatewayState['groups'], 'group' | 'revision'>
  readonly overallBudget: Pick<GatewayState['overallBudget'], 'current' | 'shadow' | 'revision'>
}

/**
 * What has a budget, undefined if it does not exist, and the events of the budget without its terms. See
 * docs/decisions/limits.md, "A budget is not declared as a resource".
 */
function locate(target: BudgetTarget, { accounts, groups, overallBudget }: BudgetState) {
  switch (target.type) {
    case 'user':
    case 'key': {
      const keyId = target.type === 'key' ? target.keyId : undefined
      const userId = target.type === 'key' ? (accounts.ownerOfKey(target.keyId)?.id ?? 0) : target.userId
      const user = () => accounts.user(userId)
      return {
        owner: () => (keyId === undefined ? user() : user()?.keys.find(({ id }) => id === keyId)),
        stream: userStream(userId),
        revision: () => user()?.revision ?? -1,
        types: ['BudgetSet', 'BudgetRemoved'],
        data: { userId, ...(keyId !== undefined && { keyId }) },
      }
    }
    case 'group': {
      const { groupId } = target
      return {
        owner: () => groups.group(groupId),
        stream: groupStream(groupId),
        revision: () => groups.revision(groupId),
        types: ['GroupBudgetSet', 'GroupBudgetRemoved'],
        data: { groupId },
      }
    }
    case 'all':
    case 'shadow': {
      const isAll = target.type === 'all'
      const find = isAll ? overallBudget.current : overallBudget.shadow
      return {
        owner: () => ({ budget: find() }),
        stream: OVERALL_BUDGET_STREAM,
        revision: overallBudget.revision,
        types: isAll
          ? ['OverallBudgetSet', 'OverallBudgetRemoved']
          : ['ShadowBudgetSet', 'ShadowBudgetRemoved'],
        data: {},
      }
    }
  }
}

/** Undefined for an owner that does not exist, too. */
export function findBudget(target: BudgetTarget, state: BudgetState): Budget | undefined {
  return locate(target, state).owner()?.budget
}

/** The event that sets a budget, or removes it. */
export function toBudgetEvent(
  target: BudgetTarget,
  budget: Budget | undefined,
  state: BudgetState,
): DomainEvent {
  const { types, data } = locate(target, state)
  const [set, removed] = types
  // The cast is safe: the types have this data.
  return (budget ? { type: set, data: { ...data, budget } } : { type: removed, data }) as DomainEvent
}

/** Returns the budgets that events are about to set where there is none of the same period. */
export function findNewBudgets(events: readonly DomainEvent[], state: BudgetState): readonly OwnedBudget[] {
  return events.flatMap((event) => {
    const [target, budget] = [findTarget(event), budgetIn(event)]
    const isNew = target && budget && findBudget(target, state)?.period !== budget.period
    return isNew ? [{ target, budget }] : []
  })
}
