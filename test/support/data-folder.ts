import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { openSqliteLog } from '../../core/event-log/sqlite/sqlite-log.ts'
import { lazy } from '../../core/util/lazy.ts'
import { openLedgerStore } from '../../plugins/ledger/store/store.ts'
import { makeFolder } from './folders.ts'

/**
 * Creates a data folder with a request ledger without records. The first gateway that opens it claims it for
 * its event log. Creating the tables takes about a fifth of the processor time in which a gateway starts and
 * answers one request. `hasLog`: with an event log without events, too, without which a gateway whose log is
 * in files would not start.
 */
export async function createDataFolder({ hasLog }: { readonly hasLog: boolean }): Promise<string> {
  const folder = await makeFolder()
  await writeFile(path.join(folder, 'ledger.db'), await emptyLedger(), { mode: 0o600 })
  if (hasLog) await writeFile(path.join(folder, 'events.db'), await emptyLog(), { mode: 0o600 })
  return folder
}

/** Creates a data folder with an event log without events, in which commands work, and nothing else. */
export async function createLogFolder(): Promise<string> {
  const folder = await makeFolder()
  await writeFile(path.join(folder, 'events.db'), await emptyLog(), { mode: 0o600 })
  return folder
}

const emptyLedger = lazy(async () => {
  const file = path.join(await makeFolder(), 'ledger.db')
  await (await openLedgerStore({ engine: 'sqlite', file }, 'log_none')).close()
  const database = new SqliteDatabase(file)
  database.exec('delete from ledger')
  database.close()
  return readFile(file)
})

const emptyLog = lazy(async () => {
  const directory = await makeFolder()
  await (await openSqliteLog({ directory })).close()
  return readFile(path.join(directory, 'events.db'))
})
