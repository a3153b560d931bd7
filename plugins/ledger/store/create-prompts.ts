import { type Kysely, sql } from 'kysely'
import type { LedgerEngine } from './tables.ts'

/** Adds the table of recorded prompts. */
export async function createPrompts(db: Kysely<unknown>, engine: LedgerEngine): Promise<void> {
  const isSqlite = engine === 'sqlite'
  const bigint = isSqlite ? 'integer' : 'bigint'
  await db.schema
    .createTable('prompts')
    .addColumn('id', bigint, (column) => column.primaryKey())
    .addColumn('user_id', bigint, (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('omission', 'text')
    .addColumn('key_id', 'text')
    .addColumn('data', isSqlite ? 'blob' : 'bytea')
    .modifyEnd(sql.raw(isSqlite ? 'strict' : ''))
    .execute()
  await db.schema.createIndex('prompts_by_user').on('prompts').columns(['user_id', 'id']).execute()
}
