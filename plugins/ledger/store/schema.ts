import { DEFAULT_MIGRATION_TABLE, type Kysely, type Migration, Migrator, sql } from 'kysely'
import { type LedgerEngine, type LedgerTables, MEASURES } from './tables.ts'

/** Creates the tables if they are missing. Rejects if another version of the gateway has created them. */
export async function createLedgerTables(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  schema: string | undefined,
): Promise<void> {
  if (engine === 'postgres') return runMigrations(db, engine, schema)
  // The migrator does not lock SQLite files, and other processes may open the same one.
  await db.connection().execute(async (connection) => {
    await sql`begin immediate`.execute(connection)
    try {
      await runMigrations(connection, engine, schema)
      await sql`commit`.execute(connection)
    } catch (error) {
      // SQLite has already done so after some errors.
      await sql`rollback`.execute(connection).catch(() => undefined)
      throw error
    }
  })
}

async function runMigrations(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  schema: string | undefined,
): Promise<void> {
  const migrations = listMigrations(engine)
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    ...(schema !== undefined && { migrationTableSchema: schema }),
  })
  const { error } = await migrator.migrateToLatest()
  if (error === undefined) return
  const unknown = (await listApplied(db)).filter((name) => !(name in migrations))
  if (unknown.length === 0) throw error
  throw new Error(
    `the request ledger was written by another version of Signalbox: its schema is ${unknown.at(-1)}, and ` +
      `this version supports ${Object.keys(migrations).at(-1)}. Start that version, or move the ledger away`,
  )
}

/** The names of the migrations that the ledger has had. Empty if it cannot be read. */
async function listApplied(db: Kysely<LedgerTables>): Promise<readonly string[]> {
  const query = (db as unknown as Kysely<{ [DEFAULT_MIGRATION_TABLE]: { name: string } }>)
    .selectFrom(DEFAULT_MIGRATION_TABLE)
    .select('name')
    .orderBy('name')
  const rows = await query.execute().catch(() => [])
  return rows.map(({ name }) => name)
}

/** Migrations by name, in order. One that was released never changes. */
function listMigrations(engine: LedgerEngine): Record<string, Migration> {
  return {
    '1.0-tables': { up: (db) => createTables(db, engine) },
    '1.1-deployments': { up: addDeployments },
    '1.2-tool-calls': { up: (db) => addToolCalls(db, engine) },
    '1.3-sessions': { up: (db) => addSessions(db, engine) },
    '1.4-exports': { up: (db) => addExports(db, engine) },
  }
}

/** `?`: the column may be null. */
type ColumnType = `${'text' | 'integer' | 'bigint' | 'real' | 'bytes'}${'' | '?'}`

interface Table {
  readonly columns: Readonly<Record<string, ColumnType>>
  /** The columns of the primary key. `generated`: a column `id`, with ids that the database gives. */
  readonly key?: readonly string[] | 'generated'
  readonly unique?: readonly string[]
  /** SQLite stores the rows in the primary key, not beside it. */
  readonly clustered?: true
}

const COUNTED = Object.fromEntries(MEASURES.map((measure) => [measure, 'bigint'] as const))

/** Sums of usage by a key. */
function usageBy(...key: readonly string[]): Table {
  const columns = Object.fromEntries(key.map((column) => [column, 'bigint'] as const))
  return { columns: { ...columns, ...COUNTED }, key, clustered: true }
}

/** Tables that a later migration has added. */
type LaterTable = 'tool_calls' | 'sessions' | 'export_clock' | 'export_parts' | 'export_targets'

const TABLES: Readonly<Record<Exclude<keyof LedgerTables, LaterTable>, Table>> = {
  ledger: { columns: { log_id: 'text' } },
  requests: {
    columns: {
      id: 'bigint',
      request_id: 'text',
      user_id: 'bigint',
      key: 'integer',
      group_set: 'integer?',
      endpoint: 'integer',
      mode: 'integer?',
      reason: 'integer?',
      requested_model: 'text?',
      status: 'integer',
      error: 'integer?',
      target: 'integer?',
      attempts: 'text?',
      trace: 'bigint?',
      rules_position: 'bigint',
      warnings: 'text?',
      warning_list: 'bigint?',
      input: 'bigint?',
      cached: 'bigint?',
      cache_write: 'bigint?',
      output: 'bigint?',
      reasoning: 'bigint?',
      cost: 'bigint?',
      latency: 'bigint',
      first_token: 'bigint?',
      flags: 'integer',
      trace_id: 'text?',
      router_version: 'integer?',
      router_probability: 'real?',
      router_propensity: 'real?',
      routing_arm: 'integer?',
      shadow_of: 'text?',
      signals: 'integer',
    },
    key: ['id'],
  },
  lists: {
    columns: { digest: 'text', value: 'text', day: 'integer' },
    key: 'generated',
    unique: ['digest'],
  },
  trace_rules: {
    columns: { trace: 'bigint', kind: 'integer', rule_id: 'bigint', action: 'integer' },
    key: ['trace', 'kind', 'rule_id', 'action'],
    clustered: true,
  },
  trace_slots: {
    columns: { kind: 'integer', rule_id: 'bigint', slot: 'bigint', trace: 'bigint' },
    key: ['kind', 'rule_id', 'slot', 'trace'],
    clustered: true,
  },
  prompts: {
    columns: {
      id: 'bigint',
      user_id: 'bigint',
      mode: 'text',
      omission: 'text?',
      key_id: 'text?',
      data: 'bytes?',
    },
    key: ['id'],
  },
  responses: {
    columns: { id: 'text', user_id: 'bigint', key_id: 'text', expires: 'bigint', data: 'text' },
    key: ['id'],
  },
  feedback: {
    columns: {
      request: 'bigint',
      name: 'text',
      user_id: 'bigint',
      score: 'real',
      comment: 'text?',
      given_by: 'text',
      given_at: 'bigint',
    },
    key: ['request', 'name'],
    clustered: true,
  },
  rated_prompts: {
    columns: { id: 'bigint', user_id: 'bigint', model: 'text', features: 'bytes' },
    key: ['id'],
  },
  assumed_costs: {
    columns: {
      id: 'bigint',
      user_id: 'bigint',
      key: 'integer',
      group_set: 'integer?',
      is_copy: 'integer',
      is_own_copy: 'integer',
      cost: 'bigint',
    },
    key: ['id'],
  },
  labels: { columns: { value: 'text' }, key: 'generated', unique: ['value'] },
  group_sets: { columns: { value: 'text' }, key: 'generated', unique: ['value'] },
  group_members: {
    columns: { group_id: 'bigint', group_set: 'integer' },
    key: ['group_id', 'group_set'],
    clustered: true,
  },
  targets: { columns: { provider: 'text', model: 'text' }, key: 'generated', unique: ['provider', 'model'] },
  errors: {
    columns: {
      digest: 'text',
      code: 'text',
      status: 'integer',
      message: 'text?',
      param: 'text?',
      rule_id: 'bigint?',
      day: 'integer',
    },
    key: 'generated',
    unique: ['digest'],
  },
  usage_hours: usageBy('hour', 'user_id', 'key', 'group_set', 'target'),
  usage_totals: usageBy('hour', 'target'),
  usage_days: usageBy('day', 'user_id', 'key', 'group_set', 'target'),
  usage_rule_days: usageBy('day', 'kind', 'rule_id', 'target'),
  usage_rules: usageBy('hour', 'kind', 'rule_id', 'user_id', 'key', 'group_set', 'target'),
}

interface Index {
  readonly table: keyof LedgerTables
  readonly columns: readonly string[]
  /** The rows of one value are in the order of time. SQLite adds the primary key to each index by itself. */
  readonly inTime?: true
  /** Only rows in which this column is not null. */
  readonly where?: string
}

const INDEXES: Readonly<Record<string, Index>> = {
  requests_by_user_id: { table: 'requests', columns: ['user_id'], inTime: true },
  requests_by_key: { table: 'requests', columns: ['key'], inTime: true },
  requests_by_target: { table: 'requests', columns: ['target'], inTime: true },
  requests_by_endpoint: { table: 'requests', columns: ['endpoint'], inTime: true },
  requests_by_error: { table: 'requests', columns: ['error'], inTime: true, where: 'error' },
  requests_by_failed_status: { table: 'requests', columns: ['status', 'id', 'error'], where: 'error' },
  requests_by_group_set: { table: 'requests', columns: ['group_set'], inTime: true, where: 'group_set' },
  requests_by_trace: { table: 'requests', columns: ['trace'], inTime: true, where: 'trace' },
  requests_by_shadow_of: { table: 'requests', columns: ['shadow_of'], where: 'shadow_of' },
  requests_by_arm: { table: 'requests', columns: ['routing_arm'], where: 'routing_arm' },
  trace_slots_by_slot: { table: 'trace_slots', columns: ['slot'] },
  prompts_by_user: { table: 'prompts', columns: ['user_id', 'id'] },
  responses_by_expiry: { table: 'responses', columns: ['expires'] },
  responses_by_user: { table: 'responses', columns: ['user_id'] },
  feedback_by_user: { table: 'feedback', columns: ['user_id', 'request'] },
  rated_prompts_by_user: { table: 'rated_prompts', columns: ['user_id', 'id'] },
  usage_hours_by_user: { table: 'usage_hours', columns: ['user_id', 'hour'] },
  usage_rules_by_user: { table: 'usage_rules', columns: ['user_id', 'hour'] },
  usage_days_by_user_id: { table: 'usage_days', columns: ['user_id', 'day'] },
  usage_days_by_key: { table: 'usage_days', columns: ['key', 'day'] },
}

async function createTables(db: Kysely<unknown>, engine: LedgerEngine): Promise<void> {
  for (const [name, table] of Object.entries(TABLES)) await createTable(db, engine, name, table)
  for (const [name, { table, columns, inTime, where }] of Object.entries(INDEXES)) {
    const isCompleted = inTime !== undefined && engine === 'postgres'
    let index = db.schema
      .createIndex(name)
      .on(table)
      .columns([...columns, ...(isCompleted ? ['id'] : [])])
    if (where !== undefined) index = index.where(sql.ref(where), 'is not', null)
    await index.execute()
  }
}

async function addDeployments(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('requests').addColumn('deployment', 'integer').execute()
}

const TOOL_CALLS: Table = {
  columns: {
    request_id: 'text',
    time: 'bigint',
    user_id: 'bigint',
    group_ids: 'text?',
    session: 'text?',
    server: 'text',
    tool: 'text',
    verdict: 'text',
    data: 'text',
    key_id: 'text?',
    arguments: 'bytes?',
  },
  key: 'generated',
  unique: ['request_id'],
}

async function addToolCalls(db: Kysely<unknown>, engine: LedgerEngine): Promise<void> {
  await createTable(db, engine, 'tool_calls', TOOL_CALLS)
  for (const column of ['time', 'user_id', 'session', 'server'])
    await db.schema.createIndex(`tool_calls_by_${column}`).on('tool_calls').columns([column, 'id']).execute()
}

const SESSIONS: Table = {
  columns: { user_id: 'bigint', session: 'text', first_seen: 'bigint', last_seen: 'bigint' },
  key: ['session', 'user_id'],
  clustered: true,
}

async function addSessions(db: Kysely<unknown>, engine: LedgerEngine): Promise<void> {
  await db.schema.alterTable('requests').addColumn('session', 'text').execute()
  await db.schema
    .createIndex('requests_by_session')
    .on('requests')
    .columns(['session', 'user_id', ...(engine === 'postgres' ? ['id'] : [])])
    .where(sql.ref('session'), 'is not', null)
    .execute()
  await db.schema.dropIndex('tool_calls_by_session').execute()
  await db.schema
    .createIndex('tool_calls_by_session')
    .on('tool_calls')
    .columns(['session', 'user_id', 'time', 'id'])
    .execute()
  await createTable(db, engine, 'sessions', SESSIONS)
  await db.schema.createIndex('sessions_by_last').on('sessions').columns(['last_seen']).execute()
  await db.schema.createIndex('sessions_by_user').on('sessions').columns(['user_id', 'last_seen']).execute()
  const ledger = db as Kysely<LedgerTables>
  await ledger
    .insertInto('sessions')
    .columns(['user_id', 'session', 'first_seen', 'last_seen'])
    .expression(
      ledger
        .selectFrom('tool_calls')
        .select(({ fn, ref }) => [
          'user_id',
          ref('session').$notNull().as('session'),
          fn.min<number>('time').as('first_seen'),
          fn.max<number>('time').as('last_seen'),
        ])
        .where('session', 'is not', null)
        .groupBy(['user_id', 'session']),
    )
    .execute()
}

const EXPORTS: Readonly<Record<string, Table>> = {
  export_clock: { columns: { id: 'integer', last: 'bigint' }, key: ['id'] },
  export_parts: {
    columns: { last: 'bigint', kind: 'text', ids: 'text', written: 'bigint' },
    key: ['last'],
  },
  export_targets: {
    columns: {
      name: 'text',
      position: 'bigint',
      pending: 'bigint?',
      owner: 'text?',
      lease_end: 'bigint',
      seen: 'bigint',
    },
    key: ['name'],
  },
}

async function addExports(db: Kysely<unknown>, engine: LedgerEngine): Promise<void> {
  for (const [name, table] of Object.entries(EXPORTS)) await createTable(db, engine, name, table)
}

const POSTGRES_TYPES = {
  text: 'text',
  integer: 'integer',
  bigint: 'bigint',
  real: 'double precision',
  bytes: 'bytea',
}
const SQLITE_TYPES = { text: 'text', integer: 'integer', bigint: 'integer', real: 'real', bytes: 'blob' }

async function createTable(
  db: Kysely<unknown>,
  engine: LedgerEngine,
  name: string,
  { columns, key, unique, clustered }: Table,
): Promise<void> {
  const isSqlite = engine === 'sqlite'
  const types = isSqlite ? SQLITE_TYPES : POSTGRES_TYPES
  let table = db.schema.createTable(name)
  if (key === 'generated')
    table = table.addColumn('id', sql.raw(isSqlite ? 'integer' : 'bigint'), (column) =>
      isSqlite ? column.primaryKey() : column.primaryKey().generatedAlwaysAsIdentity(),
    )
  for (const [column, type] of Object.entries(columns)) {
    const isNullable = type.endsWith('?')
    // The cast is safe: only the mark is cut off.
    const base = (isNullable ? type.slice(0, -1) : type) as keyof typeof types
    table = table.addColumn(column, sql.raw(types[base]), (definition) =>
      isNullable ? definition : definition.notNull(),
    )
  }
  if (key !== undefined && key !== 'generated')
    table = table.addPrimaryKeyConstraint(`${name}_key`, key as never)
  if (unique !== undefined) table = table.addUniqueConstraint(`${name}_unique`, unique as never)
  if (isSqlite) table = table.modifyEnd(sql.raw(clustered ? 'strict, without rowid' : 'strict'))
  await table.execute()
}
