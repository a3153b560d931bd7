import { closeDatabase, type DatabaseLayout, openDatabase, takeEventPage } from './database.ts'
import type {
  AppendedResponse,
  AppendRequest,
  EventPage,
  EventRow,
  OpenRequest,
  ReadLogRequest,
  ReadStreamRequest,
  WrongRevisionResponse,
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

/** The history's file. Every method blocks until the disk answered, and throws what SQLite throws. */
export interface HistoryStore {
  /** Writes in one transaction, so with one sync; an append at the wrong revision is left out and its neighbours are not. */
  append(asks: readonly AppendRequest[]): (AppendedResponse | WrongRevisionResponse)[]
  readStream(ask: ReadStreamRequest): EventPage
  readLog(ask: ReadLogRequest): EventPage
  /** A number that changes when another connection commits. */
  version(): unknown
  close(): void
}

/** Opens the file and creates it where there is none; throws when a newer version of the program wrote it. */
export function openHistoryStore(ask: OpenRequest): HistoryStore {
  const database = openDatabase(ask, LAYOUT)
  const lastRevision = database
    .prepare<[string], number | null>('SELECT max(revision) FROM events WHERE stream = ?')
    .pluck()
  const insert = database.prepare<[string, number, string, string, string]>(
    'INSERT INTO events (stream, revision, type, data, metadata) VALUES (?, ?, ?, ?, ?)',
  )
  const selectStream = database
    .prepare<[string, number], EventRow>(
      `SELECT ${COLUMNS} FROM events WHERE stream = ? AND revision >= ? ORDER BY revision`,
    )
    .raw()
  const selectLog = database
    .prepare<[number], EventRow>(`SELECT ${COLUMNS} FROM events WHERE position > ? ORDER BY position`)
    .raw()
  // By position: the index on streams would sort all that is left for every page.
  const selectSome = database
    .prepare<[number, string, string], EventRow>(
      `SELECT ${COLUMNS} FROM events NOT INDEXED
        WHERE position > ? AND substr(stream, 1, length(?)) = ? ORDER BY position`,
    )
    .raw()
  const dataVersion = database.prepare('PRAGMA data_version').pluck()

  const write = (ask: AppendRequest) => {
    const { stream, metadata } = ask
    return insertEvents(
      ask,
      lastRevision.get(stream) ?? -1,
      (revision, type, data) => insert.run(stream, revision, type, data, metadata).lastInsertRowid,
    )
  }

  const writeAll = database.transaction((asks: readonly AppendRequest[]) => asks.map(write))

  return {
    append: (asks) => writeAll.immediate(asks),
    readStream: ({ stream, from }) => takeEventPage(selectStream.iterate(stream, from)),
    readLog: ({ after, streams }) =>
      takeEventPage(
        streams === undefined ? selectLog.iterate(after) : selectSome.iterate(after, streams, streams),
      ),
    version: () => dataVersion.get(),
    close: () => closeDatabase(database),
  }
}

/**
 * Writes the events of one append behind revision `actual`, or says that the stream is not where the append expects it.
 * `insert` writes one event and gives its position.
 */
export function insertEvents(
  { expectedRevision, events }: AppendRequest,
  actual: number,
  insert: (revision: number, type: string, data: string) => number | bigint,
): AppendedResponse | WrongRevisionResponse {
  if (expectedRevision !== 'any' && expectedRevision !== actual) return { type: 'wrong-revision', actual }
  let revision = actual
  let position = 0
  for (const [type, data] of events) {
    revision += 1
    position = Number(insert(revision, type, data))
  }
  return { type: 'appended', revision, position }
}
