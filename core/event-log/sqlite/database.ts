import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'
import type { EventPage, EventRow, OpenRequest } from './worker-protocol.ts'

/** What a store keeps in its file. `version` tells a file of a later program from one that can be read. */
export interface DatabaseLayout {
  readonly version: number
  readonly schema: string
  /** Pragmas that must be set before the first table. */
  readonly before?: readonly string[]
}

/** Opens the file and creates it where there is none; throws when a newer version of the program wrote it. */
export function openDatabase(
  { file, busyTimeout, maxPages }: OpenRequest,
  layout: DatabaseLayout,
): SqliteDatabase {
  const database = new SqliteDatabase(file, { timeout: busyTimeout })
  try {
    const isNew = readVersion(database, layout) < layout.version
    if (isNew) for (const pragma of layout.before ?? []) database.pragma(pragma)
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
  // Another process may have been faster since the version was read.
  if (readVersion(database, layout) === layout.version) return
  database.exec(layout.schema)
  database.pragma(`user_version = ${layout.version}`)
}

/** 0 for a new file. */
function readVersion(database: SqliteDatabase, layout: DatabaseLayout): number {
  const version = Number(database.pragma('user_version', { simple: true }))
  if (version <= layout.version) return version
  throw new Error(
    `${database.name} was written by a newer version of Signalbox: its schema is ${version}, this version knows ${layout.version}`,
  )
}

/** Lets go of the file. */
export function closeDatabase(database: SqliteDatabase): void {
  try {
    // Closing the last connection does this too; with other processes at the file it would be left to them.
    database.pragma('wal_checkpoint(PASSIVE)')
  } finally {
    database.close()
  }
}

const PAGE_ROWS = 2000

/** A page ends early at this many characters: a few thousand large events must not stand in memory together. */
const PAGE_CHARACTERS = 4 * 1024 * 1024

/** As many rows as fit in one page. */
export function takeEventPage(found: Iterable<EventRow>): EventPage {
  const rows: EventRow[] = []
  let characters = 0
  for (const row of found) {
    rows.push(row)
    characters += row[4].length + row[5].length
    if (rows.length >= PAGE_ROWS || characters >= PAGE_CHARACTERS) return { type: 'page', rows, more: true }
  }
  return { type: 'page', rows, more: false }
}

/**
 * SQLite's driver. No release of it runs on every Node that we support: 12 ends the process on Node 24.19 and later, 13 needs Node 22.
 * Where 13 was not installed (it is optional, for npm leaves it out on Node 20), 12 has to do.
 */
export const SqliteDatabase: typeof BetterSqlite3 = load()

export type SqliteDatabase = BetterSqlite3.Database

function load(): typeof BetterSqlite3 {
  const require = createRequire(import.meta.url)
  if (Number(process.versions.node.split('.')[0]) < 22) return require('better-sqlite3')
  try {
    return require('better-sqlite3-13')
  } catch {
    return require('better-sqlite3')
  }
}
