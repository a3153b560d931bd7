import type { Logger } from 'pino'
import { createClock } from '../core/clock.ts'
import type { EventLog } from '../core/contract/index.ts'
import { openSqliteLog } from '../core/log/sqlite-log.ts'
import { type AccountCommands, createAccountCommands } from '../plugins/auth/account-commands.ts'
import { type Accounts, createAccounts } from '../projections/accounts.ts'
import { createIdSource, type IdSource } from '../projections/id-source.ts'
import { createIds } from '../projections/ids.ts'
import { followLog, type Live } from '../projections/live.ts'
import { createRules, type Rules } from '../projections/rules.ts'
import { createWriter, type Writer } from '../projections/writer.ts'

/** The event log and everything that is rebuilt from it: what the gateway and the command line both work on. */
export interface State {
  readonly log: EventLog
  readonly live: Live
  readonly accounts: Accounts
  readonly rules: Rules
  readonly ids: IdSource
  readonly writer: Writer
  readonly accountCommands: AccountCommands
  close(): Promise<void>
}

/** Opens the log and resolves when the projections have caught up with it. */
export async function openState(dataDir: string, logger: Logger): Promise<State> {
  const log = await openSqliteLog({ directory: dataDir })
  const accounts = createAccounts()
  const rules = createRules()
  const takenIds = createIds()
  const live = followLog(log, [accounts, rules, takenIds], logger)
  await live.caughtUp
  const writer = createWriter(log, live, createClock())
  const ids = createIdSource(takenIds, writer)
  const accountCommands = createAccountCommands(accounts, ids, writer)
  return {
    log,
    live,
    accounts,
    rules,
    ids,
    writer,
    accountCommands,
    async close() {
      await live.close()
      await log.close()
    },
  }
}
