import { type Kysely, sql } from 'kysely'
import type { LedgerTables } from './tables.ts'

interface SeenSession {
  readonly user_id: number
  readonly session: string
  /** Unix time in milliseconds. */
  readonly time: number
}

/** Sessions written at once. */
const MAX_ROWS = 200

/** Notes when sessions were seen. Noting the same again changes nothing. */
export async function noteSessions(db: Kysely<LedgerTables>, seen: readonly SeenSession[]): Promise<void> {
  const sessions = new Map<string, LedgerTables['sessions']>()
  for (const { user_id, session, time } of seen) {
    const known = sessions.get(`${user_id} ${session}`) ?? {
      ...{ user_id, session, first_seen: time, last_seen: time },
    }
    known.first_seen = Math.min(known.first_seen, time)
    known.last_seen = Math.max(known.last_seen, time)
    sessions.set(`${user_id} ${session}`, known)
  }
  // In order, so that gateways that write at the same time lock rows in the same order.
  const rows = [...sessions].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  for (let start = 0; start < rows.length; start += MAX_ROWS)
    await db
      .insertInto('sessions')
      .values(rows.slice(start, start + MAX_ROWS))
      .onConflict((conflict) =>
        conflict.columns(['session', 'user_id']).doUpdateSet({
          first_seen: sql<number>`case when excluded.first_seen < sessions.first_seen
            then excluded.first_seen else sessions.first_seen end`,
          last_seen: sql<number>`case when excluded.last_seen > sessions.last_seen
            then excluded.last_seen else sessions.last_seen end`,
        }),
      )
      .execute()
}

/** Rows deleted at once. Bounds how long a batch waits. */
const DELETED_ROWS = 500

/** Deletes some of the sessions that were last seen before a time. Returns true if there may be more. */
export async function sweepSessions(db: Kysely<LedgerTables>, oldest: number): Promise<boolean> {
  const old = await db
    .selectFrom('sessions')
    .select(['user_id', 'session'])
    .where('last_seen', '<', oldest)
    .orderBy('last_seen')
    .limit(DELETED_ROWS)
    .execute()
  if (old.length === 0) return false
  await db
    .deleteFrom('sessions')
    .where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('user_id', 'session'),
        'in',
        old.map(({ user_id, session }) => tuple(user_id, session)),
      ),
    )
    // It may have been seen again in the meantime.
    .where('last_seen', '<', oldest)
    .execute()
  return old.length === DELETED_ROWS
}
