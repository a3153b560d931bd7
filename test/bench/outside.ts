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
import { familyOf } from './process-figures.ts'
import { benchFile, type ServerProcess, startProcess } from './processes.ts'
import { BURST_MARKER } from './prompts.ts'
import { PROVIDERS } from './providers.ts'
import { bare } from './servers.ts'
import type { Table } from './tables.ts'

const run = promisify(execFile)

const CONNECTIONS = 32
/** Short and many: the speed of shared machines changes within seconds. */
const ROUNDS = 10
const ROUND_SECONDS = 2
/** Not counted, before each: V8 collects all garbage of a server that is idle, and shrinks its heap. */
const REWARM_SECONDS = 1
/** Requests that a slow server has begun would count too little. */
const PEER_SECONDS = 4
const TARGET_CORE = '0'
const LOAD_CORE = '1'
/** Of requests until resident memory is read, and of the start compared with the time after it. */
const MANY_REQUESTS = 100_000
const FIRST_SECONDS = 8

interface Options {
  readonly folder: string
  /** Of warming for each pair of server and load. */
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
  const add = async (start: Promise<BenchGateway>, path = CHAT): Promise<Target> => {
    const { url, headers, process } = await start
    pin(process, TARGET_CORE)
    stops.push(process)
    return { url: url + path, headers, process }
  }
  const gateway = (name: string, more: object = {}) =>
    add(startGateway({ folder, name, upstream: upstream.line, ...more }))

  tell('the start')
  const governed = await gateway('governed', { rules: 100 })
  const startedMegabytes = governed.process.memory().now
  const first = await wrk(governed, 'whole', FIRST_SECONDS, folder)

  const startReference = (more = {}) =>
    startProcess(benchFile('reference.ts'), { UPSTREAM: upstream.line, ...more }).then(bare)
  const reference = await add(startReference(), OWN_PATH)
  const targets: Record<string, Target> = {
    bare: reference,
    governed,
    'no rules': await gateway('no-rules'),
    budgets: await gateway('budgets', { rules: 100, budgets: true }),
    '2 workers': await gateway('workers', { rules: 100, workers: 2 }),
    'bare, 2 workers': await add(startReference({ WORKERS: '2' }), OWN_PATH),
  }
  const missing: string[] = []
  for (const [name, start] of peers ? PEERS : []) {
    try {
      targets[name] = await add(start(folder, upstream.line))
    } catch (error) {
      missing.push(`not measured: ${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  // Those that are compared with each other are measured one after the other.
  const cells: Cell[] = LOADS.flatMap((load) =>
    Object.entries(targets)
      .filter(([name]) => load === 'whole' || MORE_LOADS[name]?.includes(load))
      .map(([name, target]) => ({ name, load, target, seen: [] })),
  )
  for (const { name, load, target } of cells) {
    tell(`warming ${name}, ${load}`)
    await wrk(target, load, seconds, folder)
  }
  const added: AddedMs = { governed: [], bare: [] }
  const direct = { ...bare(upstream), url: upstream.line + OWN_PATH }
  for (let round = 1; round <= ROUNDS; round++) {
    tell(`round ${round} of ${ROUNDS}`)
    for (const { name, load, target, seen } of round % 2 === 0 ? cells.toReversed() : cells) {
      await wrk(target, load, REWARM_SECONDS, folder)
      seen.push(await wrk(target, load, isPeer(name) ? PEER_SECONDS : ROUND_SECONDS, folder))
    }
    const p50MsOf = async (target: Target) => (await wrk(target, 'whole', ROUND_SECONDS, folder, 1)).p50Ms
    const directMs = await p50MsOf(direct)
    added.bare.push((await p50MsOf(reference)) - directMs)
    added.governed.push((await p50MsOf(governed)) - directMs)
  }
  tell('memory')
  const own = cells.filter(({ name }) => name === 'governed')
  for (let sent = countRequests(own.flatMap(({ seen }) => seen)); sent < MANY_REQUESTS; )
    sent += (await wrk(governed, 'whole', seconds, folder)).requests
  const laterMegabytes = governed.process.memory().now
  await Promise.all(stops.map((process) => process.stop()))
  const others = { startedMegabytes, laterMegabytes, first, added }
  return [tabulateRatios(cells, others), tabulateCells(cells, missing)]
}

interface Target extends BenchGateway {
  /** With the path. */
  readonly url: string
}

interface Cell {
  readonly name: string
  readonly load: LoadName
  readonly target: Target
  /** By round. */
  readonly seen: Measured[]
}

/** The path of the provider itself, which the reference passes on. */
const OWN_PATH = PROVIDERS[0].wholePath

const PEERS = [
  ['Portkey', startPortkey],
  ['LiteLLM', startLiteLlm],
] as const

function isPeer(name: string): boolean {
  return PEERS.some(([peer]) => peer === name)
}

const LOADS: readonly LoadName[] = ['whole', 'stream', 'large']

/** Besides whole answers. */
const MORE_LOADS: Readonly<Record<string, readonly LoadName[]>> = {
  bare: ['stream', 'large'],
  governed: ['stream', 'large'],
  'no rules': ['large'],
}

interface OtherFigures {
  readonly startedMegabytes: number
  readonly laterMegabytes: number
  /** Of the first seconds. */
  readonly first: Measured
  readonly added: AddedMs
}

/** Median latency with one connection, less that of the upstream itself, by server and round. */
interface AddedMs {
  readonly governed: number[]
  readonly bare: number[]
}

function tabulateRatios(
  cells: readonly Cell[],
  { startedMegabytes, laterMegabytes, first, added }: OtherFigures,
): Table {
  const seenBy = (name: string, load: LoadName) =>
    cells.find((cell) => cell.name === name && cell.load === load)?.seen ?? []
  /** The median over the rounds, in each of which both were measured within seconds. */
  const ratio = (of: string, to: string, load: LoadName = 'whole') => {
    const compared = seenBy(to, load)
    return median(
      seenBy(of, load).map(({ cpuMicros }, round) => cpuMicros / (compared[round]?.cpuMicros ?? 0)),
    )
  }
  const row = (what: string, goal: number, value: number, digits = 2, isReached = value <= goal) => {
    return [what, String(goal), value.toFixed(digits), isReached ? 'reached' : 'NOT reached']
  }
  const warm = first.perSecond / median(seenBy('governed', 'whole').map(({ perSecond }) => perSecond))
  const peers = PEERS.filter(([name]) => seenBy(name, 'whole').length > 0)
  return [
    ['CPU time of all threads per request ÷ bare Koa, and others', 'goal', 'this run', ''],
    row('whole answers, 200 rules, ledger on', 1.2, ratio('governed', 'bare')),
    row('the same without rules', 1.1, ratio('no rules', 'bare')),
    row('streams of 32 events in a packet, 200 rules', 1.3, ratio('governed', 'bare', 'stream')),
    row('100 KB prompt, 200 rules', 1.2, ratio('governed', 'bare', 'large')),
    row('the same without rules', 1.2, ratio('no rules', 'bare', 'large')),
    row('with two budgets ÷ without', 1.07, ratio('budgets', 'governed')),
    row('2 workers ÷ 1', 1.1, ratio('2 workers', 'governed')),
    ['the same of bare Koa', '', ratio('bare, 2 workers', 'bare').toFixed(2), ''],
    row('resident MB after the start, with 200 rules', 100, startedMegabytes, 0),
    row(`resident MB after ${MANY_REQUESTS} requests and more`, 160, laterMegabytes, 0),
    row('requests/s of the first 8 s ÷ warm', 0.85, warm, 2, warm >= 0.85),
    row('added p50 in ms, one connection, 200 rules', 0.35, median(added.governed)),
    ['the same of bare Koa', '', median(added.bare).toFixed(2), ''],
    ...peers.map(([name]) => [`${name}, whole answers, as it comes`, '', ratio(name, 'bare').toFixed(2), '']),
  ]
}

function tabulateCells(cells: readonly Cell[], missing: readonly string[]): Table {
  const rows = cells.map(({ name, load, seen }) => [
    `${name}, ${load}`,
    microsOf(seen).toFixed(0),
    median(seen.map(({ perSecond }) => perSecond)).toFixed(0),
  ])
  return [['server, load', 'CPU µs', 'requests/s'], ...rows, ...missing.map((line) => [line, '', ''])]
}

function countRequests(figures: readonly Measured[]): number {
  return figures.reduce((total, { requests }) => total + requests, 0)
}

/** CPU time per request of all rounds together: single rounds scatter on shared machines. */
function microsOf(figures: readonly Measured[]): number {
  const total = figures.reduce((sum, { cpuMicros, requests }) => sum + cpuMicros * requests, 0)
  return total / countRequests(figures)
}

function pin({ pid }: ServerProcess, core: string): void {
  for (const member of familyOf(pid))
    execFileSync('taskset', ['-a', '-c', '-p', core, String(member)], { stdio: 'ignore' })
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
  { url: target, headers, process }: Target,
  load: LoadName,
  seconds: number,
  folder: string,
  connections = CONNECTIONS,
): Promise<Measured> {
  const [before, after] = bodyAround(load)
  const script = path.join(folder, `${process.pid}-${load}.lua`)
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
