import type BetterSqlite3 from 'better-sqlite3'
import {
  closeDatabase,
  type DatabaseLayout,
  openDatabase,
  SqliteDatabase,
  takeEventPage,
} from './database.ts'
import { guardFile } from './file-guard.ts'
import { prepareLogRead } from './packed-page.ts'
import { reserveBeside } from './reserve-file.ts'
import type {
  AppendRequest,
  AppendResult,
  EventPage,
  EventRow,
  OpenRequest,
  PackedPage,
  ReadLogRequest,
  ReadStreamRequest,
} from './worker-protocol.ts'

const LAYOUT: DatabaseLayout = {
  version: 1,
  schema: `
    CREATE TABLE events (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      stream TEXT NOT NULL,
      revision INTEGER NOT NULL,
      type TEXT NOT NULL,
      data TEXT NOT NULL,
      metadata TEXT NOT NULL,
      UNIQUE (stream, revision)
    ) STRICT`,
}

const COLUMNS = 'position, stream, revision, type, data, metadata'

/** The file of all permanent events. Every method is synchronous and throws SQLite's errors. */
export interface HistoryStore {
  /** Writes in one transaction with one sync. An append with a wrong revision does not affect the others. */
  append(requests: readonly AppendRequest[]): readonly AppendResult[]
  readStream(request: ReadStreamRequest): EventPage
  readLog(request: ReadLogRequest): PackedPage
  /** Throws a `FileReplacedError` if the file is no longer the one that was opened. */
  checkFile(): void
  /** A number that changes when another connection commits. */
  dataVersion(): unknown
  close(): void
}

/** Opens the file, creating it if it is missing. Throws if a newer version of the program wrote it. */
export function openHistoryStore(request: OpenRequest): HistoryStore {
  const { reservedTypes = [], hashesLeaves = false } = request
  const reserve = reserveBeside(request.file)
  const database = openDatabase(request, LAYOUT)
  const lastRevision = database
    .prepare<[string], number | null>('SELECT max(revision) FROM events WHERE stream = ?')
    .pluck()
  const insert = database.prepare<[string, number, string, string, string]>(
    'INSERT INTO events (stream, revision, type, data, metadata) VALUES (?, ?, ?, ?, ?)',
  )
  const selectStream = prepareStreamRead(database)
  const unfollowed = request.unfollowedStreams ?? []
  const isFollowed = unfollowed.map(() => 'AND substr(stream, 1, length(?)) <> ?').join(' ')
  const skipped = unfollowed.flatMap((category) => [category, category])
  const readFollowed = prepareLogRead(database, `WHERE position > ? ${isFollowed}`, hashesLeaves)
  // NOT INDEXED scans by position. With the index on streams, SQLite would sort all remaining events for each
  // page.
  const isOfCategory = 'NOT INDEXED WHERE position > ? AND substr(stream, 1, length(?)) = ?'
  const readCategory = prepareLogRead(database, isOfCategory, hashesLeaves)
  const checkFile = guardFile(request.file)
  const dataVersion = database.prepare('PRAGMA data_version').pluck()

  const appendOne = (request: AppendRequest) => {
    const { stream, metadata } = request
    return insertEvents(
      request,
      lastRevision.get(stream) ?? -1,
      (revision, type, data) => insert.run(stream, revision, type, data, metadata).lastInsertRowid,
    )
  }

  const appendAll = database.transaction((requests: readonly AppendRequest[]) => requests.map(appendOne))

  const mayUseReserve = ({ events }: AppendRequest) => events.every(([type]) => reservedTypes.includes(type))
  if (reservedTypes.length > 0) reserve.refill()

  function appendOrUseReserve(requests: readonly AppendRequest[]) {
    try {
      const responses = appendAll.immediate(requests)
      if (reservedTypes.length > 0) reserve.refill()
      return responses
    } catch (error) {
      if (!isFullError(error) || !requests.every(mayUseReserve)) throw error
      return reserve.use(() => appendAll.immediate(requests))
    }
  }

  return {
    append(requests) {
      checkFile()
      const responses = appendOrUseReserve(requests)
      // Events in a file that was removed meanwhile must not be acknowledged.
      checkFile()
      return responses
    },
    readStream({ stream, from }) {
      checkFile()
      return takeEventPage(selectStream.iterate(stream, from))
    },
    readLog({ after, streams }) {
      checkFile()
      if (streams === undefined) return readFollowed(after, skipped)
      return readCategory(after, [streams, streams])
    },
    checkFile,
    dataVersion: () => dataVersion.get(),
    close: () => closeDatabase(database),
  }
}

function isFullError(error: unknown): boolean {
  return error instanceof SqliteDatabase.SqliteError && error.code === 'SQLITE_FULL'
}

/** Prepares a query for the events of a stream from a revision on. */
export function prepareStreamRead(
  database: SqliteDatabase,
): BetterSqlite3.Statement<[string, number], EventRow> {
  return database
    .prepare<[string, number], EventRow>(
      `SELECT ${COLUMNS} FROM events WHERE stream = ? AND revision >= ? ORDER BY revision`,
    )
    .raw()
}

/**
 * Inserts the events of one append after revision `actual`, unless the append expects another revision.
 * `insert` writes one event and returns its position.
 */
export function insertEvents(
  { expectedRevision, events }: AppendRequest,
  actual: number,
  insert: (revision: number, type: string, data: string) => number | bigint,
): AppendResult {
  if (expectedRevision !== 'any' && expectedRevision !== actual) return { actual }
  let revision = actual
  let position = 0
  for (const [type, data] of events) {
    revision += 1
    position = Number(insert(revision, type, data))
  }
  return { revision, position }
}
