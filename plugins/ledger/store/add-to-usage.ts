import type { Transaction } from 'kysely'
import { insertAll } from './insert-rows.ts'
import { hourOf } from './rows.ts'
import {
  type LedgerTables,
  MEASURES,
  type RequestRow,
  type RequestRuleRow,
  type UsageMeasures,
} from './tables.ts'
import { HOURS_PER_DAY } from './units.ts'

/** What one request adds to usage. */
export interface UsageChange {
  readonly request: Pick<RequestRow, 'id' | 'user_id' | 'key' | 'group_set' | 'target' | 'shadow_of'>
  /** The rules that did something. */
  readonly rules: readonly Pick<RequestRuleRow, 'kind' | 'rule_id'>[]
  readonly measures: UsageMeasures
}

/** Adds to the sums by hour, day, caller and rule, in the transaction that changes what is summed up. */
export async function addToUsage(
  db: Transaction<LedgerTables>,
  changes: readonly UsageChange[],
): Promise<void> {
  const hours = new UsageSums<HourKey>()
  const [days, totals] = [new UsageSums(), new UsageSums()]
  const [byRule, ruleDays] = [new UsageSums(), new UsageSums()]
  for (const { request, rules, measures } of changes) {
    // Users neither asked for copies nor pay for them.
    if (request.shadow_of !== null) continue
    const { user_id, key } = request
    const group_set = request.group_set ?? 0
    const [hour, target] = [hourOf(request), request.target ?? 0]
    const day = Math.floor(hour / HOURS_PER_DAY)
    hours.add({ hour, user_id, key, group_set, target }, measures)
    // A rule with several actions counts once.
    const ruleKeys = new Map(rules.map(({ kind, rule_id }) => [`${kind} ${rule_id}`, { kind, rule_id }]))
    for (const { kind, rule_id } of ruleKeys.values()) {
      byRule.add({ hour, kind, rule_id, user_id, key, group_set, target }, measures)
      ruleDays.add({ day, kind, rule_id, target }, measures)
    }
  }
  // From the sums instead of every record: adding takes as long as the rest of a row.
  for (const { hour, user_id, key, group_set, target, ...measures } of hours.rows()) {
    days.add({ day: Math.floor(hour / HOURS_PER_DAY), user_id, key, group_set, target }, measures)
    totals.add({ hour, target }, measures)
  }
  await addUsage(db, 'usage_hours', hours)
  await addUsage(db, 'usage_totals', totals)
  await addUsage(db, 'usage_rules', byRule)
  await addUsage(db, 'usage_days', days)
  await addUsage(db, 'usage_rule_days', ruleDays)
}

type UsageTable = 'usage_hours' | 'usage_totals' | 'usage_rules' | 'usage_days' | 'usage_rule_days'
type UsageKey = Readonly<Record<string, number>>
type HourKey = Omit<LedgerTables['usage_hours'], keyof UsageMeasures>

/** The measures of a batch by key. */
class UsageSums<Key extends UsageKey = UsageKey> {
  readonly #rows = new Map<string, { key: Key; values: readonly number[]; sums: UsageMeasures }>()

  add(key: Key, measures: UsageMeasures): void {
    const values = Object.values(key)
    const name = values.join(' ')
    const row = this.#rows.get(name)
    if (row === undefined) this.#rows.set(name, { key, values, sums: { ...measures } })
    else for (const measure of MEASURES) row.sums[measure] += measures[measure]
  }

  /** In the order of the key, so that gateways that write at the same time lock rows in the same order. */
  rows(): readonly (Key & UsageMeasures)[] {
    return [...this.#rows.values()]
      .sort((a, b) => compareKeys(a.values, b.values))
      .map(({ key, sums }) => ({ ...key, ...sums }))
  }

  keyColumns(): readonly string[] {
    const [first] = this.#rows.values()
    return Object.keys(first?.key ?? {})
  }
}

function compareKeys(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) if (value !== b[index]) return value - (b[index] ?? 0)
  return 0
}

async function addUsage<Key extends UsageKey>(
  db: Transaction<LedgerTables>,
  table: UsageTable,
  usage: UsageSums<Key>,
): Promise<void> {
  const columns = usage.keyColumns()
  await insertAll(db, table, usage.rows(), columns)
}
