/**
 * Compares the gateway on a test server of EventStoreDB with the gateway on its embedded log:
 * `npm run bench:eventstore`. The server is a process of its own and takes CPU time as well, so that only
 * the ratios and the figures per second of CPU time mean something.
 */
import { createWriteStream } from 'node:fs'
import path from 'node:path'
import { exportLog } from '../../config/cli/export-log.ts'
import { importLog } from '../../config/cli/import-log.ts'
import { openLog } from '../../config/gateway/state.ts'
import { copyFolder, makeFolder } from '../support/folders.ts'
import { ADMIN_KEY, createClient, TEST_ENVIRONMENT } from '../support/gateway.ts'
import { PROGRAM } from '../support/root.ts'
import { measureBareAppends } from './bare-appends.ts'
import { generateLog } from './generate-log.ts'
import { describeMachine } from './machine.ts'
import { benchFile, type ServerProcess, startProcess } from './processes.ts'
import { addRules, createUsers } from './store-load.ts'

const USERS = Number(process.env.BENCH_USERS ?? 6000)
const FOREIGN_EVENTS = 300_000
const ROUNDS = 3
const WRITERS = 32
/** Code is compiled while it runs, in the gateway as in the server. */
const WARM_UP_SECONDS = 5

type Kind = 'embedded' | 'server'
/** The best of three, by turns, because other programs only ever make it slower. */
type Figures = Record<Kind, number>

const write = (line: string) => process.stdout.write(`${line}\n`)
const ratio = ({ embedded, server }: Figures) => (server / embedded).toFixed(2)
const report = (what: string, unit: string, figures: Figures, goal = '') =>
  write(
    `${what.padEnd(46)} embedded ${figures.embedded.toFixed(0).padStart(6)}  server ` +
      `${figures.server.toFixed(0).padStart(6)} ${unit}, ratio ${ratio(figures)}${goal && ` (${goal})`}`,
  )

const startServer = () => startProcess(benchFile('eventstore-server.ts'))

write(describeMachine())
const source = await makeFolder()
const events = await generateLog(source, USERS, 8)
const file = path.join(await makeFolder(), 'events.jsonl')
await exportTo(source, file)

/** Events per second, and per second of this process's CPU time. */
async function measureImport(url: string | null) {
  const log = await openLog({ data_dir: await makeFolder(), eventstore_url: url }, { ordersAppends: true })
  const cpuBefore = process.cpuUsage()
  const begun = performance.now()
  await importLog(log, file, 500, [], { allowsUncovered: true })
  const seconds = (performance.now() - begun) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  await log.close()
  return { perSecond: events / seconds, perCpuSecond: (events / (user + system)) * 1e6 }
}

const imports = { perSecond: none(), perCpuSecond: none() }
let filled = await startServer()
for (let round = 0; round < ROUNDS; round++) {
  if (round > 0) {
    await filled.stop()
    filled = await startServer()
  }
  for (const [kind, url] of [
    ['embedded', null],
    ['server', filled.line],
  ] as const) {
    const { perSecond, perCpuSecond } = await measureImport(url)
    imports.perSecond[kind] = Math.max(imports.perSecond[kind], perSecond)
    imports.perCpuSecond[kind] = Math.max(imports.perCpuSecond[kind], perCpuSecond)
  }
}
report(`import of ${events} events`, 'events/s', imports.perSecond, 'server ≥ 5,000')
report('the same per second of CPU time', 'events/s', imports.perCpuSecond)

const startGateway = (dataDir: string, url: string | null) =>
  startProcess([PROGRAM, 'start'], {
    ...TEST_ENVIRONMENT,
    LOG_LEVEL: 'info',
    DATA_DIR: dataDir,
    ...(url !== null && { EVENTSTORE_URL: url }),
  })

/** Milliseconds and CPU milliseconds from the start of the process until it is ready. */
async function measureStart(url: string | null, folder: () => Promise<string>) {
  let [ms, cpuMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 0; round < ROUNDS; round++) {
    const gateway = await startGateway(await folder(), url)
    ms = Math.min(ms, gateway.startMs)
    cpuMs = Math.min(cpuMs, gateway.cpuSeconds() * 1000)
    await gateway.stop()
  }
  return { ms, cpuMs }
}

const embedded = await measureStart(null, () => copyFolder(source))
const server = await measureStart(filled.line, makeFolder)
report('start without a snapshot', 'ms', { embedded: embedded.ms, server: server.ms }, 'ratio ≤ 1.5')
report('the same in CPU time', 'ms', { embedded: embedded.cpuMs, server: server.cpuMs })

const withSnapshot = await makeFolder()
await (await startGateway(withSnapshot, filled.line)).stop()
const before = await measureStart(filled.line, () => copyFolder(withSnapshot))
await filled.ask(`fill ${FOREIGN_EVENTS}`)
const behind = await measureStart(filled.line, () => copyFolder(withSnapshot))
write(
  `start from a snapshot: ${before.cpuMs.toFixed(0)} ms of CPU time, with ${FOREIGN_EVENTS} events ` +
    `of other programs behind it ${behind.cpuMs.toFixed(0)} ms (no more than before); ${before.ms.toFixed(0)} and ` +
    `${behind.ms.toFixed(0)} ms in all, in which the test server looks at them`,
)
await filled.stop()

/** Calls a gateway of its own on either log. */
async function onEach(measure: (gateway: ServerProcess, kind: Kind) => Promise<number>) {
  const best = none()
  for (let round = 0; round < ROUNDS; round++)
    for (const kind of ['embedded', 'server'] as const) {
      const store = await startServer()
      const gateway = await startGateway(await makeFolder(), kind === 'server' ? store.line : null)
      best[kind] = Math.max(best[kind], await measure(gateway, kind))
      await gateway.stop()
      await store.stop()
    }
  return best
}

const clientOf = (gateway: ServerProcess) => createClient(JSON.parse(gateway.line).base_url, ADMIN_KEY)

const changes = { perCpuSecond: none() }
const perSecond = await onEach(async (gateway, kind) => {
  const { base_url } = JSON.parse(gateway.line)
  await addRules(base_url, await createUsers(clientOf(gateway), WRITERS), WARM_UP_SECONDS)
  // Others, because the size of a user's rules counts as well.
  const keys = await createUsers(clientOf(gateway), WRITERS)
  const cpuBefore = gateway.cpuSeconds()
  const result = await addRules(base_url, keys, 3)
  const perCpuSecond = result.count / (gateway.cpuSeconds() - cpuBefore)
  changes.perCpuSecond[kind] = Math.max(changes.perCpuSecond[kind], perCpuSecond)
  return result.count / result.seconds
})
report(`${WRITERS} writers`, 'changes/s', perSecond, 'server ≥ 2,500')
report("the same per second of the gateway's CPU time", 'changes/s', changes.perCpuSecond)

const store = await startServer()
await measureBareAppends(store.line, WRITERS, WARM_UP_SECONDS)
const bare = await measureBareAppends(store.line, WRITERS, 3)
write(`${WRITERS} writers of the official client, without a gateway: ${bare.toFixed(0)} appends/s`)
await store.stop()
process.exit()

async function exportTo(folder: string, target: string): Promise<void> {
  const log = await openLog({ data_dir: folder, eventstore_url: null })
  const output = createWriteStream(target)
  await exportLog(log, 0, output)
  await new Promise<void>((resolve) => output.end(resolve))
  await log.close()
}

function none(): Figures {
  return { embedded: 0, server: 0 }
}
