import type { Transaction } from 'kysely'
import { insertAll } from './insert-rows.ts'
import { HOURS_PER_DAY } from './record-id.ts'
import { hourOf } from './rows.ts'
import {
  type LedgerTables,
  MEASURES,
  type RequestRow,
  type TraceRuleRow,
  type UsageMeasures,
} from './tables.ts'

/** What one request adds to usage. */
export interface UsageChange {
  readonly request: Pick<RequestRow, 'id' | 'user_id' | 'key' | 'group_set' | 'target' | 'shadow_of'>
  /** The rules that did something. */
  readonly rules: readonly Pick<TraceRuleRow, 'kind' | 'rule_id'>[]
  readonly measures: UsageMeasures
}

/** Adds to the sums by hour, day, caller and rule, in the transaction that changes what is summed up. */
export async function addToUsage(
  db: Transaction<LedgerTables>,
  changes: readonly UsageChange[],
): Promise<void> {
  const hours = new UsageSums<HourKey>()
  const [days, totals] = [new UsageSums(), new UsageSums()]
  const ofRules = createRuleSums()
  // Everything is added up from the sums of callers instead of from every record: that takes as long as the
  // rest of a row, and ten times as long for ten rules.
  for (const [rules, sums] of sumByRules(changes)) {
    for (const { measures, key: caller } of sums.entries()) {
      hours.add(caller, measures)
      for (const rule of rules) addToRule(ofRules, rule, caller, measures)
    }
  }
  for (const { key: caller, measures } of hours.entries()) {
    days.add({ day: dayOf(caller), ...withoutHour(caller) }, measures)
    totals.add({ hour: caller.hour, target: caller.target }, measures)
  }
  await addUsage(db, 'usage_hours', hours)
  await addUsage(db, 'usage_totals', totals)
  await addUsage(db, 'usage_rules', ofRules.byRule)
  await addUsage(db, 'usage_days', days)
  await addUsage(db, 'usage_rule_days', ofRules.ruleDays)
}

/** What one call of a tool adds to the usage of rules. */
export interface RuleHits {
  readonly caller: Omit<HourKey, 'target'>
  /** The rules that did something. */
  readonly rules: UsageChange['rules']
  readonly isError: boolean
}

/** Adds calls of tools to the sums by rule. They have no model, and are no requests in other sums. */
export async function addRuleHits(db: Transaction<LedgerTables>, hits: readonly RuleHits[]): Promise<void> {
  const sums = createRuleSums()
  for (const { caller, rules, isError } of hits) {
    const key = { ...caller, target: 0 }
    const measures = { ...NO_MEASURES, requests: 1, errors: isError ? 1 : 0 }
    for (const rule of distinctRules(rules)) addToRule(sums, rule, key, measures)
  }
  await addUsage(db, 'usage_rules', sums.byRule)
  await addUsage(db, 'usage_rule_days', sums.ruleDays)
}

interface RuleSums {
  readonly byRule: UsageSums
  readonly ruleDays: UsageSums
}

function createRuleSums(): RuleSums {
  return { byRule: new UsageSums(), ruleDays: new UsageSums() }
}

function addToRule(
  { byRule, ruleDays }: RuleSums,
  rule: RuleKey,
  caller: HourKey,
  measures: UsageMeasures,
): void {
  byRule.add({ hour: caller.hour, ...rule, ...withoutHour(caller) }, measures)
  ruleDays.add({ day: dayOf(caller), ...rule, target: caller.target }, measures)
}

/** Sums the requests of each hour, caller and target that the same rules did something to. */
function sumByRules(changes: readonly UsageChange[]): ReadonlyMap<readonly RuleKey[], UsageSums<HourKey>> {
  const sumsOf = new Map<UsageChange['rules'], UsageSums<HourKey>>()
  const sums = new Map<readonly RuleKey[], UsageSums<HourKey>>()
  for (const { request, rules, measures } of changes) {
    // Users neither asked for copies nor pay for them.
    if (request.shadow_of !== null) continue
    let own = sumsOf.get(rules)
    if (own === undefined) {
      own = new UsageSums<HourKey>()
      sumsOf.set(rules, own)
      sums.set(distinctRules(rules), own)
    }
    const { user_id, key } = request
    const group_set = request.group_set ?? 0
    own.add({ hour: hourOf(request), user_id, key, group_set, target: request.target ?? 0 }, measures)
  }
  return sums
}

type RuleKey = Pick<TraceRuleRow, 'kind' | 'rule_id'>

/** A rule with several actions counts once. */
function distinctRules(rules: UsageChange['rules']): readonly RuleKey[] {
  const distinct = new Map(rules.map(({ kind, rule_id }) => [`${kind} ${rule_id}`, { kind, rule_id }]))
  return [...distinct.values()]
}

function dayOf({ hour }: HourKey): number {
  return Math.floor(hour / HOURS_PER_DAY)
}

function withoutHour({ user_id, key, group_set, target }: HourKey): Omit<HourKey, 'hour'> {
  return { user_id, key, group_set, target }
}

type UsageTable = 'usage_hours' | 'usage_totals' | 'usage_rules' | 'usage_days' | 'usage_rule_days'
type UsageKey = Readonly<Record<string, number>>
type HourKey = Omit<LedgerTables['usage_hours'], keyof UsageMeasures>

interface UsageSum<Key> {
  readonly key: Key
  readonly values: readonly number[]
  readonly measures: UsageMeasures
}

const NO_MEASURES = Object.fromEntries(MEASURES.map((measure) => [measure, 0])) as unknown as UsageMeasures

function isSameKey(one: UsageKey, other: UsageKey): boolean {
  for (const column in one) if (one[column] !== other[column]) return false
  return true
}

/** The measures of a batch by key. */
class UsageSums<Key extends UsageKey = UsageKey> {
  readonly #rows = new Map<string, UsageSum<Key>>()
  #last: UsageSum<Key> | undefined

  add(key: Key, measures: UsageMeasures): void {
    const row = this.#find(key)
    for (const measure of MEASURES) row.measures[measure] += measures[measure]
  }

  /** Neighbours mostly have the same key. */
  #find(key: Key): UsageSum<Key> {
    if (this.#last !== undefined && isSameKey(this.#last.key, key)) return this.#last
    const values = Object.values(key)
    const name = values.join(' ')
    let row = this.#rows.get(name)
    if (row === undefined) {
      row = { key, values, measures: { ...NO_MEASURES } }
      this.#rows.set(name, row)
    }
    this.#last = row
    return row
  }

  entries(): Iterable<{ readonly key: Key; readonly measures: UsageMeasures }> {
    return this.#rows.values()
  }

  /** In the order of the key, so that gateways that write at the same time lock rows in the same order. */
  rows(): readonly (Key & UsageMeasures)[] {
    return [...this.#rows.values()]
      .sort((a, b) => compareKeys(a.values, b.values))
      .map(({ key, measures }) => ({ ...key, ...measures }))
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
