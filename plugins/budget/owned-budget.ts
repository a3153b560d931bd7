import type { Account } from '../../core/contract/index.ts'
import { NANOS_PER_USD } from '../../core/prices/cost.ts'
import type { Budget } from '../../projections/events/budgets.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import type { OverallBudget } from '../../projections/overall-budget.ts'
import { type BudgetPeriod, isWithin, periodAt } from './periods.ts'

export const BUDGET_TARGETS = ['user', 'key', 'group', 'all', 'shadow'] as const

/**
 * Whose spending a budget limits: that of a user, of one key, of the users in a group, all of it, or that of
 * copies for other models.
 */
export type BudgetTarget =
  | { readonly type: 'user'; readonly userId: number }
  | { readonly type: 'key'; readonly keyId: string }
  | { readonly type: 'group'; readonly groupId: number }
  | { readonly type: 'all' }
  | { readonly type: 'shadow' }

export interface OwnedBudget {
  readonly target: BudgetTarget
  readonly budget: Budget
}

/** Returns whose budget an event sets or removes, be it with its owner. */
export function findTarget({ type, data }: DomainEvent): BudgetTarget | undefined {
  switch (type) {
    case 'BudgetSet':
    case 'BudgetRemoved': {
      const { userId, keyId } = data
      return keyId === undefined ? { type: 'user', userId } : { type: 'key', keyId }
    }
    case 'UserDeleted':
      return { type: 'user', userId: data.userId }
    case 'GroupBudgetSet':
    case 'GroupBudgetRemoved':
    case 'GroupDeleted':
      return { type: 'group', groupId: data.groupId }
    case 'OverallBudgetSet':
    case 'OverallBudgetRemoved':
      return { type: 'all' }
    case 'ShadowBudgetSet':
    case 'ShadowBudgetRemoved':
      return { type: 'shadow' }
  }
}

/** The budget that an event of a target sets; undefined if it removes it. */
export function budgetIn({ data }: DomainEvent): Budget | undefined {
  return 'budget' in data ? data.budget : undefined
}

const NO_BUDGETS: readonly OwnedBudget[] = []

interface BudgetOwner {
  readonly budget?: Budget
}

/** The budgets of users, keys and groups. */
export interface BudgetSource {
  readonly accounts: {
    user(id: number): BudgetOwner | undefined
    budgetOfKey(keyId: string): Budget | undefined
  }
  readonly groups: {
    group(id: number): BudgetOwner | undefined
    groupsOf(userId: number): readonly number[]
  }
}

/** Returns the budgets that apply to a caller. Called for every request. */
export function budgetsOf(
  { userId, keyId }: Pick<Account, 'userId' | 'keyId'>,
  accounts: BudgetSource['accounts'],
  groups: BudgetSource['groups'],
  overall: Pick<OverallBudget, 'current'>,
): readonly OwnedBudget[] {
  const ofUser = accounts.user(userId)?.budget
  const ofKey = accounts.budgetOfKey(keyId)
  const ofAll = overall.current()
  const groupIds = groups.groupsOf(userId)
  if (!ofUser && !ofKey && !ofAll && groupIds.length === 0) return NO_BUDGETS
  const budgets: OwnedBudget[] = []
  if (ofUser) budgets.push({ target: { type: 'user', userId }, budget: ofUser })
  if (ofKey) budgets.push({ target: { type: 'key', keyId }, budget: ofKey })
  for (const groupId of groupIds) {
    const budget = groups.group(groupId)?.budget
    if (budget) budgets.push({ target: { type: 'group', groupId }, budget })
  }
  if (ofAll) budgets.push({ target: { type: 'all' }, budget: ofAll })
  return budgets
}

/**
 * Returns the budgets that apply to a copy for another model. `ofCaller`: those of the caller, if the caller
 * asked for it. See docs/decisions/limits.md, "Copies count for whoever asked for them".
 */
export function budgetsOfCopies(
  { current, shadow }: Pick<OverallBudget, 'current' | 'shadow'>,
  ofCaller: readonly OwnedBudget[],
): readonly OwnedBudget[] {
  const [ofCopies, ofAll] = [shadow(), current()]
  return [
    ...ofCaller.filter(({ target }) => target.type !== 'all'),
    ...(ofCopies ? [{ target: { type: 'shadow' as const }, budget: ofCopies }] : []),
    ...(ofAll ? [{ target: { type: 'all' as const }, budget: ofAll }] : []),
  ]
}

/** Counts what is spent of a budget in one of its periods. */
export interface BudgetCounter {
  readonly key: string
  readonly period: BudgetPeriod
}

interface KnownCounter extends BudgetCounter {
  readonly type: BudgetTarget['type']
  readonly owner: string | number | undefined
}

/** The latest counters: a key that is built for each request has to be hashed for each. */
const knownCounters = new WeakMap<Budget, KnownCounter>()

/** The counter of a budget in the period of `now`. Changes of its limit do not affect it. */
export function counterAt({ target, budget }: OwnedBudget, now: number): BudgetCounter {
  const { type } = target
  const owner = ownerOf(target)
  const known = knownCounters.get(budget)
  if (known?.type === type && known.owner === owner && isWithin(known.period, now)) return known
  const period = periodAt(budget.period, now)
  const counter = { type, owner, period, key: `${nameTarget(target)}:${period.id}` }
  knownCounters.set(budget, counter)
  return counter
}

export function counterKey(owned: OwnedBudget, now: number): string {
  return counterAt(owned, now).key
}

/** Differs between any two budgets. */
export function nameTarget(target: BudgetTarget): string {
  const owner = ownerOf(target)
  return owner === undefined ? target.type : `${target.type}-${owner}`
}

/** The id of the user, key or group; undefined for a budget without an owner. */
export function ownerOf(target: BudgetTarget): string | number | undefined {
  if (target.type === 'user') return target.userId
  if (target.type === 'group') return target.groupId
  return target.type === 'key' ? target.keyId : undefined
}

/**
 * Formats an amount as US dollars, without trailing zeros. See docs/decisions/limits.md, "Money is counted in
 * billionths of a dollar".
 */
export function formatUsd(nanoUsd: number): string {
  return (nanoUsd / NANOS_PER_USD).toFixed(9).replace(/\.?0+$/, '')
}
