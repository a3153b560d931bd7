import type { Budget } from '../../projections/events/budgets.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { type BudgetSource, budgetsOf, type OwnedBudget } from '../budget/index.ts'
import type { CurrentCaller, WhatIfJob } from './job.ts'

/** Whose budget a request counts in. */
export interface BudgetCaller {
  readonly userId: number
  readonly keyId: string
  readonly groups: readonly number[]
}

/** Returns the budgets that apply to a request. */
export type FindBudgets = (caller: BudgetCaller) => readonly OwnedBudget[]

/** The budgets as they are, and with the drafts. */
export class DraftedBudgets {
  readonly before: BudgetVersion
  readonly after: BudgetVersion

  constructor({ budgets, events }: Pick<WhatIfJob, 'budgets' | 'events'>) {
    this.before = new BudgetVersion(budgets)
    this.after = new BudgetVersion(budgets)
    for (const event of events) this.after.apply(event)
  }

  /** Budgets of users and keys are known once the user is. */
  addCaller({ userId, budget, keys }: Pick<CurrentCaller, 'userId' | 'budget' | 'keys'>): void {
    for (const version of [this.before, this.after]) {
      version.addCurrent(`user ${userId}`, budget)
      for (const key of keys) version.addCurrent(`key ${key.id}`, key.budget)
    }
  }
}

export class BudgetVersion {
  /** By owner; undefined for a budget that the drafts remove. */
  readonly #budgets = new Map<string, Budget | undefined>()

  constructor({ overall, groups }: WhatIfJob['budgets']) {
    this.addCurrent('all', overall)
    for (const [id, budget] of groups) this.addCurrent(`group ${id}`, budget)
  }

  /** Drafts come first: what they set stays. */
  addCurrent(owner: string, budget: Budget | undefined): void {
    if (budget !== undefined && !this.#budgets.has(owner)) this.#budgets.set(owner, budget)
  }

  apply({ type, data }: DomainEvent): void {
    if (type === 'BudgetSet') this.#budgets.set(ownerOf(data), data.budget)
    else if (type === 'BudgetRemoved') this.#budgets.set(ownerOf(data), undefined)
    else if (type === 'GroupBudgetSet') this.#budgets.set(`group ${data.groupId}`, data.budget)
    else if (type === 'GroupBudgetRemoved' || type === 'GroupDeleted')
      this.#budgets.set(`group ${data.groupId}`, undefined)
    else if (type === 'OverallBudgetSet') this.#budgets.set('all', data.budget)
    else if (type === 'OverallBudgetRemoved') this.#budgets.set('all', undefined)
  }

  get overall(): Budget | undefined {
    return this.#budgets.get('all')
  }

  readonly find: FindBudgets = ({ userId, keyId, groups }) =>
    budgetsOf({ userId, keyId }, this.#accounts, { ...this.#groups, groupsOf: () => groups }, this.#all)

  readonly #accounts: BudgetSource['accounts'] = {
    user: (id) => toOwner(this.#budgets.get(`user ${id}`)),
    budgetOfKey: (id) => this.#budgets.get(`key ${id}`),
  }
  readonly #groups = { group: (id: number) => toOwner(this.#budgets.get(`group ${id}`)) }
  readonly #all = { current: () => this.overall }
}

function ownerOf({ userId, keyId }: { readonly userId: number; readonly keyId?: string }): string {
  return keyId === undefined ? `user ${userId}` : `key ${keyId}`
}

function toOwner(budget: Budget | undefined) {
  return budget && { budget }
}
