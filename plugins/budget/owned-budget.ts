import type { Account } from '../../core/contract/index.ts'
import type { Budget } from '../../core/events/domain-events.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { OverallBudget } from '../../projections/overall-budget.ts'
import { periodAt } from './periods.ts'

export const BUDGET_TARGETS = ['user', 'key', 'all'] as const

/** Whose spending a budget limits: a user's, that of one key, or all of it. */
export type BudgetTarget =
  | { readonly type: 'user'; readonly userId: number }
  | { readonly type: 'key'; readonly keyId: string }
  | { readonly type: 'all' }

export interface OwnedBudget {
  readonly target: BudgetTarget
  readonly budget: Budget
}

/** Returns the budgets that apply to a caller. */
export function budgetsOf(
  { userId, keyId }: Pick<Account, 'userId' | 'keyId'>,
  accounts: Pick<Accounts, 'user'>,
  overall: Pick<OverallBudget, 'current'>,
): readonly OwnedBudget[] {
  const user = accounts.user(userId)
  const budgets: OwnedBudget[] = []
  if (user?.budget) budgets.push({ target: { type: 'user', userId }, budget: user.budget })
  const keyBudget = user?.keys.find(({ id }) => id === keyId)?.budget
  if (keyBudget) budgets.push({ target: { type: 'key', keyId }, budget: keyBudget })
  const budget = overall.current()
  if (budget) budgets.push({ target: { type: 'all' }, budget })
  return budgets
}

/** The counter of a budget in the period of `now`. Changes of its limit do not affect it. */
export function counterKey({ target, budget }: OwnedBudget, now: number): string {
  return `${targetName(target)}:${periodAt(budget.period, now).id}`
}

function targetName(target: BudgetTarget): string {
  if (target.type === 'user') return `user-${target.userId}`
  return target.type === 'key' ? `key-${target.keyId}` : 'all'
}

/**
 * Money is counted in billionths of a dollar. See docs/decisions/limits.md, "Money is counted in billionths
 * of a dollar".
 */
export const NANOS_PER_USD = 1e9

export function toNanoUsd(usd: number): number {
  return Math.round(usd * NANOS_PER_USD)
}

/** Formats an amount as US dollars, without trailing zeros. */
export function formatUsd(nanoUsd: number): string {
  return (nanoUsd / NANOS_PER_USD).toFixed(9).replace(/\.?0+$/, '')
}
