import Database from 'better-sqlite3'
import type {
  AppendAsk,
  AppendedAnswer,
  OpenAsk,
  Page,
  ReadLogAsk,
  ReadStreamAsk,
  Row,
  WrongRevisionAnswer,
} from './sqlite-protocol.ts'

const SCHEMA_VERSION = 1

const SCHEMA = `
  CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    stream TEXT NOT NULL,
    revision INTEGER NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (stream, revision)
  ) STRICT`

const COLUMNS = 'position, stream, revision, type, data, metadata'

const PAGE_ROWS = 2000

/** A page ends early at this many characters: a few thousand large events must not stand in memory together. */
const PAGE_CHARACTERS = 4 * 1024 * 1024

/** The log's file. Every method blocks until the disk answered, and throws what SQLite throws. */
export interface SqliteStore {
  /** Writes in one transaction, so with one sync; an append at the wrong revision is left out and its neighbours are not. */
  append(asks: readonly AppendAsk[]): (AppendedAnswer | WrongRevisionAnswer)[]
  readStream(ask: ReadStreamAsk): Page
  readLog(ask: ReadLogAsk): Page
  /** A number that changes when another connection commits. */
  version(): unknown
  close(): void
}

/** Opens the file and creates it where there is none; throws when a newer version of the program wrote it. */
export function openSqliteStore({ file, busyTimeout, maxPages }: OpenAsk): SqliteStore {
  const database = new Database(file, { timeout: busyTimeout })
  try {
    prepareFile(database)
    if (maxPages !== undefined) database.pragma(`max_page_count = ${maxPages}`)
    return prepareStore(database)
  } catch (error) {
    database.close()
    throw error
  }
}

function prepareFile(database: Database.Database): void {
  const isNew = readSchemaVersion(database) < SCHEMA_VERSION
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  if (isNew) database.transaction(createSchema).immediate(database)
}

function createSchema(database: Database.Database): void {
  // Another process may have been faster since the version was read.
  if (readSchemaVersion(database) === SCHEMA_VERSION) return
  database.exec(SCHEMA)
  database.pragma(`user_version = ${SCHEMA_VERSION}`)
}

/** 0 for a new file. */
function readSchemaVersion(database: Database.Database): number {
  const version = Number(database.pragma('user_version', { simple: true }))
  if (version <= SCHEMA_VERSION) return version
  throw new Error(
    `${database.name} was written by a newer version of Signalbox: its schema is ${version}, this version knows ${SCHEMA_VERSION}`,
  )
}

function prepareStore(database: Database.Database): SqliteStore {
  const lastRevision = database
    .prepare<[string], number | null>('SELECT max(revision) FROM events WHERE stream = ?')
    .pluck()
  const insert = database.prepare<[string, number, string, string, string]>(
    'INSERT INTO events (stream, revision, type, data, metadata) VALUES (?, ?, ?, ?, ?)',
  )
  const selectStream = database
    .prepare<[string, number], Row>(
      `SELECT ${COLUMNS} FROM events WHERE stream = ? AND revision >= ? ORDER BY revision`,
    )
    .raw()
  const selectLog = database
    .prepare<[number], Row>(`SELECT ${COLUMNS} FROM events WHERE position > ? ORDER BY position`)
    .raw()
  const dataVersion = database.prepare('PRAGMA data_version').pluck()

  function write({ stream, expected, events, metadata }: AppendAsk): AppendedAnswer | WrongRevisionAnswer {
    const actual = lastRevision.get(stream) ?? -1
    if (expected !== 'any' && expected !== actual) return { type: 'wrong-revision', actual }
    let revision = actual
    let position = 0
    for (const [type, data] of events) {
      revision += 1
      position = Number(insert.run(stream, revision, type, data, metadata).lastInsertRowid)
    }
    return { type: 'appended', revision, position }
  }

  const writeAll = database.transaction((asks: readonly AppendAsk[]) => asks.map(write))

  return {
    append: (asks) => writeAll.immediate(asks),
    readStream: ({ stream, from }) => takePage(selectStream.iterate(stream, from)),
    readLog: ({ after }) => takePage(selectLog.iterate(after)),
    version: () => dataVersion.get(),
    close() {
      try {
        // Closing the last connection does this too; with other processes at the file it would be left to them.
        database.pragma('wal_checkpoint(PASSIVE)')
      } finally {
        database.close()
      }
    },
  }
}

function takePage(found: Iterable<Row>): Page {
  const rows: Row[] = []
  let characters = 0
  for (const row of found) {
    rows.push(row)
    characters += row[4].length + row[5].length
    if (rows.length >= PAGE_ROWS || characters >= PAGE_CHARACTERS) return { type: 'page', rows, more: true }
  }
  return { type: 'page', rows, more: false }
}
