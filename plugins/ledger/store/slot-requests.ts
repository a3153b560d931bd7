import { type Kysely, sql } from 'kysely'
import { IDS_PER_SLOT, type IdRange, slotOf } from './record-id.ts'
import { UNINDEXED_ID } from './sum-requests.ts'
import type { LedgerTables } from './tables.ts'

/** Joins the slots of traces with their requests in a range. SQLite keeps the order of a cross join. */
export function joinSlots(db: Kysely<LedgerTables>, { from, below }: IdRange) {
  const firstId = sql<number>`${sql.ref('slots.slot')} * ${sql.lit(IDS_PER_SLOT)}`
  const endId = sql<number>`(${sql.ref('slots.slot')} + 1) * ${sql.lit(IDS_PER_SLOT)}`
  return (
    db
      .selectFrom('trace_slots as slots')
      .crossJoin('requests')
      .where('slots.slot', '>=', slotOf(from))
      .where('slots.slot', '<=', slotOf(below - 1))
      .whereRef('requests.trace', '=', 'slots.trace')
      .where('requests.id', '>=', firstId)
      .where('requests.id', '<', endId)
      // Engines must not search the index with this range in place of that of the slot.
      .where(UNINDEXED_ID, '>=', from)
      .where(UNINDEXED_ID, '<', below)
  )
}
