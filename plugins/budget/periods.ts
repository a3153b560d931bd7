import type { Budget } from '../../projections/events/budgets.ts'

/** One period of a budget, in Unix milliseconds. */
export interface BudgetPeriod {
  /** Identifies the period among all of its length. */
  readonly id: string
  readonly startsAt: number
  /** Null for a budget that is never counted anew. */
  readonly endsAt: number | null
}

/**
 * The range of the requests that a period counts. It has an end, because a clock that ran ahead has recorded
 * requests of later periods.
 */
export function rangeOf({ startsAt, endsAt }: BudgetPeriod): {
  readonly since: number
  readonly until?: number
} {
  return { since: startsAt, ...(endsAt !== null && { until: endsAt }) }
}

const DAY_MS = 24 * 60 * 60 * 1000

const TOTAL: BudgetPeriod = { id: 'total', startsAt: 0, endsAt: null }

/** The period of the last call by its length: most requests are in the same one. */
const latest = new Map<Budget['period'], BudgetPeriod>()

/** Returns the period that a time is in. Days are UTC, and weeks begin on Mondays. */
export function periodAt(length: Budget['period'], now: number): BudgetPeriod {
  if (length === 'total') return TOTAL
  const known = latest.get(length)
  if (known !== undefined && isWithin(known, now)) return known
  const period = computePeriod(length, now)
  latest.set(length, period)
  return period
}

export function isWithin({ startsAt, endsAt }: BudgetPeriod, now: number): boolean {
  return startsAt <= now && (endsAt === null || now < endsAt)
}

function computePeriod(length: 'day' | 'week' | 'month', now: number): BudgetPeriod {
  const day = Math.floor(now / DAY_MS)
  if (length === 'day') return toPeriod(length, day * DAY_MS, (day + 1) * DAY_MS)
  if (length === 'week') {
    // 1 January 1970 was a Thursday.
    const monday = day - ((day + 3) % 7)
    return toPeriod(length, monday * DAY_MS, (monday + 7) * DAY_MS)
  }
  const date = new Date(now)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return toPeriod(length, Date.UTC(year, month), Date.UTC(year, month + 1))
}

function toPeriod(length: string, startsAt: number, endsAt: number): BudgetPeriod {
  return { id: `${length}-${new Date(startsAt).toISOString().slice(0, 10)}`, startsAt, endsAt }
}
