/**
 * `npm run bench -- --outside`: the governed table, measured with public tools. wrk sends the load from one
 * core, beside the upstream; taskset pins the measured server, with all its threads, to the other.
 */
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { CHAT } from './case.ts'
import { type BenchGateway, startGateway } from './gateway.ts'
import { startLiteLlm } from './litellm.ts'
import { median } from './median.ts'
import { startPortkey } from './portkey.ts'
import { benchFile, type ServerProcess, startProcess } from './processes.ts'
import { BURST_MARKER } from './prompts.ts'
import { PROVIDERS } from './providers.ts'
import type { Table } from './tables.ts'

const run = promisify(execFile)

const CONNECTIONS = 32
const ROUNDS = 5
const TARGET_CORE = '0'
const LOAD_CORE = '1'
/** Of requests until resident memory is read, and of the start compared with the time after it. */
const MANY_REQUESTS = 100_000
const FIRST_SECONDS = 8

interface Options {
  readonly folder: string
  /** Of warming for each pair of server and load; the rounds take a fifth of it each. */
  readonly seconds: number
  readonly peers: boolean
  readonly tell: (text: string) => void
}

type LoadName = 'whole' | 'stream' | 'large'

interface Measured {
  readonly cpuMicros: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly requests: number
}

/** Returns why it cannot be measured here, or undefined. */
export function missingTools(): string | undefined {
  const missing = ['wrk', 'taskset'].filter((tool) => !has(tool))
  return missing.length > 0 ? `not on this machine: ${missing.join(', ')}` : undefined
}

function has(tool: string): boolean {
  try {
    execFileSync('which', [tool], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Measures everything, and returns the table of goals and that of all pairs of server and load. */
export async function measureOutside({ folder, seconds, peers, tell }: Options): Promise<readonly Table[]> {
  const upstream = await startProcess(benchFile('upstream.ts'))
  pin(upstream, LOAD_CORE)
  const stops: ServerProcess[] = [upstream]
  const add = async (start: Promise<BenchGateway>): Promise<BenchGateway> => {
    const server = await start
    pin(server.process, TARGET_CORE)
    stops.push(server.process)
    return server
  }
  const gateway = (name: string, more: object = {}) =>
    add(startGateway({ folder, name, upstream: upstream.line, ...more }))

  tell('the start')
  const fresh = await gateway('fresh', { rules: 100 })
  const idleMegabytes = fresh.process.memory().now
  const first = await wrk(fresh, 'whole', FIRST_SECONDS, folder)

  const servers: Record<string, BenchGateway> = {
    bare: await add(startBare(upstream.line)),
    governed: fresh,
    'no rules': await gateway('no-rules'),
    budgets: await gateway('budgets', { rules: 100, budgets: true }),
    '2 workers': await gateway('workers', { rules: 100, workers: 2 }),
  }
  const missing: string[] = []
  if (peers) {
    for (const [name, start] of [
      ['Portkey', startPortkey],
      ['LiteLLM', startLiteLlm],
    ] as const) {
      try {
        servers[name] = await add(start(folder, upstream.line))
      } catch (error) {
        missing.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }
  const cells: readonly (readonly [string, LoadName])[] = [
    ...Object.keys(servers).map((name) => [name, 'whole'] as const),
    ...['bare', 'governed'].map((name) => [name, 'stream'] as const),
    ...['bare', 'governed', 'no rules'].map((name) => [name, 'large'] as const),
  ]
  const at = (name: string) => servers[name] as BenchGateway
  for (const [name, load] of cells) {
    tell(`warming ${name}, ${load}`)
    await wrk(at(name), load, seconds, folder)
  }
  const seen = new Map(cells.map((cell) => [cell, [] as Measured[]]))
  const added: number[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    tell(`round ${round} of ${ROUNDS}`)
    for (const cell of cells) seen.get(cell)?.push(await wrk(at(cell[0]), cell[1], seconds / 5, folder))
    const direct = await wrk(bareOf(upstream), 'whole', seconds / 5, folder, 1)
    added.push((await wrk(fresh, 'whole', seconds / 5, folder, 1)).p50Ms - direct.p50Ms)
  }
  tell('memory')
  const all = () => [...seen].filter(([[name]]) => name === 'governed').flatMap(([, figures]) => figures)
  for (let sent = sum(all()); sent < MANY_REQUESTS; )
    sent += (await wrk(fresh, 'whole', seconds / 5, folder)).requests
  const laterMegabytes = fresh.process.memory().now
  await Promise.all(stops.map((process) => process.stop()))

  const figuresOf = (name: string, load: LoadName) =>
    [...seen].find(([cell]) => cell[0] === name && cell[1] === load)?.[1] ?? []
  /** CPU time per request of all rounds together: single rounds scatter on shared machines. */
  const microsOf = (figures: readonly Measured[]) =>
    figures.reduce((total, { cpuMicros, requests }) => total + cpuMicros * requests, 0) / sum(figures)
  const ratio = (of: string, to: string, load: LoadName) =>
    microsOf(figuresOf(of, load)) / microsOf(figuresOf(to, load))
  const warm = median(figuresOf('governed', 'whole').map(({ perSecond }) => perSecond))
  const row = (what: string, goal: number, value: number, digits = 2): string[] => {
    const isReached = goal === 0.85 ? value >= goal : value <= goal
    return [what, String(goal), value.toFixed(digits), isReached ? 'reached' : 'NOT reached']
  }
  const table: Table = [
    ['CPU time of all threads per request ÷ bare Koa, and others', 'goal', 'this run', ''],
    row('whole answers, 200 rules, ledger on', 1.2, ratio('governed', 'bare', 'whole')),
    row('the same without rules', 1.1, ratio('no rules', 'bare', 'whole')),
    row('streams of 32 events in a packet, 200 rules', 1.3, ratio('governed', 'bare', 'stream')),
    row('100 KB prompt, 200 rules', 1.2, ratio('governed', 'bare', 'large')),
    row('the same without rules', 1.2, ratio('no rules', 'bare', 'large')),
    row('with two budgets ÷ without', 1.07, ratio('budgets', 'governed', 'whole')),
    row('2 workers ÷ 1', 1.1, ratio('2 workers', 'governed', 'whole')),
    row('resident MB after the start, with 200 rules', 100, idleMegabytes, 0),
    row(`resident MB after ${MANY_REQUESTS} requests and more`, 160, laterMegabytes, 0),
    row('requests/s of the first 8 s ÷ warm', 0.85, first.perSecond / warm),
    row('added p50 in ms, one connection, 200 rules', 0.35, median(added)),
    ...['Portkey', 'LiteLLM']
      .filter((name) => servers[name] !== undefined)
      .map((name) => [
        `${name}, whole answers, as it comes`,
        '',
        ratio(name, 'bare', 'whole').toFixed(2),
        '',
      ]),
  ]
  const micros = [...seen].map(([[name, load], figures]) => [
    `${name}, ${load}`,
    microsOf(figures).toFixed(0),
    median(figures.map(({ perSecond }) => perSecond)).toFixed(0),
  ])
  const absent = missing.map((line) => [`not measured: ${line}`, '', ''])
  return [table, [['server, load', 'CPU µs', 'requests/s'], ...micros, ...absent]]
}

const sum = (figures: readonly Measured[]) => figures.reduce((total, { requests }) => total + requests, 0)

async function startBare(upstream: string): Promise<BenchGateway> {
  return bareOf(await startProcess(benchFile('reference.ts'), { UPSTREAM: upstream }))
}

/** A server that takes the provider's own path. */
function bareOf(process: ServerProcess): BenchGateway {
  return { url: process.line, headers: { authorization: 'Bearer x', 'x-is-bare': '1' }, process }
}

function pin({ pid }: ServerProcess, core: string): void {
  execFileSync('taskset', ['-a', '-c', '-p', core, String(pid)], { stdio: 'ignore' })
}

const SENTENCE = 'The committee met on a rainy morning and agreed to look at the plans again. '

/** Writes a prompt that no rule matches, around the number of the request: repeated prompts are recorded. */
function bodyAround(load: LoadName): readonly [string, string] {
  const size = load === 'large' ? 100_000 : 400
  const text = SENTENCE.repeat(Math.ceil(size / SENTENCE.length)).slice(0, size)
  const marked = load === 'stream' ? BURST_MARKER + text : text
  const content = JSON.stringify({
    model: 'gpt-4o',
    messages: [{ role: 'user', content: `Note @ of the day. ${marked}` }],
    ...(load === 'stream' && { stream: true }),
  })
  const [before = '', after = ''] = content.split('@')
  return [before, after]
}

/** Lets wrk load a server for some seconds, and reads the server's CPU time around it. */
async function wrk(
  { url, headers, process }: BenchGateway,
  load: LoadName,
  seconds: number,
  folder: string,
  connections = CONNECTIONS,
): Promise<Measured> {
  const [before, after] = bodyAround(load)
  const script = path.join(folder, `${process.pid}-${load}.lua`)
  const [openai] = PROVIDERS
  const target = headers['x-is-bare'] ? url + openai.wholePath : url + CHAT
  const lines = Object.entries({ ...headers, 'content-type': 'application/json' }).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}\n`,
  )
  writeFileSync(
    script,
    `wrk.method = "POST"\n${lines.join('')}local before, after = [==[${before}]==], [==[${after}]==]
local n = ${Date.now() * 1000}
function request()
  n = n + 1
  return wrk.format(nil, nil, nil, before .. string.format("%.0f", n) .. after)
end
`,
  )
  const begun = process.cpuSeconds()
  const { stdout } = await run('taskset', [
    ...['-c', LOAD_CORE, 'wrk', '-t', '1', '-c', String(connections)],
    ...['-d', `${Math.max(1, Math.round(seconds))}s`, '--latency', '-s', script, target],
  ])
  const cpuSeconds = process.cpuSeconds() - begun
  const refused = stdout.match(/Non-2xx or 3xx responses: (\d+)/)?.[1]
  if (refused !== undefined) throw new Error(`${target} refused ${refused} requests:\n${stdout}`)
  const requests = Number(stdout.match(/(\d+) requests in/)?.[1] ?? 0)
  if (requests === 0) throw new Error(`wrk reported no request to ${target}:\n${stdout}`)
  return {
    requests,
    cpuMicros: (cpuSeconds * 1e6) / requests,
    perSecond: Number(stdout.match(/Requests\/sec:\s+([\d.]+)/)?.[1] ?? 0),
    p50Ms: readMs(stdout.match(/ 50%\s+([\d.]+)(us|ms|s)/)),
  }
}

function readMs(found: RegExpMatchArray | null): number {
  const units: Record<string, number> = { us: 0.001, ms: 1, s: 1000 }
  return Number(found?.[1] ?? Number.NaN) * (units[found?.[2] ?? 'ms'] ?? 1)
}
