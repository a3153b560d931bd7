import type { CompiledQuery, Kysely, SelectQueryBuilder } from 'kysely'
import type { LedgerTables, ResponseRow } from './tables.ts'

/** Rows written at once. */
const MAX_ROWS = 50

/** Rows deleted at once; a row may have megabytes. Bounds how long a batch waits. */
const DELETED_ROWS = 50

/** Stands for the values of a query that is compiled once: that takes longer than to write or read a row. */
const ANY: ResponseRow = { id: '', user_id: 0, key_id: '', expires: 0, data: '' }

/** Creates the functions that every call of the Responses API uses. */
export function createResponseQueries(db: Kysely<LedgerTables>) {
  const select = db
    .selectFrom('responses')
    .selectAll()
    .where('id', '=', ANY.id)
    .where('expires', '>', 0)
    .compile()
  /** By the number of rows. */
  const inserts = new Map<number, CompiledQuery>()

  function insertOf(rows: number): CompiledQuery {
    const known = inserts.get(rows)
    if (known !== undefined) return known
    const values = Array.from({ length: rows }, () => ANY)
    const insert = db
      .insertInto('responses')
      .values(values)
      .onConflict((conflict) => conflict.doNothing())
      .compile()
    inserts.set(rows, insert)
    return insert
  }

  return {
    save: inBatches(async (responses: readonly ResponseRow[]) => {
      for (let start = 0; start < responses.length; start += MAX_ROWS) {
        const rows = responses.slice(start, start + MAX_ROWS)
        const parameters = rows.flatMap(({ id, user_id, key_id, expires, data }) => [
          id,
          user_id,
          key_id,
          expires,
          data,
        ])
        await db.executeQuery({ ...insertOf(rows.length), parameters })
      }
    }),
    /** Returns undefined for a response that has expired, deleted or not. */
    async find(id: string, now: number): Promise<ResponseRow | undefined> {
      const { rows } = await db.executeQuery<ResponseRow>({ ...select, parameters: [id, now] })
      return rows[0]
    },
  }
}

export async function deleteResponse(db: Kysely<LedgerTables>, id: string): Promise<void> {
  await db.deleteFrom('responses').where('id', '=', id).execute()
}

/** Deletes some of the responses of a user. Returns true if there may be more. */
export function deleteResponsesOf(db: Kysely<LedgerTables>, userId: number): Promise<boolean> {
  return deleteSome(db, db.selectFrom('responses').select('id').where('user_id', '=', userId))
}

/** Deletes some of the responses that have expired. Returns true if there may be more. */
export function sweepResponses(db: Kysely<LedgerTables>, now: number): Promise<boolean> {
  return deleteSome(db, db.selectFrom('responses').select('id').where('expires', '<=', now))
}

async function deleteSome(
  db: Kysely<LedgerTables>,
  ids: SelectQueryBuilder<LedgerTables, 'responses', { id: string }>,
): Promise<boolean> {
  const some = ids.limit(DELETED_ROWS)
  const { numDeletedRows } = await db
    .deleteFrom('responses')
    .where('id', 'in', some)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows) === DELETED_ROWS
}

/**
 * Returns a function that writes items, as many at once as have arrived while the previous ones were written,
 * so that they share a commit and its sync.
 */
export function inBatches<Item>(
  write: (items: readonly Item[]) => Promise<void>,
): (item: Item) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  let waiting: Item[] = []
  let next: Promise<void> | undefined

  function writeNext(): Promise<void> {
    const items = waiting
    waiting = []
    next = undefined
    return write(items)
  }

  return (item) => {
    waiting.push(item)
    if (next === undefined) {
      next = last.then(writeNext)
      last = next.catch(() => undefined)
    }
    return next
  }
}
