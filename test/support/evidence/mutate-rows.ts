import type { SqliteDatabase } from '../../../core/event-log/sqlite/database.ts'
import type { Random } from '../random.ts'

/** A row of the table `events`, which the embedded log and the test server have in common. */
interface Row {
  readonly position: number
  readonly stream: string
  readonly revision: number
}

const TEXT_COLUMNS = ['stream', 'type', 'data', 'metadata'] as const

/** Changes events at positions up to `end` in one of the ways in which somebody would. Says what it did. */
export function mutateRows(database: SqliteDatabase, random: Random, end: number): string {
  const rows = database
    .prepare<[number], Row>(
      'SELECT position, stream, revision FROM events WHERE position <= ? ORDER BY position',
    )
    .all(end)
  const index = random.integer(rows.length)
  const row = rows[index] as Row
  const mutation = random.pick([changeByte, changeNumber, remove, insert, exchange, truncate, changeByte])
  return mutation(database, random, row, rows)
}

type Mutate = (database: SqliteDatabase, random: Random, row: Row, rows: readonly Row[]) => string

const changeByte: Mutate = (database, random, { position }) => {
  const column = random.pick(TEXT_COLUMNS)
  const bytes = database
    .prepare<[number], Buffer>(`SELECT CAST(${column} AS BLOB) FROM events WHERE position = ?`)
    .pluck()
    .get(position) as Buffer
  const at = random.integer(bytes.length)
  bytes[at] = (bytes[at] ?? 0) ^ (1 + random.integer(255))
  const isText = database.prepare(`SELECT typeof(${column}) FROM events`).pluck().get() === 'text'
  database
    .prepare(`UPDATE events SET ${column} = ${isText ? 'CAST(? AS TEXT)' : '?'} WHERE position = ?`)
    .run(bytes, position)
  return `byte ${at} of ${column} at ${position} is now ${bytes[at]}`
}

const changeNumber: Mutate = (database, random, { position, stream }) => {
  if (random.chance(0.5)) {
    const last = maximum(database, 'revision', `WHERE stream = '${stream}'`)
    const revision = last + 1 + random.integer(5)
    database.prepare('UPDATE events SET revision = ? WHERE position = ?').run(revision, position)
    return `revision at ${position} is now ${revision}`
  }
  const isFree = database.prepare('SELECT 1 FROM events WHERE position = ?').get(position + 1) === undefined
  const moved = isFree ? position + 1 : maximum(database, 'position') + 1 + random.integer(5)
  database.prepare('UPDATE events SET position = ? WHERE position = ?').run(moved, position)
  return `position ${position} is now ${moved}`
}

const remove: Mutate = (database, _, { position }) => {
  database.prepare('DELETE FROM events WHERE position = ?').run(position)
  return `position ${position} is removed`
}

const insert: Mutate = (database, random, { position }, rows) => {
  const { position: source, stream } = random.pick(rows)
  // In two steps, because a row must not take the position of another one, not even for a moment.
  database.prepare('UPDATE events SET position = -position - 1 WHERE position > ?').run(position)
  database.exec('UPDATE events SET position = -position WHERE position < 0')
  const from = source > position ? source + 1 : source
  const columns = database.prepare<[], string>("SELECT name FROM pragma_table_info('events')").pluck().all()
  const values = columns.map((column) => ({ position: '?', revision: '?' })[column] ?? column)
  const revision = maximum(database, 'revision', `WHERE stream = '${stream}'`) + 1
  database
    .prepare(`INSERT INTO events (${columns.join()}) SELECT ${values.join()} FROM events WHERE position = ?`)
    .run(position + 1, revision, from)
  return `a copy of ${source} is inserted behind ${position}`
}

const exchange: Mutate = (database, random, { position }, rows) => {
  const { position: other } = random.pick(rows)
  const move = database.prepare('UPDATE events SET position = ? WHERE position = ?')
  for (const [to, from] of [
    [-1, position],
    [position, other],
    [other, -1],
  ])
    move.run(to, from)
  return `positions ${position} and ${other} are exchanged`
}

const truncate: Mutate = (database, _, { position }) => {
  database.prepare('DELETE FROM events WHERE position >= ?').run(position)
  return `everything from ${position} on is removed`
}

function maximum(database: SqliteDatabase, column: string, where = ''): number {
  return Number(database.prepare(`SELECT max(${column}) FROM events ${where}`).pluck().get())
}
