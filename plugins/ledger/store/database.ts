import { Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely'
import { SqliteDatabase } from '../../../core/event-log/sqlite/database.ts'
import { refuseForeignWal } from '../../../core/event-log/sqlite/foreign-wal.ts'
import { createDamagedOwnerError } from '../../../core/event-log/sqlite/set-aside.ts'
import { isLogId } from '../../../core/util/ids.ts'
import { createLedgerTables } from './schema.ts'
import type { LedgerEngine, LedgerTables } from './tables.ts'

/** Where the ledger of an event log is. */
export type LedgerLocation =
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'postgres'; readonly url: string }

/** An open ledger of one event log. */
export interface LedgerDatabase {
  readonly db: Kysely<LedgerTables>
  readonly engine: LedgerEngine
  /** Returns unused space to the file system, a few pages at a time. */
  vacuum(): void
  /**
   * Removes from the disk what was deleted. Returns false while another connection reads it. PostgreSQL does
   * so when it vacuums the table.
   */
  forgetDeleted(): boolean
  /** Registers what is called after the server has closed a connection: it may have been restored since. */
  onDisconnect(listener: () => void): void
}

/** How long a statement waits for another process, on SQLite. */
const BUSY_TIMEOUT_MS = 5000

/** How long a statement may take, on PostgreSQL, before its connection is given up. */
const STATEMENT_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 3000

/** Pages of 4 KiB. */
const VACUUM_PAGES = 500

/**
 * Opens the ledger and creates its tables. `isWriter`: false for a second connection to a file
 * that is already open, which reads only. Rejects if the ledger belongs to another event log.
 */
export async function openLedgerDatabase(
  location: LedgerLocation,
  logId: string,
  { isWriter = true } = {},
): Promise<LedgerDatabase> {
  const database =
    location.engine === 'sqlite'
      ? openSqlite(location.file, isWriter)
      : await openPostgres(location.url, logId)
  if (!isWriter) return database
  try {
    await createLedgerTables(database.db, location.engine, location.engine === 'postgres' ? logId : undefined)
    await claimLedger(database.db, logId)
    return database
  } catch (error) {
    await database.db.destroy().catch(() => undefined)
    throw error
  }
}

function openSqlite(file: string, isWriter: boolean): LedgerDatabase {
  refuseForeignWal(file)
  const connection = new SqliteDatabase(file, { timeout: BUSY_TIMEOUT_MS, readonly: !isWriter })
  try {
    for (const pragma of [...(isWriter ? WRITER_PRAGMAS : []), 'cache_size = -8000'])
      connection.pragma(pragma)
  } catch (error) {
    connection.close()
    throw error
  }
  const statements = new Map<string, ReturnType<typeof prepare>>()
  /** Values are arguments, because reading each from an array takes as long as inserting it. */
  function prepare(text: string) {
    const statement = connection.prepare(text)
    return {
      reader: statement.reader,
      all: (values: readonly unknown[]) => statement.all(...values),
      run: (values: readonly unknown[]) => statement.run(...values),
      iterate: (values: readonly unknown[]) => statement.iterate(...values),
    }
  }
  const database = {
    // Statements with many rows differ only in their number of rows, so there are few.
    prepare(text: string) {
      // SQLite itself rolls back after some errors, and this statement's error would take their place.
      if (text === 'rollback' && !connection.inTransaction) return connection.prepare('SELECT 1')
      let statement = statements.get(text)
      if (statement === undefined) {
        if (statements.size >= MAX_STATEMENTS) statements.clear()
        statement = prepare(text)
        statements.set(text, statement)
      }
      return statement
    },
    close: () => void connection.close(),
  }
  return {
    db: new Kysely<LedgerTables>({ dialect: new SqliteDialect({ database: database as never }) }),
    engine: 'sqlite',
    vacuum: () => void connection.pragma(`incremental_vacuum(${VACUUM_PAGES})`),
    forgetDeleted: () => truncateWal(connection),
    onDisconnect: () => undefined,
  }
}

/**
 * The write-ahead log may have older versions of the pages. Does not wait for a connection that reads it:
 * a backup may take minutes, and everything that is written would have to wait as well.
 */
function truncateWal(connection: SqliteDatabase): boolean {
  connection.pragma('busy_timeout = 0')
  try {
    const [result] = connection.prepare<[], { busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)').all()
    return result?.busy === 0
  } finally {
    connection.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

/** Only a new file accepts `auto_vacuum`. Deleted prompts are overwritten (`secure_delete`). */
const WRITER_PRAGMAS = [
  'auto_vacuum = INCREMENTAL',
  'journal_mode = WAL',
  'synchronous = FULL',
  'secure_delete = ON',
]

const MAX_STATEMENTS = 200

/** PostgreSQL's type of 64-bit integers, which `pg` returns as text by default. */
const INT8_OID = 20

/**
 * Each event log has a schema of its own, named by the log's id, so that gateways of different logs can use
 * the same database. See docs/decisions/ledger.md, "The ledger of another event log is not mixed in".
 */
async function openPostgres(url: string, schema: string): Promise<LedgerDatabase> {
  const listeners: (() => void)[] = []
  const db = await connectPostgres(url, STATEMENT_TIMEOUT_MS, () => {
    for (const listener of listeners) listener()
  })
  try {
    await createSchema(db, schema)
  } catch (error) {
    await db.destroy().catch(() => undefined)
    throw error
  }
  return {
    db: db.withSchema(schema),
    engine: 'postgres',
    vacuum: () => undefined,
    forgetDeleted: () => true,
    onDisconnect: (listener) => void listeners.push(listener),
  }
}

async function connectPostgres(
  url: string,
  timeoutMs: number,
  onDisconnect: () => void = () => undefined,
): Promise<Kysely<LedgerTables>> {
  // Imported on demand: most installations use the embedded ledger.
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    connectionString: url,
    max: 4,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
    idle_in_transaction_session_timeout: timeoutMs,
    keepAlive: true,
    allowExitOnIdle: true,
    types: {
      getTypeParser: (oid, format) =>
        oid === INT8_OID && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format),
    },
  })
  // Connections that break while idle are replaced by the next query.
  pool.on('error', () => undefined)
  // One may also break between the statements of a transaction, whose next one then fails.
  pool.on('connect', (client) => client.on('error', onDisconnect))
  return new Kysely<LedgerTables>({ dialect: new PostgresDialect({ pool }) })
}

/** A user who may not create schemas can use one that is there. */
async function createSchema(db: Kysely<LedgerTables>, schema: string): Promise<void> {
  const existing = await sql`select 1 from pg_namespace where nspname = ${schema}`.execute(db)
  if (existing.rows.length > 0) return
  try {
    await sql`create schema if not exists ${sql.id(schema)}`.execute(db)
  } catch (error) {
    // Another gateway has created it in the meantime.
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== '23505' && code !== '42P06') throw error
  }
}

/** Throws if the tables belong to another log; tables that belong to none are claimed for this one. */
async function claimLedger(db: Kysely<LedgerTables>, logId: string): Promise<void> {
  const owner = await db.selectFrom('ledger').select('log_id').executeTakeFirst()
  if (owner === undefined) await db.insertInto('ledger').values({ log_id: logId }).execute()
  else if (owner.log_id !== logId)
    throw isLogId(owner.log_id) ? new ForeignLedgerError(owner.log_id) : createDamagedOwnerError()
}

/** The ledger belongs to another event log, so its users are other users. */
export class ForeignLedgerError extends Error {
  readonly logId: string

  constructor(logId: string) {
    super(`the ledger belongs to event log ${logId}`)
    this.logId = logId
  }
}
