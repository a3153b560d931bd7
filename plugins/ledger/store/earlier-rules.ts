import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import type { RuleTraceEntry } from '../../../core/contract/index.ts'
import type { UsageChange } from './add-to-usage.ts'
import { shorten } from './dictionary.ts'
import { insertAll } from './insert-rows.ts'
import { digestOfText, storeLists } from './list-dictionary.ts'
import { type IdRange, slotOf } from './record-id.ts'
import type { Conditions } from './resolve-filter.ts'
import type { LedgerEngine, LedgerTables, TraceSlotRow } from './tables.ts'
import { compareSlots, toSlotRows } from './trace-slots.ts'
import { DAY_MS } from './units.ts'

/**
 * What rules did as versions without lists recorded it: JSON in each request, and rows for each request. See
 * docs/decisions/ledger.md, "Earlier records are converted while the gateway works".
 */

/** Requests converted at once. Bounds how long a batch waits. */
const STEP_ROWS = 100

/**
 * Returns a function that converts some requests to lists, newest first, in a transaction of their own. It
 * resolves with true if there may be more. Gateways of the earlier version that share the ledger may add some
 * at any time.
 */
export function createRuleConversion(db: Kysely<LedgerTables>, engine: LedgerEngine): () => Promise<boolean> {
  // PostgreSQL's index has the converted ones until it is vacuumed; they must not be passed in each step.
  let below = Number.MAX_SAFE_INTEGER

  return async () => {
    const last = await db.transaction().execute((transaction) => convertSome(transaction, engine, below))
    const mayHaveMore = last !== undefined || below < Number.MAX_SAFE_INTEGER
    below = last ?? Number.MAX_SAFE_INTEGER
    return mayHaveMore
  }
}

/** Returns the lowest id that was converted; undefined if there are none below the given one. */
async function convertSome(
  db: Transaction<LedgerTables>,
  engine: LedgerEngine,
  below: number,
): Promise<number | undefined> {
  const found = await db
    .selectFrom('requests')
    .select('id')
    .where('rules', 'is not', null)
    .where('id', '<', below)
    .orderBy('id', 'desc')
    .limit(STEP_ROWS)
    // Those that another gateway converts at the moment.
    .$if(engine === 'postgres', (query) => query.forUpdate().skipLocked())
    .execute()
  if (found.length === 0) return undefined
  const ids = found.map(({ id }) => id)
  const rows = await db.selectFrom('requests').select(['id', 'rules']).where('id', 'in', ids).execute()
  await convertRows(db, rows)
  return ids.at(-1)
}

interface EarlierRow {
  readonly id: number
  readonly rules: string | null
}

async function convertRows(db: Transaction<LedgerTables>, rows: readonly EarlierRow[]): Promise<void> {
  const lists = new Map<string, { value: string; rules: readonly RuleTraceEntry[]; ids: number[] }>()
  for (const { id, rules: value } of rows) {
    if (value === null) continue
    const digest = digestOfText(value)
    const list = lists.get(digest) ?? { value, rules: parseTrace(value), ids: [] }
    list.ids.push(id)
    lists.set(digest, list)
  }
  const labels = await readLabels(
    db,
    [...lists.values()].flatMap(({ rules }) => rules),
  )
  const label = (value: string) => labels.get(shorten(value)) ?? 0
  const traces = await storeLists(db, lists, label, Math.floor(Date.now() / DAY_MS))
  const slots: TraceSlotRow[] = []
  const requestsOf = new Map<number, Map<number, number[]>>()
  for (const [digest, { rules, ids }] of lists) {
    const trace = traces.get(digest) ?? 0
    const applied = findApplied(rules).map((rule) => {
      return { kind: label(rule.kind), rule_id: rule.rule_id, action: label(rule.action) }
    })
    for (const { kind, rule_id } of applied) addTo(requestsOf, kind, rule_id, ids)
    for (const slot of new Set(ids.map(slotOf))) slots.push(...toSlotRows(trace, slot, applied))
    await db.updateTable('requests').set({ trace, rules: null }).where('id', 'in', ids).execute()
  }
  await insertAll(db, 'trace_slots', slots.sort(compareSlots), 'skip')
  // By rule, which the key begins with.
  for (const [kind, requestsOfRule] of requestsOf)
    for (const [ruleId, ids] of requestsOfRule)
      await db
        .deleteFrom('request_rules')
        .where('kind', '=', kind)
        .where('rule_id', '=', ruleId)
        .where('request', 'in', [...new Set(ids)])
        .execute()
}

function addTo(
  requestsOf: Map<number, Map<number, number[]>>,
  kind: number,
  ruleId: number,
  ids: readonly number[],
): void {
  const rules = requestsOf.get(kind) ?? new Map<number, number[]>()
  requestsOf.set(kind, rules.set(ruleId, [...(rules.get(ruleId) ?? []), ...ids]))
}

/** Only earlier versions of `toRows` wrote it. */
function parseTrace(text: string): readonly RuleTraceEntry[] {
  return JSON.parse(text) as readonly RuleTraceEntry[]
}

function findApplied(rules: readonly RuleTraceEntry[]): readonly RuleTraceEntry[] {
  return rules.filter(({ outcome }) => outcome === 'applied')
}

/** Every label of a trace was stored with it. */
async function readLabels(
  db: Kysely<LedgerTables>,
  rules: readonly RuleTraceEntry[],
): Promise<ReadonlyMap<string, number>> {
  const values = new Set(rules.flatMap(({ kind, action }) => [shorten(kind), shorten(action)]))
  if (values.size === 0) return new Map()
  const found = await db
    .selectFrom('labels')
    .selectAll()
    .where('value', 'in', [...values])
    .execute()
  return new Map(found.map(({ id, value }) => [value, id]))
}

/** Returns the rules that did something to a request. `text`: column `rules` of its row. */
export async function findEarlierRules(
  db: Kysely<LedgerTables>,
  text: string | null,
): Promise<UsageChange['rules']> {
  if (text === null) return []
  const applied = findApplied(parseTrace(text))
  const labels = await readLabels(db, applied)
  return applied.map(({ kind, rule_id }) => ({ kind: labels.get(shorten(kind)) ?? 0, rule_id }))
}

/** Whether there may be requests that have not been converted and to which rules did something. */
export async function hasEarlierRules(db: Kysely<LedgerTables>): Promise<boolean> {
  const found = await db.selectFrom('request_rules').select('request').limit(1).executeTakeFirst()
  return found !== undefined
}

/** Selects requests in which the rule did something. The index by rule, or by action, is in time order. */
export function selectEarlierHits(
  db: Kysely<LedgerTables>,
  rule: NonNullable<Conditions['rule']>,
  others: readonly RawBuilder<boolean>[],
  range: IdRange,
  limit: number,
) {
  let hits = db
    .selectFrom('request_rules')
    .$if(others.length > 0, (query) =>
      query
        .innerJoin('requests', 'requests.id', 'request_rules.request')
        .where(sql.join([...others], sql` and `) as RawBuilder<boolean>),
    )
    .select('request_rules.request as id')
    .distinct()
    .where('request_rules.request', '>=', range.from)
    .where('request_rules.request', '<', range.below)
    .orderBy('request_rules.request', 'desc')
    .limit(limit)
  for (const [column, value] of Object.entries(rule))
    hits = hits.where(sql.ref(`request_rules.${column}`), '=', value)
  return hits
}

/** Deletes the rows of requests up to an id. */
export async function deleteEarlierRules(db: Kysely<LedgerTables>, lastId: number): Promise<void> {
  // One action at a time, so that the index by action finds the rows.
  for (const action of await listActions(db))
    await db.deleteFrom('request_rules').where('action', '=', action).where('request', '<=', lastId).execute()
}

/** Skips from one action to the next in the index. */
async function listActions(db: Kysely<LedgerTables>): Promise<readonly number[]> {
  const actions: number[] = []
  for (let last = -1; ; ) {
    const next = await db
      .selectFrom('request_rules')
      .select('action')
      .where('action', '>', last)
      .orderBy('action')
      .limit(1)
      .executeTakeFirst()
    if (next === undefined) return actions
    last = next.action
    actions.push(last)
  }
}
