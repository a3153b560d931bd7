import { DEFAULT_MIGRATION_TABLE, type Kysely, type Migration, Migrator, sql } from 'kysely'
import { NEWER_VERSION } from '../../../core/event-log/sqlite/check-folder.ts'
import { createAssumedCosts } from './assumed-costs.ts'
import { createPrompts } from './create-prompts.ts'
import { addFeedback } from './feedback-migration.ts'
import type { LedgerEngine, LedgerTables } from './tables.ts'
import { addTraces } from './trace-migration.ts'

/** Creates or updates the tables. Rejects if a newer version of the gateway has updated them. */
export async function migrateLedger(
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
  const { error } = await createMigrator(db, engine, schema).migrateToLatest()
  if (error === undefined) return
  const known = Object.keys(listMigrations(engine))
  const unknown = (await listApplied(db)).filter((name) => !known.includes(name))
  if (unknown.length === 0) throw error
  throw new Error(
    `the request ledger ${NEWER_VERSION}: its schema is ${unknown.at(-1)}, and this version supports up to ` +
      `${known.at(-1)}. Start that version, or restore the ledger of before the upgrade`,
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

/** Whether `migrateLedger` will change the tables. */
export async function hasNewMigrations(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  schema: string | undefined,
): Promise<boolean> {
  const migrations = await createMigrator(db, engine, schema).getMigrations()
  return migrations.some(({ executedAt }) => executedAt === undefined)
}

function createMigrator(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  schema: string | undefined,
): Migrator {
  return new Migrator({
    db,
    provider: { getMigrations: async () => listMigrations(engine) },
    ...(schema !== undefined && { migrationTableSchema: schema }),
  })
}

/** Migrations by name, in order. One that was released never changes. */
function listMigrations(engine: LedgerEngine): Record<string, Migration> {
  return {
    '001-requests': { up: (db) => createTables(db, engine) },
    '002-prompts': { up: (db) => createPrompts(db, engine) },
    '003-groups-and-days': { up: (db) => addGroupsAndDays(db, engine) },
    '004-trace-id': { up: (db) => db.schema.alterTable('requests').addColumn('trace_id', 'text').execute() },
    '005-feedback': { up: (db) => addFeedback(db, engine) },
    '006-copies': { up: indexCopies },
    '007-arms': { up: indexArms },
    '008-traces': { up: (db) => addTraces(db, engine) },
    '009-assumed-costs': { up: (db) => createAssumedCosts(db, engine) },
  }
}

/** The measures of usage when its tables were created. */
const MEASURES = [
  'requests',
  'errors',
  'cache_hits',
  'unknown_costs',
  'input',
  'cached',
  'cache_write',
  'output',
  'reasoning',
  'cost',
] as const

async function createTables(db: Kysely<unknown>, engine: LedgerEngine): Promise<void> {
  const isSqlite = engine === 'sqlite'
  const bigint = isSqlite ? 'integer' : 'bigint'
  const options = sql.raw(isSqlite ? 'strict' : '')
  // Rows are stored in the primary key, not beside it.
  const clustered = sql.raw(isSqlite ? 'strict, without rowid' : '')

  await db.schema
    .createTable('ledger')
    .addColumn('log_id', 'text', (column) => column.notNull())
    .modifyEnd(options)
    .execute()

  await db.schema
    .createTable('requests')
    .addColumn('id', bigint, (column) => column.primaryKey())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('user_id', bigint, (column) => column.notNull())
    .addColumn('key', 'integer', (column) => column.notNull())
    .addColumn('endpoint', 'integer', (column) => column.notNull())
    .addColumn('mode', 'integer')
    .addColumn('reason', 'integer')
    .addColumn('requested_model', 'text')
    .addColumn('status', 'integer', (column) => column.notNull())
    .addColumn('error', 'integer')
    .addColumn('target', 'integer')
    .addColumn('attempts', 'text')
    .addColumn('rules', 'text')
    .addColumn('rules_position', bigint, (column) => column.notNull())
    .addColumn('warnings', 'text')
    .addColumn('input', bigint)
    .addColumn('cached', bigint)
    .addColumn('cache_write', bigint)
    .addColumn('output', bigint)
    .addColumn('reasoning', bigint)
    .addColumn('cost', bigint)
    .addColumn('latency', bigint, (column) => column.notNull())
    .addColumn('first_token', bigint)
    .addColumn('flags', 'integer', (column) => column.notNull())
    .modifyEnd(options)
    .execute()

  // SQLite adds the primary key to each index, so that rows of one value are in the order of time.
  const inTime = isSqlite ? [] : ['id']
  for (const column of ['user_id', 'key', 'target', 'endpoint'])
    await db.schema
      .createIndex(`requests_by_${column}`)
      .on('requests')
      .columns([column, ...inTime])
      .execute()
  await db.schema
    .createIndex('requests_by_error')
    .on('requests')
    .columns(['error', ...inTime])
    .where(sql.ref('error'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('requests_by_failed_status')
    .on('requests')
    .columns(['status', 'id', 'error'])
    .where(sql.ref('error'), 'is not', null)
    .execute()

  await db.schema
    .createTable('request_rules')
    .addColumn('kind', 'integer', (column) => column.notNull())
    .addColumn('rule_id', bigint, (column) => column.notNull())
    .addColumn('request', bigint, (column) => column.notNull())
    .addColumn('action', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('request_rules_key', ['kind', 'rule_id', 'request', 'action'])
    .modifyEnd(clustered)
    .execute()
  await db.schema
    .createIndex('request_rules_by_action')
    .on('request_rules')
    .columns(['action', 'request'])
    .execute()

  const createDictionary = (table: string) => createDictionaryTable(db, engine, table)
  await createDictionary('labels')
    .addColumn('value', 'text', (column) => column.notNull().unique())
    .execute()
  await createDictionary('targets')
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addUniqueConstraint('targets_key', ['provider', 'model'])
    .execute()
  await createDictionary('errors')
    .addColumn('digest', 'text', (column) => column.notNull().unique())
    .addColumn('code', 'text', (column) => column.notNull())
    .addColumn('status', 'integer', (column) => column.notNull())
    .addColumn('message', 'text')
    .addColumn('param', 'text')
    .addColumn('rule_id', bigint)
    .addColumn('day', 'integer', (column) => column.notNull())
    .execute()

  await createUsageTable(db, engine, 'usage_hours', ['hour', 'user_id', 'key', 'target'])
  await db.schema.createIndex('usage_hours_by_user').on('usage_hours').columns(['user_id', 'hour']).execute()
  await createUsageTable(db, engine, 'usage_totals', ['hour', 'target'])
  await createUsageTable(db, engine, 'usage_rules', ['hour', 'kind', 'rule_id', 'user_id', 'key', 'target'])
}

function createDictionaryTable(db: Kysely<unknown>, engine: LedgerEngine, table: string) {
  return db.schema
    .createTable(table)
    .addColumn('id', 'integer', (column) =>
      engine === 'sqlite' ? column.primaryKey() : column.primaryKey().generatedAlwaysAsIdentity(),
    )
    .modifyEnd(sql.raw(engine === 'sqlite' ? 'strict' : ''))
}

async function createUsageTable(
  db: Kysely<unknown>,
  engine: LedgerEngine,
  name: string,
  key: readonly string[],
): Promise<void> {
  let table = db.schema.createTable(name)
  for (const column of [...key, ...MEASURES])
    table = table.addColumn(column, engine === 'sqlite' ? 'integer' : 'bigint', (definition) =>
      definition.notNull(),
    )
  await table
    .addPrimaryKeyConstraint(`${name}_key`, key as never)
    .modifyEnd(sql.raw(engine === 'sqlite' ? 'strict, without rowid' : ''))
    .execute()
}

/** Adds the groups of users to requests and usage, and usage by day of what was recorded before. */
async function addGroupsAndDays(db: Kysely<unknown>, engine: LedgerEngine): Promise<void> {
  await db.schema.alterTable('requests').addColumn('group_set', 'integer').execute()
  await db.schema
    .createIndex('requests_by_group_set')
    .on('requests')
    .columns(['group_set', ...(engine === 'sqlite' ? [] : ['id'])])
    .where(sql.ref('group_set'), 'is not', null)
    .execute()
  await createDictionaryTable(db, engine, 'group_sets')
    .addColumn('value', 'text', (column) => column.notNull().unique())
    .execute()
  await db.schema
    .createTable('group_members')
    .addColumn('group_id', engine === 'sqlite' ? 'integer' : 'bigint', (column) => column.notNull())
    .addColumn('group_set', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('group_members_key', ['group_id', 'group_set'])
    .modifyEnd(sql.raw(engine === 'sqlite' ? 'strict, without rowid' : ''))
    .execute()

  const caller = ['user_id', 'key']
  await sumUpAgain(db, engine, 'usage_days', ['day', ...caller, 'target'], 'usage_hours')
  await sumUpAgain(db, engine, 'usage_rule_days', ['day', 'kind', 'rule_id', 'target'], 'usage_rules')
  for (const [table, key] of [
    ['usage_hours', ['hour', ...caller, 'target']],
    ['usage_rules', ['hour', 'kind', 'rule_id', ...caller, 'target']],
  ] as const) {
    await sumUpAgain(db, engine, `${table}_copy`, key, table)
    await db.schema.dropTable(table).execute()
    await sumUpAgain(db, engine, table, key, `${table}_copy`)
    await db.schema.dropTable(`${table}_copy`).execute()
    await db.schema.createIndex(`${table}_by_user`).on(table).columns(['user_id', 'hour']).execute()
  }
  for (const column of caller)
    await db.schema.createIndex(`usage_days_by_${column}`).on('usage_days').columns([column, 'day']).execute()
}

/** Creates a table of usage with the sums of another one, which has no groups. */
async function sumUpAgain(
  db: Kysely<unknown>,
  engine: LedgerEngine,
  name: string,
  key: readonly string[],
  source: string,
): Promise<void> {
  const isByCaller = key.includes('user_id')
  await createUsageTable(db, engine, name, isByCaller ? [...key, 'group_set'] : key)
  const [time = '', ...columns] = key
  const start = time === 'day' ? sql<number>`hour / 24` : sql<number>`hour`
  const sums = MEASURES.map((measure) => sql<number>`sum(${sql.ref(measure)})`.as(measure))
  const noGroups = isByCaller ? [sql<number>`0`.as('group_set')] : []
  // Their types do not know which table it is.
  const rows = (db as Kysely<LedgerTables>)
    .selectFrom(source as 'usage_hours')
    .select([start.as('start'), ...(columns as ['target']), ...sums, ...noGroups])
    .groupBy([start, ...(columns as ['target'])])
  await db
    .insertInto(name as never)
    .columns([...key, ...MEASURES, ...(isByCaller ? ['group_set'] : [])] as never)
    .expression(rows as never)
    .execute()
}

async function indexCopies(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('requests_by_shadow_of')
    .on('requests')
    .column('shadow_of')
    .where(sql.ref('shadow_of'), 'is not', null)
    .execute()
}

async function indexArms(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('requests_by_arm')
    .on('requests')
    .column('routing_arm')
    .where(sql.ref('routing_arm'), 'is not', null)
    .execute()
}
