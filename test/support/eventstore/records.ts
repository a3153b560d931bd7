import { SqliteDatabase } from '../../../core/event-log/sqlite/database.ts'

/** A stored event. Positions increase by the size of events, as on a real server. */
export interface StoredEvent {
  readonly position: number
  readonly stream: string
  readonly revision: number
  readonly id: string
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
  readonly created: number
}

export type ProposedEvent = Pick<StoredEvent, 'id' | 'type' | 'contentType' | 'data' | 'metadata'>

export type Direction = 'forwards' | 'backwards'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS events (
    position INTEGER PRIMARY KEY,
    stream TEXT NOT NULL,
    revision INTEGER NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    contentType TEXT NOT NULL,
    data BLOB NOT NULL,
    metadata BLOB NOT NULL,
    created INTEGER NOT NULL,
    UNIQUE (stream, revision)
  );
  CREATE TABLE IF NOT EXISTS removed (position INTEGER PRIMARY KEY)`

/** Size of a record without its content. */
const RECORD_BYTES = 90

/** The records of a store, in SQLite. Knows nothing of deletion and expiry. */
export class Records {
  readonly #database: SqliteDatabase
  readonly #statements = new Map<string, ReturnType<SqliteDatabase['prepare']>>()
  /** The last revisions of streams that were asked for. */
  readonly #last = new Map<string, number>()
  readonly #insertAll: ReturnType<typeof prepareInserts>
  #next: number

  constructor(file: string) {
    this.#database = new SqliteDatabase(file)
    this.#database.pragma('journal_mode = WAL')
    this.#database.pragma('synchronous = OFF')
    this.#database.exec(SCHEMA)
    this.#insertAll = prepareInserts(this.#database, (event) => {
      const position = this.#next
      this.#next += sizeOf(event)
      return position
    })
    const [last] = this.readAll(Number.MAX_SAFE_INTEGER, 'backwards', 1)
    this.#next = last ? last.position + sizeOf(last) : RECORD_BYTES
  }

  /** Writes events from revision `first` on, all or none. Returns the position of the last one. */
  write(stream: string, first: number, events: readonly ProposedEvent[]): number {
    const position = this.#insertAll(stream, first, events)
    this.#last.set(stream, first + events.length - 1)
    return position
  }

  /** -1 for a stream that does not exist. */
  lastRevision(stream: string): number {
    const known = this.#last.get(stream)
    if (known !== undefined) return known
    const sql = 'SELECT max(revision) FROM events WHERE stream = ?'
    const last = Number(this.#prepare(sql).pluck().get(stream) ?? -1)
    this.#last.set(stream, last)
    return last
  }

  newestOf(stream: string): StoredEvent | undefined {
    if (this.lastRevision(stream) === -1) return undefined
    return this.readStream(stream, Number.MAX_SAFE_INTEGER, 'backwards', 1)[0]
  }

  /** Reads at most `count` events of a stream, starting with revision `from`. */
  readStream(stream: string, from: number, direction: Direction, count: number, oldest = 0): StoredEvent[] {
    const [compare, order] = direction === 'forwards' ? ['>=', 'ASC'] : ['<=', 'DESC']
    const sql = `SELECT * FROM events
      WHERE stream = ? AND revision ${compare} ? AND created >= ? ORDER BY revision ${order} LIMIT ?`
    return this.#prepare(sql).all(stream, from, oldest, count) as StoredEvent[]
  }

  /** Reads at most `count` events: forwards from position `from` (inclusive), or backwards (exclusive). */
  readAll(from: number, direction: Direction, count: number): StoredEvent[] {
    const [compare, order] = direction === 'forwards' ? ['>=', 'ASC'] : ['<', 'DESC']
    const sql = `SELECT * FROM events WHERE position ${compare} ? ORDER BY position ${order} LIMIT ?`
    return this.#prepare(sql).all(from, count) as StoredEvent[]
  }

  /** Whether a read can start at a position: that of a record, of a removed record, or after the end. */
  isReadable(position: number): boolean {
    if (position === 0 || position >= this.#next) return true
    const sql = `SELECT 1 FROM events WHERE position = @position
      UNION SELECT 1 FROM removed WHERE position = @position`
    return this.#prepare(sql).get({ position }) !== undefined
  }

  streams(): string[] {
    return this.#database.prepare<[], string>('SELECT DISTINCT stream FROM events').pluck().all()
  }

  /** Removes events of a stream before revision `before` that are older than `first` or `oldest`. */
  remove(stream: string, before: number, first: number, oldest: number): void {
    const bound = { stream, before, first, oldest }
    const where = 'stream = @stream AND revision < @before AND (revision < @first OR created < @oldest)'
    const remove = this.#database.transaction(() => {
      this.#database.prepare(`INSERT INTO removed SELECT position FROM events WHERE ${where}`).run(bound)
      this.#database.prepare(`DELETE FROM events WHERE ${where}`).run(bound)
    })
    remove.immediate()
  }

  /** The content of all records, as the chunk files of a server hold it. */
  content(): Buffer {
    const sql = 'SELECT data, metadata FROM events ORDER BY position'
    const rows = this.#database.prepare<[], Pick<StoredEvent, 'data' | 'metadata'>>(sql).all()
    return Buffer.concat(rows.flatMap(({ data, metadata }) => [data, metadata]))
  }

  copyTo(file: string): void {
    this.#database.prepare('VACUUM INTO ?').run(file)
  }

  close(): void {
    this.#database.close()
  }

  #prepare(sql: string) {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

function sizeOf({ data, metadata }: Pick<StoredEvent, 'data' | 'metadata'>): number {
  return RECORD_BYTES + data.length + metadata.length
}

/** Inserts events, several in one transaction, and returns the position of the last one. */
function prepareInserts(database: SqliteDatabase, takePosition: (event: ProposedEvent) => number) {
  const insert = database.prepare(
    `INSERT INTO events VALUES
      (@position, @stream, @revision, @id, @type, @contentType, @data, @metadata, @created)`,
  )
  const insertAll = (stream: string, first: number, events: readonly ProposedEvent[]) => {
    let position = 0
    for (const [index, event] of events.entries()) {
      position = takePosition(event)
      insert.run({ ...event, stream, position, revision: first + index, created: Date.now() })
    }
    return position
  }
  const insertTogether = database.transaction(insertAll).immediate
  return (stream: string, first: number, events: readonly ProposedEvent[]) =>
    events.length === 1 ? insertAll(stream, first, events) : insertTogether(stream, first, events)
}
