import { type Kysely, sql } from 'kysely'
import type { LedgerEngine } from './tables.ts'

/**
 * Adds lists that requests share, for what rules did. What is recorded is converted later, in small steps;
 * see `createRuleConversion`. The tables remain those that gateways of the earlier version write to, because
 * they may run beside this one during an upgrade.
 */
export async function addTraces(db: Kysely<unknown>, engine: LedgerEngine): Promise<void> {
  const isSqlite = engine === 'sqlite'
  const bigint = isSqlite ? 'integer' : 'bigint'
  const clustered = sql.raw(isSqlite ? 'strict, without rowid' : '')
  await db.schema
    .createTable('lists')
    .addColumn('id', bigint, (column) =>
      isSqlite ? column.primaryKey() : column.primaryKey().generatedAlwaysAsIdentity(),
    )
    .addColumn('digest', 'text', (column) => column.notNull().unique())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('day', 'integer', (column) => column.notNull())
    .modifyEnd(sql.raw(isSqlite ? 'strict' : ''))
    .execute()
  await db.schema
    .createTable('trace_rules')
    .addColumn('trace', bigint, (column) => column.notNull())
    .addColumn('kind', 'integer', (column) => column.notNull())
    .addColumn('rule_id', bigint, (column) => column.notNull())
    .addColumn('action', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('trace_rules_key', ['trace', 'kind', 'rule_id', 'action'])
    .modifyEnd(clustered)
    .execute()
  await db.schema
    .createTable('trace_slots')
    .addColumn('kind', 'integer', (column) => column.notNull())
    .addColumn('rule_id', bigint, (column) => column.notNull())
    .addColumn('slot', bigint, (column) => column.notNull())
    .addColumn('trace', bigint, (column) => column.notNull())
    .addPrimaryKeyConstraint('trace_slots_key', ['kind', 'rule_id', 'slot', 'trace'])
    .modifyEnd(clustered)
    .execute()
  for (const column of ['trace', 'warning_list'])
    await db.schema.alterTable('requests').addColumn(column, bigint).execute()
  await db.schema.createIndex('trace_slots_by_slot').on('trace_slots').column('slot').execute()
  await db.schema
    .createIndex('requests_by_trace')
    .on('requests')
    .columns(['trace', ...(isSqlite ? [] : ['id'])])
    .where(sql.ref('trace'), 'is not', null)
    .execute()
  // Finds what is not converted. It is empty afterwards.
  await db.schema
    .createIndex('requests_with_rules')
    .on('requests')
    .column('id')
    .where(sql.ref('rules'), 'is not', null)
    .execute()
}
