import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
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

/** The revision that a writer expects the stream to have. */
export type Expected = number | 'any' | 'no-stream' | 'stream-exists'

export type WriteResult =
  | { readonly type: 'written'; readonly revision: number; readonly position: number }
  | { readonly type: 'wrong-revision'; readonly actual: number }

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
  CREATE INDEX IF NOT EXISTS ids ON events (stream, id)`

/** Size of a record without its content. */
const RECORD_BYTES = 90

/** Stores all streams in SQLite. Emits `written` after each write. */
export class Store extends EventEmitter {
  readonly #database: SqliteDatabase
  #next: number

  constructor(file: string) {
    super()
    this.#database = new SqliteDatabase(file)
    this.#database.pragma('journal_mode = WAL')
    this.#database.pragma('synchronous = OFF')
    this.#database.exec(SCHEMA)
    const [last] = this.readAll(Number.MAX_SAFE_INTEGER, 'backwards', 1)
    this.#next = last ? last.position + sizeOf(last) : RECORD_BYTES
    this.setMaxListeners(0)
  }

  append(stream: string, expected: Expected, events: readonly ProposedEvent[]): WriteResult {
    const repeated = this.#findRepeated(stream, expected, events)
    if (repeated) return repeated
    const actual = this.#lastRevision(stream)
    if (!matchesExpected(expected, actual)) return { type: 'wrong-revision', actual }
    const write = this.#database.transaction(() => {
      let position = 0
      events.forEach((event, index) => {
        position = this.#next
        this.#insert({ ...event, stream, position, revision: actual + 1 + index, created: Date.now() })
        this.#next += sizeOf(event)
      })
      return position
    })
    const position = write.immediate()
    this.emit('written')
    return { type: 'written', revision: actual + events.length, position }
  }

  /** Reads at most `count` events of a stream in the given direction, starting with revision `from`. */
  readStream(
    stream: string,
    from: number,
    direction: 'forwards' | 'backwards',
    count: number,
  ): StoredEvent[] {
    const [compare, order] = direction === 'forwards' ? ['>=', 'ASC'] : ['<=', 'DESC']
    const { oldest, first } = this.#limits(stream)
    const sql = `SELECT * FROM events
      WHERE stream = ? AND revision ${compare} ? AND revision >= ? AND created >= ?
      ORDER BY revision ${order} LIMIT ?`
    return this.#database
      .prepare<unknown[], StoredEvent>(sql)
      .all(stream, from, Math.min(first, Number.MAX_SAFE_INTEGER), oldest, count)
  }

  /** Hides all events that the stream has, as a server's soft delete does. */
  delete(stream: string): void {
    const data = Buffer.from(JSON.stringify({ $tb: Number.MAX_SAFE_INTEGER }))
    const event = { id: randomUUID(), type: '$metadata', contentType: 'application/json', data }
    this.append(`$$${stream}`, 'any', [{ ...event, metadata: new Uint8Array() }])
  }

  /**
   * Reads at most `count` events: forwards from position `from` (inclusive), or backwards from it
   * (exclusive).
   */
  readAll(from: number, direction: 'forwards' | 'backwards', count: number): StoredEvent[] {
    const [compare, order] = direction === 'forwards' ? ['>=', 'ASC'] : ['<', 'DESC']
    const sql = `SELECT * FROM events WHERE position ${compare} ? ORDER BY position ${order} LIMIT ?`
    return this.#database.prepare<unknown[], StoredEvent>(sql).all(from, count)
  }

  exists(stream: string): boolean {
    return this.#lastRevision(stream) >= this.#limits(stream).first
  }

  close(): void {
    this.#database.close()
  }

  #insert(event: StoredEvent): void {
    this.#database
      .prepare(
        `INSERT INTO events VALUES
          (@position, @stream, @revision, @id, @type, @contentType, @data, @metadata, @created)`,
      )
      .run(event)
  }

  #lastRevision(stream: string): number {
    const sql = 'SELECT max(revision) FROM events WHERE stream = ?'
    return this.#database.prepare<unknown[], number | null>(sql).pluck().get(stream) ?? -1
  }

  /**
   * The oldest creation time and the first revision that the stream's metadata (`$maxAge`, `$tb`) leaves
   * readable.
   */
  #limits(stream: string): { oldest: number; first: number } {
    const sql = 'SELECT data FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1'
    const data = this.#database.prepare<unknown[], Buffer>(sql).pluck().get(`$$${stream}`)
    const { $maxAge = Number.POSITIVE_INFINITY, $tb = 0 } = data ? JSON.parse(data.toString()) : {}
    return { oldest: Math.max(0, Date.now() - $maxAge * 1000), first: $tb }
  }

  /**
   * Finds events that are already in the stream at the expected revision: the result of a repeated append.
   */
  #findRepeated(
    stream: string,
    expected: Expected,
    events: readonly ProposedEvent[],
  ): WriteResult | undefined {
    const sql = 'SELECT revision FROM events WHERE stream = ? AND id = ?'
    const first = this.#database.prepare<unknown[], number>(sql).pluck().get(stream, events[0]?.id)
    if (first === undefined || !matchesExpected(expected, first - 1)) return undefined
    const stored = this.readStream(stream, first, 'forwards', events.length)
    if (stored.length < events.length || stored.some(({ id }, index) => id !== events[index]?.id))
      return undefined
    const last = stored.at(-1)
    return last && { type: 'written', revision: last.revision, position: last.position }
  }
}

function matchesExpected(expected: Expected, actual: number): boolean {
  if (expected === 'any') return true
  if (expected === 'no-stream') return actual === -1
  if (expected === 'stream-exists') return actual >= 0
  return actual === expected
}

function sizeOf({ data, metadata }: Pick<StoredEvent, 'data' | 'metadata'>): number {
  return RECORD_BYTES + data.length + metadata.length
}
