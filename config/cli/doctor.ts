import { once } from 'node:events'
import { constants, existsSync, readFileSync, statSync } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { totalmem } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { HISTORY_FILE, lacksHistory } from '../../core/event-log/sqlite/check-folder.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { shippedFile } from '../../core/util/package-folder.ts'
import { isConfigured, metricsAddress, readSettings, type Settings } from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'
import { checkConfig } from './check-config.ts'
import type { CommandArgs } from './command.ts'
import { runLogVerify } from './log-commands.ts'
import { printList } from './output.ts'
import { ownUrl } from './status.ts'

type Outcome = 'ok' | 'warning' | 'failed' | 'not checked'

interface Finding {
  readonly check: string
  readonly status: Outcome
  /** What was found, and for what is not ok, what to do. */
  readonly message: string
}

const COLUMNS = {
  CHECK: ({ check }: Finding) => check,
  STATUS: ({ status }: Finding) => status,
  FOUND: ({ message }: Finding) => message,
}

type Found = Omit<Finding, 'check'>

const ok = (message: string): Found => ({ status: 'ok', message })
const warning = (message: string): Found => ({ status: 'warning', message })
const failed = (message: string): Found => ({ status: 'failed', message })
const notChecked = (message: string): Found => ({ status: 'not checked', message })

/** `doctor`: checks what a gateway on this machine needs. Throws an error if something is wrong. */
export async function printDiagnosis(args: CommandArgs): Promise<void> {
  const findings: Finding[] = []
  const check = async (name: string, run: () => Found | Promise<Found>) => {
    const found = await Promise.resolve()
      .then(run)
      .catch((error: unknown) => failed(errorMessage(error)))
    findings.push({ check: name, ...found })
  }
  await check('node', checkNode)
  await check('settings', () => checkSettings(args))
  const settings = attemptSettings(args)
  for (const [name, run] of CHECKS)
    await check(name, () => (settings ? run(settings, args) : notChecked('The settings are not valid.')))
  printList(args, findings, COLUMNS, '')
  const count = findings.filter(({ status }) => status === 'failed').length
  if (count > 0) throw new Error(`${count} of ${findings.length} checks failed.`)
}

type Check = (settings: Settings, args: CommandArgs) => Found | Promise<Found>

const CHECKS: readonly (readonly [string, Check])[] = [
  ['data folder', checkFolder],
  ['event log', checkLog],
  ['clock', checkClock],
  ['providers', checkProviderKeys],
  ['ports', checkPorts],
  ['memory', checkMemory],
]

function checkNode(): Found {
  const { engines } = JSON.parse(readFileSync(shippedFile('package.json'), 'utf8'))
  const required = String(engines.node).replace('>=', '')
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = required.split('.').map(Number)
  const isNewEnough = major > leastMajor || (major === leastMajor && minor >= leastMinor)
  if (isNewEnough) return ok(`${process.version}, ${required} or later is required.`)
  return failed(`${process.version} is too old: install Node ${required} or later.`)
}

/** As "config check". */
async function checkSettings(args: CommandArgs): Promise<Found> {
  const lines: string[] = []
  try {
    await checkConfig({ ...args, print: (line) => void lines.push(line) })
  } catch (error) {
    return failed(error instanceof SettingsError ? error.issues.join('; ') : errorMessage(error))
  }
  const warnings = lines.filter((line) => line.startsWith('Warning: '))
  if (warnings.length > 0) return warning(warnings.join(' ').replaceAll('Warning: ', ''))
  return ok(`${args.environment.CONFIG ?? 'Defaults and environment variables'}: valid, with all plugins.`)
}

function attemptSettings({ environment }: CommandArgs): Settings | undefined {
  try {
    return readSettings(environment)
  } catch {
    // Reported by the check of the settings.
    return undefined
  }
}

const MIN_FREE_BYTES = 1e9

/** A folder that does not exist is created by a start, in the nearest one that does. */
async function checkFolder({ data_dir }: Settings): Promise<Found> {
  const folder = resolve(data_dir)
  let existing = folder
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing)
  const canWrite = await access(existing, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (!canWrite) return failed(`${existing} cannot be written: change its owner, or name another DATA_DIR.`)
  const { bavail, bsize } = await statfs(existing)
  const free = `${((Number(bavail) * Number(bsize)) / 1e9).toFixed(1)} GB are free`
  if (Number(bavail) * Number(bsize) < MIN_FREE_BYTES) return warning(`${folder}: only ${free}.`)
  return ok(
    existing === folder ? `${folder} can be written; ${free}.` : `${folder} will be created; ${free}.`,
  )
}

/** As "log verify". */
async function checkLog({ data_dir, eventstore_url }: Settings, args: CommandArgs): Promise<Found> {
  if (!eventstore_url && lacksHistory(data_dir))
    return warning(`${resolve(data_dir)} has no event log: "signalbox start" creates one.`)
  const facts: string[] = []
  const { environment, stdout } = args
  const options = new Map<string, string>()
  await runLogVerify({ operands: [], options, environment, stdout, print: (fact) => void facts.push(fact) })
  return ok(`${facts[0] ?? ''} No issues found.`)
}

const MAX_AHEAD_MS = 5000

/** Times of events would run backwards. */
function checkClock({ data_dir }: Settings): Found {
  const now = Date.now()
  const shown = new Date(now).toISOString()
  const file = join(data_dir, HISTORY_FILE)
  const written = existsSync(file) ? statSync(file).mtimeMs : 0
  if (written <= now + MAX_AHEAD_MS) return ok(`${shown}, not before the newest change.`)
  return failed(`${shown} is before the newest change, of ${new Date(written).toISOString()}: set the clock.`)
}

function checkProviderKeys({ providers }: Settings): Found {
  const ids = Object.keys(providers).filter((id) => {
    const row = providers[id]
    return row !== undefined && isConfigured(row)
  })
  if (ids.length > 0) return ok(`${ids.join(', ')}: configured. "signalbox providers check" calls them.`)
  return warning('None is configured, so the sandbox answers. Set a key, such as OPENAI_API_KEY.')
}

async function checkPorts(settings: Settings): Promise<Found> {
  const { host, port, route_port } = settings
  const addresses = [{ host, port }, { host, port: route_port }, metricsAddress(settings)]
  const problems: string[] = []
  for (const address of addresses) {
    const code = address && (await tryPort(address))
    if (code !== undefined) problems.push(`${address?.host}:${address?.port} (${code})`)
  }
  const ports = addresses.flatMap((address) => address?.port ?? []).join(', ')
  if (problems.length === 0) return ok(`${ports}: free.`)
  if (await isGateway(ownUrl(settings))) return ok(`${ports}: a gateway runs at ${ownUrl(settings)}.`)
  return failed(`Cannot listen at ${problems.join(', ')}: end what uses it, or set PORT and ROUTE_PORT.`)
}

/** Returns the code of the error with which listening fails. */
async function tryPort({ host, port }: { readonly host: string; readonly port: number }) {
  const server = createServer().listen({ host, port, exclusive: true })
  try {
    await once(server, 'listening')
    return undefined
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : errorMessage(error)
  } finally {
    server.close()
  }
}

const PROBE_TIMEOUT_MS = 2000

function isGateway(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).then(
    ({ ok }) => ok,
    () => false,
  )
}

/** See docs/guides/sizing.md: a process under load. */
const PROCESS_BYTES = 315 * 2 ** 20

function checkMemory({ workers }: Settings): Found {
  const limit = process.constrainedMemory()
  const available = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  const processes = workers === 1 ? 1 : workers + 1
  const [has, needs] = [available, processes * PROCESS_BYTES].map((bytes) => Math.round(bytes / 2 ** 20))
  const all = processes === 1 ? 'a process needs' : `${processes} processes need`
  const found = `${has} MiB; ${all} ${needs} MiB`
  if (available >= processes * PROCESS_BYTES) return ok(`${found} under load.`)
  return warning(`${found} under load: give it more, or set WORKERS lower.`)
}
