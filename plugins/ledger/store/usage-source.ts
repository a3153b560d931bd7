import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import { type LedgerTables, MEASURES } from './tables.ts'
import { HOURS_PER_DAY } from './units.ts'

/** What a sum of usage needs to know. */
export interface UsageScope {
  /** Hours since 1970; `until` is not part of the range. */
  readonly since: number
  readonly until: number
  readonly userId?: number | undefined
  /** The label of a key. */
  readonly key?: number | undefined
  /** Users or keys are told apart. */
  readonly isByCaller: boolean
  readonly isByRule?: boolean
  /** Hours are told apart. */
  readonly needsHours?: boolean
}

type HourTable = 'usage_hours' | 'usage_totals' | 'usage_rules'
type DayTable = 'usage_days' | 'usage_rule_days'

/** The columns of the chosen tables. Those that a table does not have must not be used. */
type UsageSource = SelectQueryBuilder<LedgerTables, never, LedgerTables['usage_rules']>

/**
 * Selects the rows to sum up: from a table by day for the whole days of the range, if there is one, and by
 * hour for the rest. See docs/decisions/ledger.md, "Usage is summed up by hour and by day when it is
 * written".
 */
export function selectUsage(db: Kysely<LedgerTables>, scope: UsageScope): UsageSource {
  const { since, until } = scope
  const { hours, days, columns } = chooseTables(scope)
  const selectHours = (from: number, to: number) => selectRows(db, hours, 'hour', columns, scope, from, to)
  const firstDay = Math.ceil(since / HOURS_PER_DAY)
  const endDay = Math.floor(until / HOURS_PER_DAY)
  if (days === undefined || firstDay >= endDay) return selectHours(since, until)
  let source = selectRows(db, days, 'day', columns, scope, firstDay, endDay)
  if (since < firstDay * HOURS_PER_DAY) source = source.unionAll(selectHours(since, firstDay * HOURS_PER_DAY))
  if (until > endDay * HOURS_PER_DAY) source = source.unionAll(selectHours(endDay * HOURS_PER_DAY, until))
  return source
}

interface UsageTables {
  readonly hours: HourTable
  readonly days: DayTable | undefined
  /** The key without the time. */
  readonly columns: readonly string[]
}

function chooseTables({ isByCaller, isByRule = false, needsHours = false }: UsageScope): UsageTables {
  const rule = isByRule ? ['kind', 'rule_id'] : []
  const caller = isByCaller ? ['user_id', 'key'] : []
  const columns = [...rule, ...caller, 'target']
  if (isByRule)
    return { hours: 'usage_rules', days: isByCaller || needsHours ? undefined : 'usage_rule_days', columns }
  // There are few totals: by day they would not be fewer by much.
  if (!isByCaller) return { hours: 'usage_totals', days: undefined, columns }
  return { hours: 'usage_hours', days: needsHours ? undefined : 'usage_days', columns }
}

function selectRows(
  db: Kysely<LedgerTables>,
  table: HourTable | DayTable,
  time: 'hour' | 'day',
  columns: readonly string[],
  { userId, key }: UsageScope,
  from: number,
  to: number,
): UsageSource {
  const hour = time === 'hour' ? sql<number>`hour` : sql<number>`day * ${sql.lit(HOURS_PER_DAY)}`
  let rows = db
    .selectFrom(table as 'usage_rules')
    .select([hour.as('hour'), ...([...columns, ...MEASURES] as (keyof LedgerTables['usage_rules'])[])])
    .where(sql.ref(time), '>=', from)
    .where(sql.ref(time), '<', to)
  if (userId !== undefined) rows = rows.where('user_id', '=', userId)
  if (key !== undefined) rows = rows.where('key', '=', key)
  // Only the tables of the query differ, which matter while it is built.
  return rows as unknown as UsageSource
}
