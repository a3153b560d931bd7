import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type EventLog, isPlan, type Plugin } from '../../core/contract/index.ts'
import { loadPackage } from '../../core/pipeline/load.ts'
import { createLogger } from '../../core/process/logger.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { BUILT_IN_NAMES } from '../settings/built-in-names.ts'
import type { Environment } from '../settings/environment.ts'
import { readSettings, type Settings } from '../settings/settings.ts'
import type { State } from '../state.ts'
import { backUpLog } from './backup-log.ts'
import { exportLog } from './export-log.ts'
import { importLog } from './import-log.ts'
import { runGateway } from './start.ts'
import { verifyLog } from './verify-log.ts'

/** The command line is invalid. The message explains the usage. */
export class UsageError extends Error {}

const USAGE = `Usage:
  signalbox start                                 run the gateway
  signalbox config check                          check the settings without starting the gateway
  signalbox users add --name NAME --plan PLAN     create a user (PLAN: free or paid) and print a key
  signalbox users list                            list users and their keys
  signalbox users plan USER PLAN                  change the plan of a user
  signalbox keys add USER                         issue another key for a user
  signalbox keys revoke KEY                       revoke a key by its id
  signalbox log export [--after POSITION]         write every event as a line of JSON
  signalbox log import FILE                       import an export into an empty event log
  signalbox log backup FOLDER [--history-only]    copy the embedded event log, also while a gateway runs
  signalbox log verify                            check the events, the rebuilt state and the snapshots`

const AUTHOR = { actor: 'cli' }

/**
 * Runs one command. Output for programs goes to stdout. Throws a `UsageError` for an invalid command line.
 */
export async function runCommand(args: readonly string[], environment: Environment): Promise<void> {
  const { positionals, values } = parseArguments(args)
  const [topic, verb, ...operands] = positionals
  switch ([topic, verb].filter(Boolean).join(' ')) {
    case 'start':
      return runGateway(environment)
    case 'config check':
      readSettings(environment)
      return print('The settings are valid.')
    case 'users add':
      return withState(environment, (state) => addUser(state, values.name, values.plan))
    case 'users list':
      return withState(environment, listUsers)
    case 'users plan':
      return withState(environment, (state) => changePlan(state, operands[0], operands[1]))
    case 'keys add':
      return withState(environment, (state) => addKey(state, operands[0]))
    case 'keys revoke':
      return withState(environment, (state) => revokeKey(state, operands[0]))
    case 'log export':
      return withLog(environment, (log) => exportLog(log, parseNumber(values.after), process.stdout))
    case 'log import':
      return withLog(environment, (log, settings) => runImport(log, settings, operands[0]))
    case 'log backup':
      return backUp(environment, operands[0], values['history-only'])
    case 'log verify':
      return withLog(environment, verify)
    default:
      throw new UsageError(USAGE)
  }
}

function parseArguments(args: readonly string[]) {
  try {
    const text = { type: 'string' } as const
    const options = { name: text, plan: text, after: text, 'history-only': { type: 'boolean' } } as const
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (error) {
    throw new UsageError(`${errorMessage(error)}\n\n${USAGE}`)
  }
}

async function withState(environment: Environment, run: (state: State) => Promise<void>): Promise<void> {
  const settings = readSettings(environment)
  const { openState } = await import('../state.ts')
  const state = await openState(settings, createLogger(settings.log_level))
  try {
    await run(state)
  } finally {
    await state.close()
  }
}

async function withLog(
  environment: Environment,
  run: (log: EventLog, settings: Settings) => Promise<void>,
): Promise<void> {
  const settings = readSettings(environment)
  const { openLog } = await import('../state.ts')
  const log = await openLog(settings)
  try {
    await run(log, settings)
  } finally {
    await log.close()
  }
}

/**
 * The embedded event log commits concurrent appends in the order of the calls. A server may not, so they run
 * one by one there.
 */
const EMBEDDED_CONCURRENCY = 500

async function runImport(log: EventLog, settings: Settings, file = ''): Promise<void> {
  if (file === '') throw new UsageError(USAGE)
  const concurrency = settings.eventstore_url ? 1 : EMBEDDED_CONCURRENCY
  const plugins = await loadPackages(settings)
  const { facts, existing, written } = await importLog(log, file, concurrency, plugins)
  for (const fact of facts) print(`File: ${fact}`)
  print(`Imported ${written} events${existing > 0 ? `; ${existing} were in the event log already` : ''}.`)
}

async function backUp(environment: Environment, folder = '', historyOnly = false): Promise<void> {
  if (folder === '') throw new UsageError(USAGE)
  for (const fact of await backUpLog(readSettings(environment), folder, historyOnly)) print(fact)
}

async function verify(log: EventLog, settings: Settings): Promise<void> {
  const folder = join(settings.data_dir, 'snapshots')
  const { facts, issues } = await verifyLog(log, folder, await loadPackages(settings))
  for (const fact of facts) print(fact)
  if (issues.length > 0) throw new Error(issues.join('\n'))
  print('No issues found.')
}

/** Loads the listed plugins that are not built in, because only they know the schemas of their events. */
function loadPackages({ plugins }: Settings): Promise<Plugin[]> {
  const packages = plugins.filter(({ use }) => !BUILT_IN_NAMES.includes(use))
  return Promise.all(packages.map(({ use }) => loadPackage(use, BUILT_IN_NAMES, process.cwd())))
}

async function addUser({ accountCommands }: State, name = '', plan = ''): Promise<void> {
  if (name === '' || !isPlan(plan)) throw new UsageError(USAGE)
  const user = await accountCommands.createUser(name, plan, AUTHOR)
  const key = await accountCommands.issueKey(user.id, AUTHOR)
  print(JSON.stringify({ id: user.id, name, plan, key_id: key.id, key: key.key }))
}

async function listUsers({ accounts }: State): Promise<void> {
  for (const { id, name, plan, keys } of accounts.users()) {
    const active = keys.filter(({ revokedAt }) => revokedAt === null).map((key) => key.id)
    print(JSON.stringify({ id, name, plan, keys: active }))
  }
}

async function changePlan({ accountCommands }: State, user = '', plan = ''): Promise<void> {
  if (!isPlan(plan)) throw new UsageError(USAGE)
  const changed = await accountCommands.changeUser(parseNumber(user), { plan }, AUTHOR)
  print(JSON.stringify({ id: changed.id, name: changed.name, plan: changed.plan }))
}

async function addKey({ accountCommands }: State, user = ''): Promise<void> {
  print(JSON.stringify(await accountCommands.issueKey(parseNumber(user), AUTHOR)))
}

async function revokeKey({ accountCommands }: State, keyId = ''): Promise<void> {
  if (keyId === '') throw new UsageError(USAGE)
  await accountCommands.revokeKey(keyId, AUTHOR)
  print(JSON.stringify({ id: keyId, revoked: true }))
}

function parseNumber(text = '0'): number {
  if (!/^\d+$/.test(text)) throw new UsageError(USAGE)
  return Number(text)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
