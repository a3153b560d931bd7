import { type Kysely, sql } from 'kysely'
import type { LedgerTables } from './tables.ts'
import { HOUR_MS } from './units.ts'

/** When a key was last used. */
export interface LastUse {
  readonly key: string
  /** Unix time of the beginning of the hour, in milliseconds. */
  readonly hour: number
}

/** Returns the hour of the last request of each key of a user that was used. */
export async function readLastUse(db: Kysely<LedgerTables>, userId: number): Promise<readonly LastUse[]> {
  const rows = await db
    .selectFrom('usage_hours as usage')
    .innerJoin('labels as keys', 'keys.id', 'usage.key')
    .where('usage.user_id', '=', userId)
    .groupBy('keys.value')
    .select(['keys.value as key', sql<number>`cast(max(usage.hour) as bigint)`.as('hour')])
    .execute()
  return rows.map(({ key, hour }) => ({ key, hour: Number(hour) * HOUR_MS }))
}
