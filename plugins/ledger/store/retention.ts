import type { Kysely } from 'kysely'
import { sweepAssumedCosts } from './assumed-costs.ts'
import { sweepExports } from './export-queue.ts'
import { sweepPrompts } from './prompts.ts'
import { DAY_MS, firstIdAt, HOURS_PER_DAY, slotOf } from './record-id.ts'
import { sweepResponses } from './responses.ts'
import { sweepSessions } from './sessions.ts'
import type { LedgerTables } from './tables.ts'
import { sweepToolCalls } from './tool-calls.ts'

export interface LedgerRetention {
  /** Days that requests are kept. */
  readonly requestDays: number
  /** Days that prompts are kept. */
  readonly promptDays: number
  /** Days that usage by hour is kept. */
  readonly usageDays: number
}

/** Rows deleted at once. Bounds how long a batch waits. */
const SWEEP_ROWS = 500

/** Deletes some of what is older than whole days of retention. Returns true if there may be more. */
export async function sweepLedger(
  db: Kysely<LedgerTables>,
  { requestDays, promptDays, usageDays }: LedgerRetention,
  now: number,
): Promise<boolean> {
  const today = Math.floor(now / DAY_MS)
  const dayStart = (days: number) => (today - days) * DAY_MS
  const oldestId = firstIdAt(dayStart(requestDays))
  const oldestPrompt = firstIdAt(dayStart(Math.min(promptDays, requestDays)))
  return (
    (await sweepResponses(db, now)) ||
    (await sweepPrompts(db, oldestPrompt)) ||
    (await sweepToolCalls(db, dayStart(requestDays), dayStart(Math.min(promptDays, requestDays)))) ||
    (await sweepRequests(db, oldestId)) ||
    (await sweepSessions(db, dayStart(requestDays))) ||
    (await sweepExports(db, dayStart(requestDays))) ||
    (await sweepErrors(db, today - requestDays - 1)) ||
    (await sweepLists(db, today - requestDays - 1)) ||
    (await sweepUsage(db, today - usageDays))
  )
}

async function sweepRequests(db: Kysely<LedgerTables>, oldest: number): Promise<boolean> {
  const old = await db
    .selectFrom('requests')
    .select('id')
    .where('id', '<', oldest)
    .orderBy('id')
    .limit(SWEEP_ROWS)
    .execute()
  const last = old.at(-1)
  if (last === undefined) return false
  await db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom('trace_slots').where('slot', '<', slotOf(last.id)).execute()
    // Imported prompts have negative ids, and are kept.
    await transaction
      .deleteFrom('feedback')
      .where('request', '>', 0)
      .where('request', '<=', last.id)
      .execute()
    await transaction.deleteFrom('rated_prompts').where('id', '>', 0).where('id', '<=', last.id).execute()
    await transaction.deleteFrom('requests').where('id', '<=', last.id).execute()
  })
  return true
}

/** An error is stored again when it is used on a later day, so no request refers to an old one. */
async function sweepErrors(db: Kysely<LedgerTables>, oldestDay: number): Promise<boolean> {
  const old = db.selectFrom('errors').select('id').where('day', '<', oldestDay).limit(SWEEP_ROWS)
  return isFull(await db.deleteFrom('errors').where('id', 'in', old).executeTakeFirst())
}

/** The same holds for lists. */
function sweepLists(db: Kysely<LedgerTables>, oldestDay: number): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const old = transaction.selectFrom('lists').select('id').where('day', '<', oldestDay).limit(SWEEP_ROWS)
    const deleted = await transaction
      .deleteFrom('lists')
      .where('id', 'in', old)
      // Another gateway may have stored one again in the meantime.
      .where('day', '<', oldestDay)
      .returning('id')
      .execute()
    if (deleted.length === 0) return false
    const ids = deleted.map(({ id }) => id)
    await transaction.deleteFrom('trace_rules').where('trace', 'in', ids).execute()
    return true
  })
}

async function sweepUsage(db: Kysely<LedgerTables>, oldestDay: number): Promise<boolean> {
  const oldestHour = oldestDay * HOURS_PER_DAY
  for (const table of ['usage_hours', 'usage_rules', 'usage_totals'] as const) {
    // Hours are first in the key. One hour at a time is few rows.
    const oldest = await db
      .selectFrom(table)
      .select('hour')
      .where('hour', '<', oldestHour)
      .orderBy('hour')
      .limit(1)
      .executeTakeFirst()
    if (oldest === undefined) continue
    await db.deleteFrom(table).where('hour', '=', oldest.hour).execute()
    return true
  }
  for (const table of ['usage_days', 'usage_rule_days'] as const)
    await db.deleteFrom(table).where('day', '<', oldestDay).execute()
  await sweepAssumedCosts(db, oldestDay)
  return false
}

function isFull({ numDeletedRows }: { readonly numDeletedRows: bigint }): boolean {
  return Number(numDeletedRows) === SWEEP_ROWS
}
