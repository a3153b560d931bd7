/**
 * `npm run bench`: what the gateway costs beside the least that a gateway can be, on this machine, in one run. `-- --quick` takes 30
 * seconds; `-- --json FILE` writes the figures. Linux only; not part of the tests.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Load, loadStreams, loadWhole } from './load.ts'
import { benchFile, type ServerProcess, startProcess } from './processes.ts'
import { makeRules } from './rule-sets.ts'

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' }, json: { type: 'string' } } })
const ROUNDS = options.quick ? 1 : 3
const SECONDS = options.quick ? 1.5 : 3
const PROGRAM = fileURLToPath(new URL('../../dist/config/signalbox.js', import.meta.url))

interface Target {
  readonly name: string
  readonly url: string
  readonly key: string
  readonly process: ServerProcess
}

const folder = mkdtempSync(path.join(os.tmpdir(), 'signalbox-bench-'))
const upstream = await startProcess(benchFile('upstream.ts'))
const reference = await startProcess(benchFile('reference.ts'), { UPSTREAM: upstream.line })
const targets: readonly Target[] = [
  { name: 'a upstream itself', url: `${upstream.line}/chat/completions`, key: 'x', process: upstream },
  { name: 'b bare pass-through', url: `${reference.line}/chat/completions`, key: 'x', process: reference },
  await startGateway('c gateway, no rules', 0),
  await startGateway('d gateway, 200 rules + 10 that match', 100),
  await startGateway('e gateway, 5,000 rules', 2500),
]

const prompt = (bytes: number) =>
  'Lorem ipsum dolor sit amet, consectetur. '.repeat(Math.ceil(bytes / 41)).slice(0, bytes)
const bodyOf = (bytes: number, more: object = {}) =>
  JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: prompt(bytes) }], ...more })

const CASES = [
  { name: 'whole, 0.5 KB, 64 connections', body: bodyOf(400), connections: 64, load: loadWhole },
  { name: 'whole, 0.5 KB, 10 connections', body: bodyOf(400), connections: 10, load: loadWhole },
  { name: 'whole, 100 KB, 10 connections', body: bodyOf(100_000), connections: 10, load: loadWhole },
  {
    name: 'stream of 100 records, 10 connections',
    body: bodyOf(400, { stream: true }),
    connections: 10,
    load: loadStreams,
  },
]

const results: Record<string, Record<string, Load & { cpuMicros: number }>> = {}
for (const { name, body, connections, load } of CASES) {
  const seen = new Map<string, (Load & { cpuMicros: number })[]>()
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name: target, url, key, process: server } of targets) {
      const before = server.cpuSeconds()
      const result = await load({ url, key, body, connections, seconds: SECONDS })
      const cpuMicros = ((server.cpuSeconds() - before) * 1e6) / Math.max(1, result.requests)
      seen.set(target, [...(seen.get(target) ?? []), { ...result, cpuMicros }])
    }
  }
  results[name] = Object.fromEntries([...seen].map(([target, rounds]) => [target, median(rounds)]))
  print(name, results[name] ?? {})
}
printProcesses()
if (options.json) writeFileSync(options.json, JSON.stringify({ machine: machine(), results }, null, 2))
await Promise.all([...new Set(targets.map(({ process }) => process))].map((server) => server.stop()))
rmSync(folder, { recursive: true, force: true })

async function startGateway(name: string, rules: number): Promise<Target> {
  const server = await startProcess([PROGRAM, 'start'], {
    PORT: '0',
    ROUTE_PORT: '0',
    DATA_DIR: path.join(folder, String(rules)),
    OPENAI_API_KEY: 'x',
    OPENAI_BASE_URL: upstream.line,
    CONFIG: limitless(),
  })
  const url = JSON.parse(server.line).base_url
  const key = server.stderr().match(/SIGNALBOX_KEY=(\S+)/)?.[1] ?? ''
  if (rules > 0) await makeRules(url, key, rules)
  return { name, url: `${url}/v1/chat/completions`, key, process: server }
}

/** Rate limits stay on and are out of reach. */
function limitless(): string {
  const file = path.join(folder, 'settings.json')
  writeFileSync(file, JSON.stringify({ rate_limits: { requests_per_minute: { paid: 1_000_000_000 } } }))
  return file
}

function median<Result extends Load>(rounds: readonly Result[]): Result {
  const sorted = rounds.toSorted((a, b) => a.perSecond - b.perSecond)
  return sorted[Math.floor(sorted.length / 2)] as Result
}

function print(name: string, rows: Record<string, Load & { cpuMicros: number }>): void {
  const base = rows['b bare pass-through']?.perSecond ?? 1
  process.stdout.write(`\n${name}\n`)
  for (const [target, { perSecond, p50, p99, failures, cpuMicros }] of Object.entries(rows)) {
    const figures = [
      `${perSecond.toFixed(0).padStart(8)}/s`,
      `${(perSecond / base).toFixed(2).padStart(6)} x b`,
      `p50 ${p50.toFixed(1).padStart(6)} ms`,
      `p99 ${p99.toFixed(1).padStart(6)} ms`,
      `${cpuMicros.toFixed(0).padStart(6)} µs CPU`,
      failures > 0 ? `${failures} FAILED` : '',
    ]
    process.stdout.write(`  ${target.padEnd(40)}${figures.join('  ')}\n`)
  }
}

function printProcesses(): void {
  process.stdout.write(`\nmemory and start\n`)
  for (const { name, process: server } of targets.slice(1)) {
    const { now, peak } = server.memory()
    process.stdout.write(
      `  ${name.padEnd(40)}${now.toFixed(0)} MB now, ${peak.toFixed(0)} MB at most, ready after ${server.startMs.toFixed(0)} ms\n`,
    )
  }
  process.stdout.write(`\n${machine()}\n`)
}

function machine(): string {
  const [cpu] = os.cpus()
  return `${os.cpus().length} x ${cpu?.model ?? 'CPU'}, ${(os.totalmem() / 2 ** 30).toFixed(0)} GiB, Node ${process.version}, ${os.platform()}`
}
