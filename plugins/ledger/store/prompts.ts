import type { Kysely, SelectQueryBuilder } from 'kysely'
import { findRecordKey } from './find-records.ts'
import { decryptPrompt, type PromptCipher } from './prompt-cipher.ts'
import type { StoredPrompt, StoredRecord } from './queries.ts'
import type { LedgerTables, PromptRow } from './tables.ts'

/** Rows deleted at once; a row may have megabytes. Bounds how long a batch waits. */
const DELETED_ROWS = 100

/** Returns what is recorded of a prompt; undefined if there is nothing. */
export async function findPrompt(
  db: Kysely<LedgerTables>,
  cipher: PromptCipher | undefined,
  requestId: string,
): Promise<StoredPrompt | undefined> {
  const id = await findRecordKey(db, requestId)
  if (id === undefined) return undefined
  const row = await db.selectFrom('prompts').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toPrompt(row, cipher, requestId)
}

/** Returns what is recorded of the prompts of these requests, by the id of the record. */
export async function readPrompts(
  db: Kysely<LedgerTables>,
  cipher: PromptCipher | undefined,
  records: readonly StoredRecord[],
): Promise<ReadonlyMap<number, StoredPrompt>> {
  if (records.length === 0) return new Map()
  const ids = records.map(({ id }) => id)
  const rows = await db.selectFrom('prompts').selectAll().where('id', 'in', ids).execute()
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  return new Map(
    records.flatMap(({ id, requestId }) => {
      const row = rowOf.get(id)
      return row === undefined ? [] : [[id, toPrompt(row, cipher, requestId)] as const]
    }),
  )
}

function toPrompt(row: PromptRow, cipher: PromptCipher | undefined, requestId: string): StoredPrompt {
  const { user_id: userId, mode, omission } = row
  return { requestId, userId, mode, omission, ...decryptPrompt(row, cipher, requestId) }
}

/** Deletes the prompts of a user, and their features. Returns how many prompts there were. */
export async function deletePromptsOf(db: Kysely<LedgerTables>, userId: number): Promise<number> {
  await deleteAll(() => {
    const ids = db.selectFrom('rated_prompts').select('id').where('user_id', '=', userId).limit(DELETED_ROWS)
    return db.deleteFrom('rated_prompts').where('id', 'in', ids).executeTakeFirstOrThrow()
  })
  for (let deleted = 0; ; ) {
    const ids = db.selectFrom('prompts').select('id').where('user_id', '=', userId).limit(DELETED_ROWS)
    const rows = await deleteRows(db, ids)
    deleted += rows
    if (rows < DELETED_ROWS) return deleted
    // Batches are written in between.
    await new Promise(setImmediate)
  }
}

/** Deletes what was said about the requests of a user, and what the user said. */
export async function deleteFeedbackOf(db: Kysely<LedgerTables>, userId: number): Promise<void> {
  await deleteAll(() => {
    const requests = db
      .selectFrom('feedback')
      .select('request')
      .where('user_id', '=', userId)
      .limit(DELETED_ROWS)
    return db.deleteFrom('feedback').where('request', 'in', requests).executeTakeFirstOrThrow()
  })
}

/** Deletes rows as long as there are some. Batches are written in between. */
async function deleteAll(deleteSome: () => Promise<{ readonly numDeletedRows: bigint }>): Promise<void> {
  while ((await deleteSome()).numDeletedRows > 0n) await new Promise(setImmediate)
}

/** Deletes some of the prompts before an id. Returns true if there may be more. */
export async function sweepPrompts(db: Kysely<LedgerTables>, beforeId: number): Promise<boolean> {
  const old = db.selectFrom('prompts').select('id').where('id', '<', beforeId).limit(DELETED_ROWS)
  return (await deleteRows(db, old)) === DELETED_ROWS
}

type IdSelection = SelectQueryBuilder<LedgerTables, 'prompts', { id: number }>

async function deleteRows(db: Kysely<LedgerTables>, ids: IdSelection): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('prompts').where('id', 'in', ids).executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
