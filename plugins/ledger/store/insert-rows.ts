import { CompiledQuery, type Kysely, sql } from 'kysely'
import { type LedgerTables, MEASURES } from './tables.ts'

type Row = Readonly<Record<string, number | string | Buffer | null>>

/** Statements by table, number of rows and columns: compiling one takes longer than running it. */
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
    const columns = columnsOf(table, part)
    const text = statementFor(db, table, columns, count, key)
    await db.executeQuery(CompiledQuery.raw(text, listValues(part, columns)))
    start += count
  }
}

/** By table, the first lists of columns that statements were compiled for. */
const forms = new Map<string, Set<string>>()

/** Each further form of a table would be compiled for every number of rows, and kept. */
const MAX_FORMS = 4

/**
 * Leaves out the columns in which all rows are null, which are nearly half of those of requests. Rows of many
 * kinds have all columns.
 */
function columnsOf(table: string, rows: readonly Row[]): readonly string[] {
  const all = Object.keys(rows[0] ?? {})
  const filled = all.filter((column) => rows.some((row) => row[column] !== null))
  const known = forms.get(table) ?? new Set()
  forms.set(table, known)
  if (known.size < MAX_FORMS) known.add(filled.join(' '))
  return known.has(filled.join(' ')) ? filled : all
}

/** Faster than an array of values for each row. */
function listValues(rows: readonly Row[], columns: readonly string[]): unknown[] {
  const values: unknown[] = new Array(rows.length * columns.length)
  let next = 0
  for (const row of rows) for (const column of columns) values[next++] = row[column]
  return values
}

function statementFor(
  db: Kysely<LedgerTables>,
  table: Exclude<keyof LedgerTables, 'ledger'>,
  columns: readonly string[],
  count: number,
  key: readonly string[] | 'skip' | undefined,
): string {
  const owner = db.getExecutor().adapter
  const compiled = statements.get(owner) ?? new Map<string, string>()
  statements.set(owner, compiled)
  const name = `${table} ${count} ${columns.join(' ')}`
  let text = compiled.get(name)
  if (text === undefined) {
    const row = Object.fromEntries(columns.map((column) => [column, 0]))
    const insert = db.insertInto(table).values(Array(count).fill(row) as never)
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
