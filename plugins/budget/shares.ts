import { NANOS_PER_USD } from '../../core/prices/cost.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Budget } from '../../projections/events/budgets.ts'
import type { Groups } from '../../projections/groups.ts'
import type { OverallBudget } from '../../projections/overall-budget.ts'
import { type BudgetTarget, counterKey } from './owned-budget.ts'
import { periodAt, rangeOf } from './periods.ts'
import { type CostLedger, toQuery } from './spending.ts'

interface BudgetOwners {
  readonly accounts: Pick<Accounts, 'users'>
  readonly groups: Pick<Groups, 'groups'>
  readonly overallBudget: Pick<OverallBudget, 'current' | 'shadow'>
  readonly ledger: CostLedger
}

/** How much of a budget is spent in its current period. */
export interface BudgetShare {
  /** Differs between any two budgets, and between their periods. */
  readonly id: string
  /** Names what the budget is for. */
  readonly title: string
  readonly budget: Budget
  readonly share: number
  /** The share as text, such as `83 %`. */
  readonly percent: string
  readonly ids: { readonly user_id?: number; readonly group_id?: number }
}

type NamedBudget = Pick<BudgetShare, 'title' | 'budget' | 'ids'> & { readonly target: BudgetTarget }

/** Budgets that are looked at; more would take too long. */
const MAX_BUDGETS = 200

/** Returns what is spent of the first budgets. Rejects if the ledger is away. */
export async function readBudgetShares(owners: BudgetOwners, now: number): Promise<readonly BudgetShare[]> {
  const shares: BudgetShare[] = []
  for (const { target, ...named } of listBudgets(owners).slice(0, MAX_BUDGETS)) {
    const { budget } = named
    const range = rangeOf(periodAt(budget.period, now))
    const { cost } = await owners.ledger.sumCosts({ ...range, ...toQuery(target) })
    const share = cost / NANOS_PER_USD / budget.limitUsd
    const percent = Number.isFinite(share) ? `${Math.floor(share * 100)} %` : 'All'
    shares.push({ ...named, id: counterKey({ target, budget }, now), share, percent })
  }
  return shares
}

function listBudgets({ accounts, groups, overallBudget }: BudgetOwners): readonly NamedBudget[] {
  const budgets: NamedBudget[] = []
  const overall = overallBudget.current()
  if (overall) budgets.push({ title: 'everything', budget: overall, target: { type: 'all' }, ids: {} })
  const ofCopies = overallBudget.shadow()
  if (ofCopies)
    budgets.push({ title: 'copies for other models', budget: ofCopies, target: { type: 'shadow' }, ids: {} })
  for (const { id, name, budget } of groups.groups()) {
    const target = { type: 'group' as const, groupId: id }
    if (budget) budgets.push({ title: `group "${name}"`, budget, target, ids: { group_id: id } })
  }
  for (const { id, name, budget, keys } of accounts.users()) {
    const ids = { user_id: id }
    if (budget) budgets.push({ title: `user "${name}"`, budget, target: { type: 'user', userId: id }, ids })
    for (const { id: keyId, budget: ofKey, revokedAt } of keys) {
      const target = { type: 'key' as const, keyId }
      if (ofKey && revokedAt === null) budgets.push({ title: `key ${keyId}`, budget: ofKey, target, ids })
    }
  }
  return budgets
}
