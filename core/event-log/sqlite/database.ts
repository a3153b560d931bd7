import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'
import { NEWER_VERSION } from './check-folder.ts'
import { refuseForeignWal } from './foreign-wal.ts'
import { reserveBeside } from './reserve-file.ts'
import type { EventPage, EventRow, OpenRequest } from './worker-protocol.ts'

/**
 * The schema of a database file. `version` is stored in the file, to detect files of newer versions of
 * Signalbox.
 */
export interface DatabaseLayout {
  readonly version: number
  readonly schema: string
  /** Pragmas that must be set before the first table is created. */
  readonly pragmasBeforeSchema?: readonly string[]
}

/**
 * Opens a file, creating it if it is missing. Throws if a newer version of the program wrote it, or if the
 * write-ahead log beside it belongs to another file.
 */
export function openDatabase(request: OpenRequest, layout: DatabaseLayout): SqliteDatabase {
  refuseForeignWal(request.file)
  // A full disk lacks the space for what SQLite keeps beside an open file.
  return reserveBeside(request.file).use(() => tryOpen(request, layout))
}

function tryOpen({ file, busyTimeout, maxPages }: OpenRequest, layout: DatabaseLayout): SqliteDatabase {
  const database = new SqliteDatabase(file, { timeout: busyTimeout })
  try {
    const isNew = readSchemaVersion(database, layout) < layout.version
    if (isNew) for (const pragma of layout.pragmasBeforeSchema ?? []) database.pragma(pragma)
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = FULL')
    if (isNew) database.transaction(createSchema).immediate(database, layout)
    if (maxPages !== undefined) database.pragma(`max_page_count = ${maxPages}`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function createSchema(database: SqliteDatabase, layout: DatabaseLayout): void {
  // Another process may have created the schema since the version was read.
  if (readSchemaVersion(database, layout) === layout.version) return
  database.exec(layout.schema)
  database.pragma(`user_version = ${layout.version}`)
}

/** Returns 0 for a new file. */
function readSchemaVersion(database: SqliteDatabase, layout: DatabaseLayout): number {
  const version = Number(database.pragma('user_version', { simple: true }))
  if (version <= layout.version) return version
  throw new Error(
    `${database.name} ${NEWER_VERSION}: ` +
      `its schema version is ${version}, and this version supports up to ${layout.version}`,
  )
}

/**
 * Checkpoints the write-ahead log if possible, and closes the database. On a full disk, what was committed
 * stays in the write-ahead log.
 */
export function closeDatabase(database: SqliteDatabase): void {
  try {
    // SQLite does this when the last connection closes, but other processes may have the file open.
    database.pragma('wal_checkpoint(PASSIVE)')
  } catch (error) {
    if (!(error instanceof SqliteDatabase.SqliteError)) throw error
  } finally {
    database.close()
  }
}

/** Limits the memory that a page takes when events are large. */
const MAX_PAGE_CHARACTERS = 4 * 1024 * 1024

/** Pages are read while requests are served: receiving one takes a millisecond or less. */
const MAX_STREAM_PAGE_ROWS = 250

/** Takes as many rows as fit into one page. */
export function takeEventPage(source: Iterable<EventRow>): EventPage {
  const rows: EventRow[] = []
  let characters = 0
  for (const row of source) {
    rows.push(row)
    characters += row[4].length + row[5].length
    if (rows.length >= MAX_STREAM_PAGE_ROWS || characters >= MAX_PAGE_CHARACTERS) return { rows, more: true }
  }
  return { rows, more: false }
}

/**
 * The SQLite driver. No single release runs on every supported Node: version 12 crashes on Node 24.19 and
 * later, version 13 requires Node 22. Version 13 is an optional dependency, because npm skips it on Node 20;
 * if it is not installed, version 12 is used.
 */
export const SqliteDatabase: typeof BetterSqlite3 = loadDriver()

export type SqliteDatabase = BetterSqlite3.Database

/** See docs/decisions/runtime.md, "Two versions of better-sqlite3". */
function loadDriver(): typeof BetterSqlite3 {
  const require = createRequire(import.meta.url)
  if (Number(process.versions.node.split('.')[0]) < 22) return require('better-sqlite3')
  try {
    return require('better-sqlite3-13')
  } catch {
    return require('better-sqlite3')
  }
}
