import type { Kysely } from 'kysely'
import type { LedgerTables } from './tables.ts'

/** Returns the kept features of the prompts of requests, by the id of the record. */
export async function readFeatures(
  db: Kysely<LedgerTables>,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Uint8Array>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('rated_prompts')
    .select(['id', 'features'])
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map(({ id, features }) => [id, features]))
}
