import {
  closeDatabase,
  type DatabaseLayout,
  openDatabase,
  SqliteDatabase,
  takeEventPage,
} from './database.ts'
import { insertEvents } from './history-store.ts'
import type {
  AppendedResponse,
  AppendRequest,
  EventPage,
  EventRow,
  OpenRequest,
  ReadStreamRequest,
  WrongRevisionResponse,
} from './worker-protocol.ts'

/** `expires` is in milliseconds since 1970. Freed pages go back to the disk, which SQLite must know before the first table. */
const LAYOUT: DatabaseLayout = {
  version: 1,
  before: ['auto_vacuum = INCREMENTAL'],
  schema: `
    CREATE TABLE events (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      stream TEXT NOT NULL,
      revision INTEGER NOT NULL,
      type TEXT NOT NULL,
      data TEXT NOT NULL,
      metadata TEXT NOT NULL,
      expires INTEGER NOT NULL,
      UNIQUE (stream, revision)
    ) STRICT;
    CREATE INDEX expiries ON events (expires)`,
}

const COLUMNS = 'position, stream, revision, type, data, metadata'

/** Events that a sweep takes away at a time: appends that arrive meanwhile wait no longer than this takes. */
const SWEEP_ROWS = 50

/** Pages of 4 KiB that go back to the disk at a time. */
const TIDY_PAGES = 1000

/** The file of what expires. Every method blocks until the disk answered, and throws what SQLite throws. */
export interface ExpiringStore {
  /** Writes in one transaction, so with one sync. */
  append(asks: readonly AppendRequest[]): (AppendedResponse | WrongRevisionResponse)[]
  /** Without what has expired, swept or not. */
  readStream(ask: ReadStreamRequest): EventPage
  deleteStream(stream: string): void
  /** Takes away some of what has expired; true when there may be more. */
  sweep(): boolean
  /**
   * Gives freed room back to the disk, and clears the last copies of what was taken away; true when there is more to do. Where
   * somebody reads meanwhile, the copies are left to the next time.
   */
  vacuum(): boolean
  close(): void
}

/** Opens the file and creates it where there is none. `now` gives milliseconds since 1970. */
export function openExpiringStore(ask: OpenRequest, now: () => number = Date.now): ExpiringStore {
  const database = openDatabase(ask, LAYOUT)
  // What was taken away is overwritten, not only forgotten.
  database.pragma('secure_delete = ON')
  const lastRevision = database
    .prepare<[string], number | null>('SELECT max(revision) FROM events WHERE stream = ?')
    .pluck()
  const insert = database.prepare<[string, number, string, string, string, number]>(
    'INSERT INTO events (stream, revision, type, data, metadata, expires) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const selectStream = database
    .prepare<[string, number, number], EventRow>(
      `SELECT ${COLUMNS} FROM events WHERE stream = ? AND revision >= ? AND expires > ? ORDER BY revision`,
    )
    .raw()
  const deleteStream = database.prepare<[string]>('DELETE FROM events WHERE stream = ?')
  const deleteExpired = database.prepare<[number]>(
    `DELETE FROM events WHERE position IN (SELECT position FROM events WHERE expires <= ? LIMIT ${SWEEP_ROWS})`,
  )

  const freePages = database.prepare<[], number>('PRAGMA freelist_count').pluck()
  let isTidy = false

  const writeBehind = (actual: number, ask: AppendRequest) => {
    const { stream, metadata, maxAge = 0 } = ask
    const expires = now() + maxAge * 1000
    return insertEvents(
      ask,
      actual,
      (revision, type, data) => insert.run(stream, revision, type, data, metadata, expires).lastInsertRowid,
    )
  }

  const write = (ask: AppendRequest) => {
    if (ask.expectedRevision !== -1) return writeBehind(lastRevision.get(ask.stream) ?? -1, ask)
    // Nearly all. That the stream is not there already is seen when the first of its events is written.
    try {
      return writeBehind(-1, ask)
    } catch (error) {
      if (!isTaken(error)) throw error
      return writeBehind(lastRevision.get(ask.stream) ?? -1, ask)
    }
  }

  const writeAll = database.transaction((asks: readonly AppendRequest[]) => asks.map(write))

  return {
    append: (asks) => writeAll.immediate(asks),
    readStream: ({ stream, from }) => takeEventPage(selectStream.iterate(stream, from, now())),
    deleteStream(stream) {
      if (deleteStream.run(stream).changes > 0) isTidy = false
    },
    sweep() {
      const { changes } = deleteExpired.run(now())
      if (changes > 0) isTidy = false
      return changes === SWEEP_ROWS
    },
    vacuum() {
      if (isTidy) return false
      database.pragma(`incremental_vacuum(${TIDY_PAGES})`)
      if (Number(freePages.get()) > 0) return true
      isTidy = clearCopies(database, ask.busyTimeout)
      return false
    },
    close: () => closeDatabase(database),
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof SqliteDatabase.SqliteError && error.code === 'SQLITE_CONSTRAINT_UNIQUE'
}

/**
 * Empties the write-ahead log; false when somebody reads from it. A reader such as a backup may take minutes: appends must not wait
 * for it, so neither does this.
 */
function clearCopies(database: SqliteDatabase, busyTimeout: number): boolean {
  database.pragma('busy_timeout = 0')
  try {
    const [result] = database.prepare<[], { busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)').all()
    return result?.busy === 0
  } finally {
    database.pragma(`busy_timeout = ${busyTimeout}`)
  }
}
