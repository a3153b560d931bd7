/**
 * Measures reads of the past of a user with 12,000 rule events, and what another user's chats notice of eight
 * such readers: `npx tsx test/bench/history.ts [main.js of another version]`. With another version, both are
 * measured by turns. Only figures of the same run are comparable.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chatBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { newUser } from '../support/new-user.ts'
import { generateLog } from './generate-log.ts'
import { describeMachine } from './machine.ts'
import { median } from './median.ts'

const EVENTS = 12_000
const READERS = 8
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const IDLE_SECONDS = Number(process.env.BENCH_IDLE_SECONDS ?? 75)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const KEY = 'tr_1'

const READS = {
  list: `/v1/firewall-rules?as_of=${EVENTS}`,
  rule: `/v1/firewall-rules/4497?as_of=${EVENTS}`,
  diff: `/v1/rules/diff?from=${EVENTS}`,
  audit: '/v1/audit',
}

const write = (line: string) => process.stdout.write(`${line}\n`)
const percentile = (times: readonly number[], share: number) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN

function residentMb({ process: { pid } }: GatewayProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
}

function mainThreadCpuMs({ process: { pid } }: GatewayProcess): number {
  const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')
  return Number(nanoseconds) / 1e6
}

/** Returns milliseconds. */
async function read(url: string, path: string): Promise<number> {
  const begun = performance.now()
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${KEY}` } })
  await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`${path}: ${response.status}`)
  return performance.now() - begun
}

/** In a process of their own: what they receive must not delay the chats that are measured. */
async function runReaders(url: string): Promise<void> {
  const paths = Object.values(READS)
  let count = 0
  process.on('message', () => process.send?.(count, () => process.exit()))
  const loop = async (first: number) => {
    for (let n = first; ; n++) {
      await read(url, paths[n % paths.length] ?? '')
      count += 1
    }
  }
  await Promise.race(Array.from({ length: READERS }, (_, n) => read(url, paths[n % paths.length] ?? '')))
  process.send?.('begun')
  await Promise.all(Array.from({ length: READERS }, (_, n) => loop(n)))
}

interface Measured {
  readonly name: string
  readonly gateway: GatewayProcess
  readonly chat: () => Promise<number>
}

async function start(name: string, folder: string, program?: string): Promise<Measured> {
  const dataDir = await makeFolder()
  await cp(folder, dataDir, { recursive: true })
  const options = { dataDir, demoKey: KEY, isOptimized: true, ...(program && { program }) }
  const gateway = await startGatewayProcess({}, options)
  const user = await newUser(gateway)
  const chat = async () => {
    const begun = performance.now()
    const { status } = await user.call('POST', '/v1/chat/completions', chatBody('Hello.'))
    if (status !== 200) throw new Error(`chat: ${status}`)
    return performance.now() - begun
  }
  return { name, gateway, chat }
}

async function chatFor(seconds: number, chat: () => Promise<number>): Promise<readonly number[]> {
  const times: number[] = []
  for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
    times.push(await chat())
    await setTimeout(5)
  }
  return times
}

async function measureReaders({ gateway, chat }: Measured) {
  const readers: ChildProcess = fork(fileURLToPath(import.meta.url), ['readers', gateway.url])
  await once(readers, 'message')
  const begun = performance.now()
  const times = await chatFor(SECONDS, chat)
  readers.send('end')
  const [count] = await once(readers, 'message')
  const perSecond = (1000 * Number(count)) / (performance.now() - begun)
  await once(readers, 'exit')
  return { times, perSecond }
}

async function main(other: string | undefined): Promise<void> {
  write(describeMachine())
  const folder = await makeFolder()
  await generateLog(folder, 1, EVENTS)
  const versions = [await start('this version', folder)]
  if (other !== undefined) versions.push(await start('other version', folder, other))
  const figures = new Map<string, number[]>()
  const note = (name: string, figure: string, value: number) => {
    const key = `${name.padEnd(14)} ${figure.padEnd(34)}`
    figures.set(key, [...(figures.get(key) ?? []), value])
  }
  for (const { name, gateway, chat } of versions) {
    note(name, 'resident memory before, MB', residentMb(gateway))
    for (const [kind, path] of Object.entries(READS))
      note(name, `${kind}, first, ms`, await read(gateway.url, path))
    note(name, 'resident memory after first reads, MB', residentMb(gateway))
    await chatFor(2, chat)
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const version of versions) {
      const { name, gateway, chat } = version
      for (const [kind, path] of Object.entries(READS)) {
        const times: number[] = []
        const cpuBefore = mainThreadCpuMs(gateway)
        for (let n = 0; n < 10; n++) times.push(await read(gateway.url, path))
        const cpuMs = mainThreadCpuMs(gateway) - cpuBefore
        note(name, `${kind}, CPU of the event loop, ms`, cpuMs / times.length)
        note(name, `${kind}, p50, ms`, median(times))
        note(name, `${kind}, slowest of 10, ms`, Math.max(...times))
      }
      const quiet = await chatFor(SECONDS, chat)
      const { times, perSecond } = await measureReaders(version)
      note(name, 'chat alone, p50, ms', percentile(quiet, 0.5))
      note(name, 'chat alone, p99, ms', percentile(quiet, 0.99))
      note(name, `chat with ${READERS} readers, p50, ms`, percentile(times, 0.5))
      note(name, `chat with ${READERS} readers, p99, ms`, percentile(times, 0.99))
      note(name, 'readers, answers per second', perSecond)
    }
  }
  for (const [figure, values] of figures)
    write(
      `${figure} ${median(values).toFixed(1).padStart(8)}  (${values.map((v) => v.toFixed(1)).join(', ')})`,
    )
  // Threads and events that are kept end after a minute without reads.
  await setTimeout(IDLE_SECONDS * 1000)
  for (const { name, gateway } of versions) {
    write(`${name}: resident memory ${IDLE_SECONDS} s later ${residentMb(gateway).toFixed(0)} MB`)
    await gateway.stop()
  }
}

const [mode, url = ''] = process.argv.slice(2)
await (mode === 'readers' ? runReaders(url) : main(mode))
