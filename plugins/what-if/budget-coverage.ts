import type { BudgetTarget } from '../budget/index.ts'
import type { RequestFilter } from '../ledger/index.ts'

/** Whose requests are all among those that are read. */
export type Coverage = Readonly<Record<BudgetTarget['type'], boolean>>

/** Budgets can only be replayed with all requests that count in them. */
export function findCoverage({ since: _since, until: _until, ...filter }: RequestFilter): Coverage {
  const { userId, keyId, ...others } = filter
  const isNarrow = Object.values(others).some((value) => value !== undefined)
  const everything = !isNarrow && userId === undefined && keyId === undefined
  return {
    user: !isNarrow && keyId === undefined,
    key: !isNarrow,
    group: everything,
    all: everything,
    shadow: false,
  }
}
