import { type Kysely, sql } from 'kysely'
import { readRecords } from './find-records.ts'
import { CLOCK } from './number-records.ts'
import type { StoredRecord } from './queries.ts'
import type { LedgerEngine, LedgerTables } from './tables.ts'
import { type StoredToolCall, toStoredToolCall } from './tool-calls.ts'

/** A record to export, with the number that it has in the order in which records were committed. */
export type NumberedRecord = {
  readonly number: number
  /** When it was written to the ledger: Unix time in milliseconds. */
  readonly writtenAt: number
} & (
  | { readonly kind: 'request'; readonly record: StoredRecord }
  | { readonly kind: 'tool_call'; readonly record: StoredToolCall }
)

export interface ExportClaim {
  /** Of the target. A new one begins with the records that are written from now on. */
  readonly name: string
  /** The process that wants to export. */
  readonly owner: string
  /** How long others leave the target to it. 0: it gives the target up. */
  readonly leaseMs: number
  /** Records of the next page. */
  readonly pageSize: number
}

/** How far records were exported to a target. */
export interface ExportState {
  readonly isOwner: boolean
  /** Number of the last record that the target has. */
  readonly position: number
  /** Number of the last record of what is being sent, or was when a process ended; null if nothing is. */
  readonly pending: number | null
  /** Number of the last record of all. */
  readonly last: number
  /** Number of the last record of the next page: `position` if there are none. */
  readonly pageEnd: number
  /** When the first record after the position was written: Unix time; null if there is none. */
  readonly oldest: number | null
}

export interface ExportProgress {
  readonly name: string
  readonly owner: string
  readonly position: number
  readonly pending: number | null
}

export interface ExportQuery {
  /** Numbers: exclusive, inclusive. */
  readonly after: number
  readonly upTo: number
  /** Records to return. A part of a batch is never returned, so there may be `PART_ROWS` more. */
  readonly limit: number
}

export interface ExportPage {
  /** In order. Records that were deleted in the meantime are missing. */
  readonly records: readonly NumberedRecord[]
  /** The number after which the next page begins. */
  readonly next: number
}

/** Rows deleted at once. Bounds how long a batch waits. */
const DELETED_ROWS = 500

/** Registers a target if it is new, and takes or renews the lease if no other process has it. */
export async function claimExport(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  { name, owner, leaseMs, pageSize }: ExportClaim,
): Promise<ExportState> {
  const now = await readTime(db, engine)
  let found = await findTarget(db, name)
  if (found === undefined) {
    await addTarget(db, name, now)
    found = await findTarget(db, name)
  }
  if (found === undefined) throw new Error(`the target ${name} of the export could not be registered`)
  const isOwner = await takeLease(db, found, { name, owner, leaseMs }, now)
  const { position, pending } = isOwner ? ((await findTarget(db, name)) ?? found) : found
  const clock = await db.selectFrom('export_clock').select('last').executeTakeFirst()
  const parts = db.selectFrom('export_parts').select(['last', 'written']).where('last', '>', position)
  const first = await parts.orderBy('last').limit(1).executeTakeFirst()
  const end = await parts
    .where('last', '<=', position + pageSize)
    .orderBy('last', 'desc')
    .limit(1)
    .executeTakeFirst()
  return {
    ...{ isOwner, position, pending, last: clock?.last ?? position },
    ...{ pageEnd: end?.last ?? first?.last ?? position, oldest: first?.written ?? null },
  }
}

async function takeLease(
  db: Kysely<LedgerTables>,
  target: LedgerTables['export_targets'],
  { name, owner, leaseMs }: Pick<ExportClaim, 'name' | 'owner' | 'leaseMs'>,
  now: number,
): Promise<boolean> {
  const isOwn = target.owner === owner
  if (!isOwn && target.owner !== null && target.lease_end > now) return false
  if (leaseMs > 0 && isOwn && target.lease_end - now > leaseMs * RENEWED_SHARE) return true
  if (leaseMs === 0 && !isOwn) return false
  const lease = leaseMs === 0 ? { owner: null, lease_end: 0 } : { owner, lease_end: now + leaseMs }
  const { numUpdatedRows } = await db
    .updateTable('export_targets')
    .set({ ...lease, seen: now })
    .where('name', '=', name)
    // Another process may have been faster.
    .where('owner', target.owner === null ? 'is' : '=', target.owner)
    .where('lease_end', '=', target.lease_end)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n && leaseMs > 0
}

/** A lease is renewed once it has less than this share left. */
const RENEWED_SHARE = 0.6

function findTarget(db: Kysely<LedgerTables>, name: string) {
  return db.selectFrom('export_targets').selectAll().where('name', '=', name).executeTakeFirst()
}

/** The clock starts with the time in microseconds, so that a ledger that is begun anew repeats no number. */
async function addTarget(db: Kysely<LedgerTables>, name: string, now: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await transaction
      .insertInto('export_clock')
      .values({ id: CLOCK, last: now * 1000 })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const { last } = await transaction.selectFrom('export_clock').select('last').executeTakeFirstOrThrow()
    await transaction
      .insertInto('export_targets')
      .values({ name, position: last, pending: null, owner: null, lease_end: 0, seen: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  })
}

/** Saves how far a target is. Returns false, and changes nothing, if another process has taken it over. */
export async function saveExport(
  db: Kysely<LedgerTables>,
  { name, owner, position, pending }: ExportProgress,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('export_targets')
    .set({ position, pending })
    .where('name', '=', name)
    .where('owner', '=', owner)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** Returns records of a range, in order. */
export async function readExport(
  db: Kysely<LedgerTables>,
  { after, upTo, limit }: ExportQuery,
): Promise<ExportPage> {
  const rows = await db
    .selectFrom('export_parts')
    .selectAll()
    .where('last', '>', after)
    .where('last', '<=', upTo)
    .orderBy('last')
    .limit(limit)
    .execute()
  const records: NumberedRecord[] = []
  let next = after
  for (const { last, kind, ids: text, written: writtenAt } of rows) {
    if (records.length >= limit) return { records, next }
    const ids: readonly number[] = JSON.parse(text)
    const numberOf = (index: number) => last - ids.length + 1 + index
    if (kind === 'request') {
      const found = new Map((await readRecords(db, ids)).map((record) => [record.id, record]))
      for (const [index, id] of ids.entries()) {
        const record = found.get(id)
        if (record !== undefined) records.push({ number: numberOf(index), writtenAt, kind, record })
      }
    } else {
      const found = await readCalls(db, ids)
      for (const [index, id] of ids.entries()) {
        const record = found.get(id)
        if (record !== undefined) records.push({ number: numberOf(index), writtenAt, kind, record })
      }
    }
    next = last
  }
  return { records, next }
}

async function readCalls(
  db: Kysely<LedgerTables>,
  ids: readonly number[],
): Promise<ReadonlyMap<number, StoredToolCall>> {
  const rows = await db.selectFrom('tool_calls').selectAll().where('id', 'in', ids).execute()
  return new Map(rows.map((row) => [row.id, toStoredToolCall(row)]))
}

/**
 * Deletes some of what every target has, or what is older than records are kept. Forgets targets that no
 * process has asked for since. Returns true if there may be more.
 */
export async function sweepExports(db: Kysely<LedgerTables>, oldest: number): Promise<boolean> {
  // Before the targets: one that is added in the meantime begins behind it.
  const clock = await db.selectFrom('export_clock').select('last').executeTakeFirst()
  if (clock === undefined) return false
  await db.deleteFrom('export_targets').where('seen', '<', oldest).execute()
  const targets = await db.selectFrom('export_targets').select('position').execute()
  const exported = Math.min(clock.last, ...targets.map(({ position }) => position))
  const old = db
    .selectFrom('export_parts')
    .select('last')
    .where(({ eb, or }) => or([eb('last', '<=', exported), eb('written', '<', oldest)]))
    .orderBy('last')
    .limit(DELETED_ROWS)
  const deleted = await db.deleteFrom('export_parts').where('last', 'in', old).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows) === DELETED_ROWS
}

/** Several machines compare with the clock of their server. */
async function readTime(db: Kysely<LedgerTables>, engine: LedgerEngine): Promise<number> {
  if (engine === 'sqlite') return Date.now()
  const time = sql<{ now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`
  const { rows } = await time.execute(db)
  return rows[0]?.now ?? Date.now()
}
