import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { lazy } from '../../core/util/lazy.ts'
import { openLedgerStore } from '../../plugins/ledger/store/store.ts'
import { makeFolder } from './folders.ts'

/**
 * Writes a request ledger without records into a data folder. The first gateway that opens it claims it for
 * its event log. Creating the tables takes about a fifth of the processor time in which a gateway starts and
 * answers one request.
 */
export async function writeEmptyLedger(folder: string): Promise<void> {
  await writeFile(path.join(folder, 'ledger.db'), await emptyLedger(), { mode: 0o600 })
}

const emptyLedger = lazy(async () => {
  const file = path.join(await makeFolder(), 'ledger.db')
  await (await openLedgerStore({ engine: 'sqlite', file }, 'log_none')).close()
  const database = new SqliteDatabase(file)
  database.exec('delete from ledger')
  database.close()
  return readFile(file)
})

/** Makes the tables those of the version before traces. */
export const UNDO_TRACES = [
  'insert into request_rules select kind, rule_id, requests.id, action ' +
    'from requests join trace_rules on trace_rules.trace = requests.trace',
  'update requests set rules = (select value from lists where lists.id = trace) where trace is not null',
  'update requests set trace = null',
  'update requests set warning_list = null, warnings = coalesce(warnings, ' +
    '(select value from lists where lists.id = warning_list))',
  'drop index requests_by_trace',
  'drop index requests_with_rules',
  'alter table requests drop column trace',
  'alter table requests drop column warning_list',
  ...['lists', 'trace_rules', 'trace_slots'].map((table) => `drop table ${table}`),
  "delete from kysely_migration where name >= '008'",
]
