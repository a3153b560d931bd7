import { type Kysely, sql } from 'kysely'
import type { RuleTraceEntry } from '../../../core/contract/index.ts'
import { shorten } from './dictionary.ts'
import { insertAll } from './insert-rows.ts'
import { digestOfText, storeLists } from './list-dictionary.ts'
import { slotOf } from './record-id.ts'
import type { LedgerEngine, LedgerTables, TraceSlotRow } from './tables.ts'
import { toSlotRows } from './trace-slots.ts'
import { DAY_MS } from './units.ts'

/** Stores what rules did as lists that requests share, in place of rows for each request. */
export async function addTraces(db: Kysely<unknown>, engine: LedgerEngine): Promise<void> {
  const isSqlite = engine === 'sqlite'
  const bigint = isSqlite ? 'integer' : 'bigint'
  const clustered = sql.raw(isSqlite ? 'strict, without rowid' : '')
  await db.schema
    .createTable('lists')
    .addColumn('id', 'integer', (column) =>
      isSqlite ? column.primaryKey() : column.primaryKey().generatedAlwaysAsIdentity(),
    )
    .addColumn('digest', 'text', (column) => column.notNull().unique())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('day', 'integer', (column) => column.notNull())
    .modifyEnd(sql.raw(isSqlite ? 'strict' : ''))
    .execute()
  await db.schema
    .createTable('trace_rules')
    .addColumn('trace', 'integer', (column) => column.notNull())
    .addColumn('kind', 'integer', (column) => column.notNull())
    .addColumn('rule_id', bigint, (column) => column.notNull())
    .addColumn('action', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('trace_rules_key', ['trace', 'kind', 'rule_id', 'action'])
    .modifyEnd(clustered)
    .execute()
  await db.schema
    .createTable('trace_slots')
    .addColumn('kind', 'integer', (column) => column.notNull())
    .addColumn('rule_id', bigint, (column) => column.notNull())
    .addColumn('slot', bigint, (column) => column.notNull())
    .addColumn('trace', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('trace_slots_key', ['kind', 'rule_id', 'slot', 'trace'])
    .modifyEnd(clustered)
    .execute()
  for (const column of ['trace', 'warning_list'])
    await db.schema.alterTable('requests').addColumn(column, 'integer').execute()
  await convertTraces(db as Kysely<EarlierTables>)
  await db.schema.createIndex('trace_slots_by_slot').on('trace_slots').column('slot').execute()
  await db.schema
    .createIndex('requests_by_trace')
    .on('requests')
    .columns(['trace', ...(isSqlite ? [] : ['id'])])
    .where(sql.ref('trace'), 'is not', null)
    .execute()
  await db.schema.dropTable('request_rules').execute()
}

/** `rules` is the trace as JSON. The column stays, and is null. */
type EarlierTables = LedgerTables & { requests: { rules: string | null } }

const PAGE_ROWS = 1000

async function convertTraces(db: Kysely<EarlierTables>): Promise<void> {
  const labels = new Map(
    (await db.selectFrom('labels').selectAll().execute()).map(({ id, value }) => [value, id]),
  )
  // Every label of a trace was stored with it.
  const label = (value: string) => labels.get(shorten(value)) ?? 0
  const day = Math.floor(Date.now() / DAY_MS)
  for (let after = -1; ; ) {
    const page = await db
      .selectFrom('requests')
      .select(['id', 'rules'])
      .where('id', '>', after)
      .where('rules', 'is not', null)
      .orderBy('id')
      .limit(PAGE_ROWS)
      .execute()
    const last = page.at(-1)
    if (last === undefined) return
    after = last.id
    const requests = groupByText(page)
    const lists = new Map(
      [...requests.keys()].map((value) => {
        const rules = JSON.parse(value) as readonly RuleTraceEntry[]
        return [digestOfText(value), { value, rules }]
      }),
    )
    // The casts are safe: these functions do not use the earlier column.
    const ids = await storeLists(db as unknown as Kysely<LedgerTables>, lists, label, day)
    const slots: TraceSlotRow[] = []
    for (const [value, group] of requests) {
      const digest = digestOfText(value)
      const trace = ids.get(digest) ?? 0
      const applied = (lists.get(digest)?.rules ?? [])
        .filter(({ outcome }) => outcome === 'applied')
        .map(({ kind, rule_id, action }) => ({ kind: label(kind), rule_id, action: label(action) }))
      await db.updateTable('requests').set({ trace, rules: null }).where('id', 'in', group).execute()
      for (const slot of new Set(group.map(slotOf))) slots.push(...toSlotRows(trace, slot, applied))
    }
    await insertAll(db as unknown as Kysely<LedgerTables>, 'trace_slots', slots, 'skip')
  }
}

/** Returns the ids of requests by their traces. */
function groupByText(
  page: readonly { readonly id: number; readonly rules: string | null }[],
): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>()
  for (const { id, rules } of page) {
    if (rules === null) continue
    const group = groups.get(rules) ?? []
    group.push(id)
    groups.set(rules, group)
  }
  return groups
}
