import { CompiledQuery, type Kysely, sql } from 'kysely'
import { type LedgerTables, MEASURES } from './tables.ts'

type Value = number | string | Buffer | null

type Row = Readonly<Record<string, Value>>

type Table = Exclude<keyof LedgerTables, 'ledger'>

/** Statements by table, number of rows and columns: compiling one takes longer than running it. */
const statements = new WeakMap<object, Map<string, string>>()

const MAX_ROWS = 128

/**
 * Inserts rows. With `key`, the columns of a key, rows of the same key are added up; with `skip`, rows that
 * are there are skipped.
 */
export async function insertAll(
  db: Kysely<LedgerTables>,
  table: Table,
  rows: readonly object[],
  key?: readonly string[] | 'skip',
): Promise<void> {
  if (rows.length === 0) return
  const list = rows as readonly Row[]
  const columns = filledColumns(table, Object.keys(rows[0] ?? {}), (column) =>
    list.some((row) => row[column] !== null),
  )
  // Faster than an array of values for each row.
  const values: Value[] = new Array(rows.length * columns.length)
  let next = 0
  for (const row of list) for (const column of columns) values[next++] = row[column] ?? null
  await insertValues(db, table, columns, values, key)
}

/** As `insertAll`, with the values of one row after the other. */
export async function insertValues(
  db: Kysely<LedgerTables>,
  table: Table,
  columns: readonly string[],
  values: readonly Value[],
  key?: readonly string[] | 'skip',
): Promise<void> {
  const rows = values.length / columns.length
  for (let start = 0; start < rows; ) {
    const left = rows - start
    const count = left >= MAX_ROWS ? MAX_ROWS : 2 ** Math.floor(Math.log2(left))
    const text = statementFor(db, table, columns, count, key)
    const end = start + count
    const parameters = count === rows ? values : values.slice(start * columns.length, end * columns.length)
    await db.executeQuery({ ...CompiledQuery.raw(text), parameters })
    start = end
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
export function filledColumns(
  table: Table,
  columns: readonly string[],
  isFilled: (column: string) => boolean,
): readonly string[] {
  const filled = columns.filter(isFilled)
  const name = filled.join(' ')
  const known = forms.get(table) ?? new Set()
  forms.set(table, known)
  if (known.size < MAX_FORMS) known.add(name)
  return known.has(name) ? filled : columns
}

function statementFor(
  db: Kysely<LedgerTables>,
  table: Table,
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
