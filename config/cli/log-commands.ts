import { join } from 'node:path'
import type { EventLog, Plugin } from '../../core/contract/index.ts'
import { checkSqliteFile } from '../../core/event-log/sqlite/check-file.ts'
import { formatVerifierKey, originOf } from '../../core/event-log/transparency/checkpoint.ts'
import { openSigningKey, trustKey } from '../../core/event-log/transparency/keys.ts'
import { readLogId } from '../../core/events/log-events.ts'
import { loadPackage } from '../../core/pipeline/load.ts'
import { createLogger } from '../../core/threads/logger.ts'
import { createClock } from '../../core/util/clock.ts'
import { keysFolder } from '../../projections/transparency/compare-evidence.ts'
import { createEvidence } from '../../projections/transparency/evidence.ts'
import { openLog, requireLog } from '../gateway/state.ts'
import { BUILT_IN_NAMES } from '../settings/built-in-names.ts'
import type { Environment } from '../settings/environment.ts'
import { readSettings, type Settings } from '../settings/settings.ts'
import { backUpLog } from './backup-log.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { exportLog } from './export-log.ts'
import { importLog } from './import-log.ts'
import { openTreeVerifier, readSavedCheckpoint } from './open-verifier.ts'
import { verifyLog } from './verify-log.ts'

export function runLogExport({ options, environment, stdout }: CommandArgs): Promise<void> {
  const after = options.get('after') ?? '0'
  if (!/^\d+$/.test(after)) throw new UsageError('POSITION must be a position of the event log, an integer.')
  return withLog(environment, (log) => exportLog(log, Number(after), stdout))
}

/** Appends of an import in flight. Both logs write them in the order of the calls. */
const IMPORT_CONCURRENCY = 500

export async function runLogImport(args: CommandArgs): Promise<void> {
  const { operands, options, environment, print } = args
  const [file = ''] = operands
  const saved = await readSavedCheckpoint(options.get('checkpoint'))
  const run = async (log: EventLog, settings: Settings) => {
    const plugins = await loadListedPackages(settings)
    const { facts, keys, existing, written } = await importLog(log, file, IMPORT_CONCURRENCY, plugins, {
      saved,
      allowsUncovered: options.has('without-checkpoints'),
    })
    for (const key of keys) await trustKey(keysFolder(settings.data_dir), key)
    for (const fact of facts) print(`File: ${fact}`)
    const skipped = existing > 0 ? `; ${existing} were in the event log already` : ''
    print(`Imported ${written} events${skipped}.`)
  }
  await withLog(environment, run, { ordersAppends: true, isCreated: true })
}

export async function runLogBackup({ operands, options, environment, print }: CommandArgs): Promise<void> {
  const [folder = ''] = operands
  const sentences = await backUpLog(readSettings(environment), folder, options.has('history-only'))
  for (const sentence of sentences) print(sentence)
}

export function runLogKey({ environment, print }: CommandArgs): Promise<void> {
  return withLog(environment, async (log, settings) => {
    const id = await readLogId(log)
    if (id === undefined) throw new Error('The event log is empty. Start the gateway first.')
    print(formatVerifierKey(await openSigningKey(keysFolder(settings.data_dir), originOf(id))))
  })
}

export function runLogCheckpoint({ environment, stdout }: CommandArgs): Promise<void> {
  return withLog(environment, async (log, settings) => {
    const logId = await readLogId(log)
    if (logId === undefined) throw new Error('The event log is empty. Start the gateway first.')
    const logger = createLogger('warn')
    const evidence = createEvidence(log, { dataDir: settings.data_dir, logId, clock: createClock(), logger })
    const signed = await evidence.sign()
    if (typeof signed !== 'string') throw new Error(`${signed.reason} Nothing was signed.`)
    stdout.write(signed)
  })
}

export function runLogVerify({ options, environment, print }: CommandArgs): Promise<void> {
  const run = async (log: EventLog, settings: Settings) => {
    const { data_dir, eventstore_url } = settings
    const isEmbedded = !eventstore_url
    const tree = await openTreeVerifier(log, data_dir, await readSavedCheckpoint(options.get('checkpoint')))
    const checking = isEmbedded ? checkSqliteFile(data_dir) : Promise.resolve([])
    checking.catch(() => undefined)
    const { facts, issues } = await verifyLog(log, {
      snapshotFolder: join(data_dir, 'snapshots'),
      tree,
      plugins: await loadListedPackages(settings),
      comparesStreams: !isEmbedded,
    }).finally(tree.close)
    for (const fact of facts) print(fact)
    const all = [...issues, ...(await checking)]
    if (all.length > 0) throw new Error(all.join('\n'))
    print('No issues found.')
  }
  return withLog(environment, run, { delivers: 'hashed-events' })
}

/** `isCreated`: an empty log is created if there is none. */
async function withLog(
  environment: Environment,
  run: (log: EventLog, settings: Settings) => Promise<void>,
  { isCreated = false, ...options }: Parameters<typeof openLog>[1] & { isCreated?: boolean } = {},
): Promise<void> {
  const settings = readSettings(environment)
  if (!isCreated) requireLog(settings)
  const log = await openLog(settings, options)
  try {
    await run(log, settings)
  } finally {
    await log.close()
  }
}

/** Loads the listed plugins that are not built in, because only they know the schemas of their events. */
function loadListedPackages({ plugins }: Settings): Promise<Plugin[]> {
  const packages = plugins.filter(({ use }) => !BUILT_IN_NAMES.includes(use))
  return Promise.all(packages.map(({ use }) => loadPackage(use, BUILT_IN_NAMES, process.cwd())))
}
