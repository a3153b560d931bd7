import { type EndedExchange, type MaybePromise, service } from '../../core/contract/index.ts'
import type { GuardOptions } from './guard.ts'
import type { OwnedBudget } from './owned-budget.ts'

export { findBudget, findNewBudgets, toBudgetEvent } from './budget-commands.ts'
export { parseBudget } from './endpoints.ts'
export { budgetUnavailable } from './errors.ts'
export { BudgetGuard, type GuardOptions } from './guard.ts'
export { type BudgetSource, type BudgetTarget, budgetsOf, type OwnedBudget } from './owned-budget.ts'
export { periodAt, rangeOf } from './periods.ts'
export { type BudgetShare, readBudgetShares } from './shares.ts'
export { type CostLedger, Spending } from './spending.ts'

/** What other plugins need of budgets. */
export interface Budgets {
  /** Call after a budget was set where none of its period was. See `Spending.catchUp`. */
  catchUp(owned: OwnedBudget): Promise<void>
  /** Reserves what a copy of a request may cost. Throws a `GatewayError` if the budgets do not cover it. */
  reserveCopy(exchange: EndedExchange): MaybePromise<void>
  settleCopy(exchange: EndedExchange): void
}

export const Budgets = service<Budgets>('budget')

/** The options of the plugin, for replaying budgets. */
export const BudgetOptions = service<GuardOptions>('budget.options')
