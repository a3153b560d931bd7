import { sql, type Transaction } from 'kysely'
import type { ExportPartRow, LedgerTables } from './tables.ts'

/** Records of one row of `export_parts`. */
export const PART_ROWS = 100

/** The only row of `export_clock`. */
export const CLOCK = 1

/**
 * Numbers records that a transaction has written, as its last statement. Transactions take numbers one after
 * the other, in the order in which they commit. Does nothing while nobody exports. See
 * docs/decisions/ledger-export.md, "Records are numbered as they are committed".
 */
export async function numberRecords(
  db: Transaction<LedgerTables>,
  kind: ExportPartRow['kind'],
  ids: readonly number[],
): Promise<void> {
  if (ids.length === 0) return
  const clock = await db
    .updateTable('export_clock')
    .set({ last: sql<number>`last + ${ids.length}` })
    .where('id', '=', CLOCK)
    .returning('last')
    .executeTakeFirst()
  if (clock === undefined) return
  const first = clock.last - ids.length
  const written = Date.now()
  const rows: LedgerTables['export_parts'][] = []
  for (let start = 0; start < ids.length; start += PART_ROWS) {
    const part = ids.slice(start, start + PART_ROWS)
    rows.push({ last: first + start + part.length, kind, ids: JSON.stringify(part), written })
  }
  await db.insertInto('export_parts').values(rows).execute()
}
