import { type Kysely, sql } from 'kysely'
import type { LedgerEngine } from './tables.ts'

const USAGE_TABLES = ['usage_hours', 'usage_totals', 'usage_days', 'usage_rule_days', 'usage_rules'] as const

const NEW_MEASURES = [
  'ratings',
  'score',
  'cut_off',
  'invalid_tool_call',
  'schema_mismatch',
  'asked_again',
] as const

/** Adds feedback, the features of prompts, and what routers, splits and shadows did, to the tables. */
export async function addFeedback(db: Kysely<unknown>, engine: LedgerEngine): Promise<void> {
  const isSqlite = engine === 'sqlite'
  const bigint = isSqlite ? 'integer' : 'bigint'
  const real = sql.raw(isSqlite ? 'real' : 'double precision')
  const requests = () => db.schema.alterTable('requests')
  await requests().addColumn('router_version', 'integer').execute()
  await requests().addColumn('router_probability', real).execute()
  await requests().addColumn('router_propensity', real).execute()
  await requests().addColumn('routing_arm', 'integer').execute()
  await requests().addColumn('shadow_of', 'text').execute()
  await requests()
    .addColumn('signals', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  for (const table of USAGE_TABLES)
    for (const measure of NEW_MEASURES)
      await db.schema
        .alterTable(table)
        .addColumn(measure, bigint, (column) => column.notNull().defaultTo(0))
        .execute()

  await db.schema
    .createTable('feedback')
    .addColumn('request', bigint, (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('user_id', bigint, (column) => column.notNull())
    .addColumn('score', real, (column) => column.notNull())
    .addColumn('comment', 'text')
    .addColumn('given_by', 'text', (column) => column.notNull())
    .addColumn('given_at', bigint, (column) => column.notNull())
    .addPrimaryKeyConstraint('feedback_key', ['request', 'name'])
    .modifyEnd(sql.raw(isSqlite ? 'strict, without rowid' : ''))
    .execute()
  await db.schema.createIndex('feedback_by_user').on('feedback').columns(['user_id', 'request']).execute()

  await db.schema
    .createTable('rated_prompts')
    .addColumn('id', bigint, (column) => column.primaryKey())
    .addColumn('user_id', bigint, (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('features', isSqlite ? 'blob' : 'bytea', (column) => column.notNull())
    .modifyEnd(sql.raw(isSqlite ? 'strict' : ''))
    .execute()
  await db.schema
    .createIndex('rated_prompts_by_user')
    .on('rated_prompts')
    .columns(['user_id', 'id'])
    .execute()
}
