import { isDeepStrictEqual } from 'node:util'
import { type Author, GatewayError } from '../../core/contract/index.ts'
import type { DomainEvent } from '../../core/events/codec.ts'
import { type Budget, OVERALL_BUDGET_STREAM, userStream } from '../../core/events/domain-events.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { OverallBudget } from '../../projections/overall-budget.ts'
import { answerInTime, type EventWriter } from '../../projections/runtime/write.ts'
import type { BudgetTarget } from './owned-budget.ts'

export interface BudgetServices {
  readonly accounts: Pick<Accounts, 'user' | 'ownerOfKey' | 'budgetOfKey'>
  readonly overallBudget: Pick<OverallBudget, 'current' | 'revision'>
  readonly writer: EventWriter
}

/** Changes to budgets. Each resolves when all processes of this node apply it. */
export interface BudgetCommands {
  /** Undefined if there is none. Throws 404 for an unknown user or key. */
  find(target: BudgetTarget): Budget | undefined
  /** Sets a budget, or removes it. Does nothing if that is so already. */
  change(target: BudgetTarget, budget: Budget | undefined, author: Author): Promise<void>
}

export function createBudgetCommands({ accounts, overallBudget, writer }: BudgetServices): BudgetCommands {
  /** Returns the user that a budget belongs to, and the key that has it. */
  function findOwner(target: Exclude<BudgetTarget, { type: 'all' }>) {
    const isKey = target.type === 'key'
    const user = isKey ? accounts.ownerOfKey(target.keyId) : accounts.user(target.userId)
    const key = isKey ? user?.keys.find(({ id }) => id === target.keyId) : undefined
    if (user !== undefined) return { user, key, budget: isKey ? key?.budget : user.budget }
    const name = isKey ? `Key ${target.keyId}` : `User ${target.userId}`
    throw new GatewayError('not_found', `${name} was not found.`)
  }

  function find(target: BudgetTarget): Budget | undefined {
    return target.type === 'all' ? overallBudget.current() : findOwner(target).budget
  }

  function toEvent(target: BudgetTarget, budget: Budget | undefined): DomainEvent {
    if (target.type === 'all')
      return budget
        ? { type: 'OverallBudgetSet', data: { budget } }
        : { type: 'OverallBudgetRemoved', data: {} }
    const { user, key } = findOwner(target)
    const owner = { userId: user.id, ...(key && { keyId: key.id }) }
    return budget ? { type: 'BudgetSet', data: { ...owner, budget } } : { type: 'BudgetRemoved', data: owner }
  }

  return {
    find,
    async change(target, budget, author) {
      const decide = () => (isDeepStrictEqual(find(target), budget) ? [] : [toEvent(target, budget)])
      const { stream, revision } =
        target.type === 'all'
          ? { stream: OVERALL_BUDGET_STREAM, revision: overallBudget.revision }
          : {
              stream: userStream(findOwner(target).user.id),
              revision: () => findOwner(target).user.revision,
            }
      await answerInTime(writer.write({ stream, revision, decide }, author))
    },
  }
}
