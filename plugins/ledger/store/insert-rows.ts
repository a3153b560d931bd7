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
  const columns = Object.keys(rows[0] ?? {})
  // Faster than an array of values for each row.
  const values: Value[] = new Array(rows.length * columns.length)
  let next = 0
  for (const row of rows as readonly Row[]) for (const column of columns) values[next++] = row[column] ?? null
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
  const left = values.length / columns.length
  if (left === 0) return
  const filled = filledColumns(table, columns, values)
  const kept = filled.length === columns.length ? values : pickColumns(values, columns, filled)
  for (let start = 0; start < left; ) {
    const count = left - start >= MAX_ROWS ? MAX_ROWS : 2 ** Math.floor(Math.log2(left - start))
    const text = statementFor(db, table, filled, count, key)
    const end = start + count
    const parameters = count === left ? kept : kept.slice(start * filled.length, end * filled.length)
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
function filledColumns(
  table: Table,
  columns: readonly string[],
  values: readonly Value[],
): readonly string[] {
  const filled = columns.filter((_, place) => {
    for (let at = place; at < values.length; at += columns.length) if (values[at] !== null) return true
    return false
  })
  const known = forms.get(table) ?? new Set()
  forms.set(table, known)
  if (known.size < MAX_FORMS) known.add(filled.join(' '))
  return known.has(filled.join(' ')) ? filled : columns
}

function pickColumns(
  values: readonly Value[],
  columns: readonly string[],
  picked: readonly string[],
): readonly Value[] {
  const places = picked.map((column) => columns.indexOf(column))
  const rows = values.length / columns.length
  const kept: Value[] = new Array(rows * places.length)
  let next = 0
  for (let row = 0; row < rows; row++)
    for (const place of places) kept[next++] = values[row * columns.length + place] ?? null
  return kept
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
