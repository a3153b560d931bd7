import { isLogId } from '../../util/ids.ts'
import { HISTORY_FILE } from './check-folder.ts'
import {
  closeDatabase,
  type DatabaseLayout,
  openDatabase,
  SqliteDatabase,
  takeEventPage,
} from './database.ts'
import { insertEvents } from './history-store.ts'
import { createDamagedOwnerError } from './set-aside.ts'
import type {
  AppendRequest,
  AppendResult,
  EventPage,
  EventRow,
  OpenRequest,
  ReadStreamRequest,
} from './worker-protocol.ts'

/**
 * `expires` is in milliseconds since 1970. SQLite accepts `auto_vacuum` only before the first table is
 * created.
 */
const LAYOUT: DatabaseLayout = {
  version: 1,
  pragmasBeforeSchema: ['auto_vacuum = INCREMENTAL'],
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

/** Events deleted per sweep. Bounds how long concurrent appends have to wait. */
const SWEEP_ROWS = 50

/** Pages of 4 KiB that one vacuum returns to the file system. */
const VACUUM_PAGES = 1000

/**
 * The file of expiring streams. Every method is synchronous and throws SQLite's errors.
 */
export interface ExpiringStore {
  /** Writes in one transaction with one sync. */
  append(requests: readonly AppendRequest[]): readonly AppendResult[]
  /** Skips expired events, deleted or not. */
  readStream(request: ReadStreamRequest): EventPage
  deleteStream(stream: string): void
  /** Deletes a batch of expired events. Returns true if there may be more. */
  sweep(): boolean
  /**
   * Returns free pages to the file system and removes the last copies of deleted events from the write-ahead
   * log. Returns true if there is more to do. While another connection reads, the write-ahead log is left for
   * a later call.
   */
  vacuum(): boolean
  close(): void
}

/** Opens the file, creating it if it is missing. `now` returns milliseconds since 1970. */
export function openExpiringStore(request: OpenRequest, now: () => number = Date.now): ExpiringStore {
  const database = openDatabase(request, LAYOUT)
  claimFor(request, database)
  // Overwrites deleted content instead of only unlinking it.
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
    `DELETE FROM events
      WHERE position IN (SELECT position FROM events WHERE expires <= ? LIMIT ${SWEEP_ROWS})`,
  )
  const freePages = database.prepare<[], number>('PRAGMA freelist_count').pluck()
  let isVacuumed = false

  const appendAfter = (actual: number, request: AppendRequest) => {
    const { stream, metadata, maxAge = 0 } = request
    const expires = now() + maxAge * 1000
    return insertEvents(
      request,
      actual,
      (revision, type, data) => insert.run(stream, revision, type, data, metadata, expires).lastInsertRowid,
    )
  }

  const appendOne = (request: AppendRequest) => {
    if (request.expectedRevision !== -1) return appendAfter(lastRevision.get(request.stream) ?? -1, request)
    // Nearly all appends create a stream. They skip the look-up; the unique index finds an existing stream.
    try {
      return appendAfter(-1, request)
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      return appendAfter(lastRevision.get(request.stream) ?? -1, request)
    }
  }

  const appendAll = database.transaction((requests: readonly AppendRequest[]) => requests.map(appendOne))

  return {
    append: (requests) => appendAll.immediate(requests),
    readStream: ({ stream, from }) => takeEventPage(selectStream.iterate(stream, from, now())),
    deleteStream(stream) {
      if (deleteStream.run(stream).changes > 0) isVacuumed = false
    },
    sweep() {
      const { changes } = deleteExpired.run(now())
      if (changes > 0) isVacuumed = false
      return changes === SWEEP_ROWS
    },
    vacuum() {
      if (isVacuumed) return false
      database.pragma(`incremental_vacuum(${VACUUM_PAGES})`)
      if (Number(freePages.get()) > 0) return true
      isVacuumed = truncateWal(database, request.busyTimeout)
      return false
    },
    close: () => closeDatabase(database),
  }
}

/** Throws if the file belongs to another log; a file that belongs to none is claimed for this one. */
function claimFor({ logId }: OpenRequest, database: SqliteDatabase): void {
  database.exec('CREATE TABLE IF NOT EXISTS log (id TEXT NOT NULL) STRICT')
  const owner = database.prepare<[], string>('SELECT id FROM log').pluck().get()
  if (owner === logId) return
  if (owner === undefined && logId !== undefined)
    return void database.prepare<[string]>('INSERT INTO log VALUES (?)').run(logId)
  database.close()
  if (owner !== undefined && !isLogId(owner)) throw createDamagedOwnerError()
  throw new Error(`it belongs to event log ${owner}, and ${HISTORY_FILE} beside it to ${logId ?? 'none'}`)
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof SqliteDatabase.SqliteError && error.code === 'SQLITE_CONSTRAINT_UNIQUE'
}

/**
 * Checkpoints and truncates the write-ahead log. Returns false if another connection is reading from it. Does
 * not wait for that connection: a reader such as a backup may take minutes, and appends would have to wait as
 * well.
 */
function truncateWal(database: SqliteDatabase, busyTimeout: number): boolean {
  database.pragma('busy_timeout = 0')
  try {
    const [result] = database.prepare<[], { busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)').all()
    return result?.busy === 0
  } finally {
    database.pragma(`busy_timeout = ${busyTimeout}`)
  }
}
