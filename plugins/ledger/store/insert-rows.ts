import { CompiledQuery, type Kysely, sql } from 'kysely'
import { type LedgerTables, MEASURES } from './tables.ts'

type Row = Readonly<Record<string, number | string | Buffer | null>>

/** The statements of a database by table and number of rows: compiling one takes longer than running it. */
const statements = new WeakMap<object, Map<string, string>>()

const MAX_ROWS = 256

/**
 * Inserts rows. With `key`, the columns of a key, rows of the same key are added up; with `skip`, rows that
 * are there are skipped.
 */
export async function insertAll(
  db: Kysely<LedgerTables>,
  table: Exclude<keyof LedgerTables, 'ledger'>,
  rows: readonly object[],
  key?: readonly string[] | 'skip',
): Promise<void> {
  for (let start = 0; start < rows.length; ) {
    const left = rows.length - start
    const count = left >= MAX_ROWS ? MAX_ROWS : 2 ** Math.floor(Math.log2(left))
    const part = rows.slice(start, start + count) as readonly Row[]
    const text = statementFor(db, table, part, key)
    await db.executeQuery(CompiledQuery.raw(text, listValues(part)))
    start += count
  }
}

/** Faster than an array of values for each row. */
function listValues(rows: readonly Row[]): unknown[] {
  const values: unknown[] = []
  for (const row of rows) for (const column in row) values.push(row[column])
  return values
}

function statementFor(
  db: Kysely<LedgerTables>,
  table: Exclude<keyof LedgerTables, 'ledger'>,
  rows: readonly Row[],
  key: readonly string[] | 'skip' | undefined,
): string {
  const owner = db.getExecutor().adapter
  const compiled = statements.get(owner) ?? new Map<string, string>()
  statements.set(owner, compiled)
  const name = `${table} ${rows.length}`
  let text = compiled.get(name)
  if (text === undefined) {
    const insert = db.insertInto(table).values(rows as never)
    const sums = Object.fromEntries(
      MEASURES.map((measure) => [
        measure,
        sql`${sql.ref(`${table}.${measure}`)} + ${sql.ref(`excluded.${measure}`)}`,
      ]),
    )
    const query =
      key === undefined
        ? insert
        : insert.onConflict((conflict) =>
            key === 'skip' ? conflict.doNothing() : conflict.columns(key as never).doUpdateSet(sums as never),
          )
    text = query.compile().sql
    compiled.set(name, text)
  }
  return text
}
