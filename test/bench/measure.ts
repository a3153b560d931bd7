import type { Case, Cell } from './case.ts'
import type { BenchGateway } from './gateway.ts'
import { type Aim, load } from './load.ts'
import type { Servers } from './servers.ts'
import { type CaseResult, type Figures, summarize } from './summarize.ts'

/** The number of rounds, if time permits. */
const ROUNDS = 5
/** The longest measurement of a cell per round. */
const MAX_SECONDS = 3
const MIN_SECONDS = 0.1
/** The longest warm-up, as a share of the total time. */
const WARM_UP = 0.4
/** CPU time of a server's main thread after which V8 has optimized its code. */
const WARM_CPU_SECONDS = 20
const WARM_UP_CONNECTIONS = 4
/** V8 shrinks the heap of an idle server. Requests are not measured until it has grown again. */
const RUN_UP_SECONDS = 0.2
/** Allows for requests in flight at the end of a cell. */
const SLACK_SECONDS = 2 * 0.05

/**
 * Measures all cases in every round, so that noise affects all of them alike. `deadline` is a time of
 * `performance.now()`.
 */
export async function measureCases(
  cases: readonly Case[],
  servers: Servers,
  deadline: number,
  tell: (text: string) => void,
): Promise<readonly CaseResult[]> {
  const ready = cases.map((one) => ({ ...one, cells: one.cells.filter(({ server }) => servers.has(server)) }))
  const jobs = ready.flatMap((one) => one.cells.map((cell) => ({ one, cell, seen: [] as Figures[] })))
  for (const { one, cell } of jobs) await checkAnswer(one, cell, serverOf(servers, cell))
  tell('warming up')
  const warmUpMs = secondsUntil(deadline) * 1000 * WARM_UP
  await Promise.all(jobs.map(({ one, cell }) => warmUp(one, cell, serverOf(servers, cell), warmUpMs)))

  const round = ready.flatMap((one) => {
    const own = jobs.filter((job) => job.one === one)
    return Array.from({ length: one.turns ?? 1 }, () => own).flat()
  })
  const shares = round.reduce((sum, { one }) => sum + (one.weight ?? 1), 0)
  for (let number = 1; number <= ROUNDS && performance.now() < deadline; number++) {
    tell(`round ${number} of ${ROUNDS}`)
    const unmeasured = round.reduce(
      (sum, { one }) => sum + (one.runUpSeconds ?? RUN_UP_SECONDS) + SLACK_SECONDS,
      0,
    )
    const left = secondsUntil(deadline) / (ROUNDS - number + 1) - unmeasured
    const share = Math.min(MAX_SECONDS, Math.max(MIN_SECONDS, left / shares))
    for (const { one, cell, seen } of round)
      seen.push(await measureCell(one, cell, serverOf(servers, cell), share * (one.weight ?? 1)))
  }
  return ready
    .map((one) => {
      const own = jobs.filter((job) => job.one === one)
      return summarize(one, new Map(own.map(({ cell, seen }) => [cell.label, seen])))
    })
    .filter(({ figures }) => Object.keys(figures).length > 0)
}

function secondsUntil(time: number): number {
  return Math.max(1, (time - performance.now()) / 1000)
}

function serverOf(servers: Servers, { server }: Cell): BenchGateway {
  const found = servers.get(server)
  if (found === undefined) throw new Error(`The server "${server}" was not started.`)
  return found
}

const aimOf = ({ path, body }: Cell, { url, headers }: BenchGateway): Aim => ({
  url: url + path,
  headers,
  body,
})

/** Rejects if the server's response is invalid. */
async function checkAnswer({ id }: Case, cell: Cell, server: BenchGateway): Promise<void> {
  const { url, headers } = aimOf(cell, server)
  const all = { ...headers, 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers: all, body: cell.body })
  const text = await response.text()
  if (response.ok && cell.isSound(text)) return
  throw new Error(`${id}: ${cell.label} answered ${response.status} ${text.slice(0, 500)}`)
}

async function warmUp(
  { warmUpSeconds, warmUpConnections }: Case,
  cell: Cell,
  server: BenchGateway,
  longestMs: number,
): Promise<void> {
  const until = performance.now() + Math.min(longestMs, (warmUpSeconds ?? Number.POSITIVE_INFINITY) * 1000)
  const connections = warmUpConnections ?? WARM_UP_CONNECTIONS
  while (performance.now() < until && server.process.mainThreadSeconds() < WARM_CPU_SECONDS)
    await load(aimOf(cell, server), { connections, seconds: Math.min(1, (until - performance.now()) / 1000) })
}

async function measureCell(
  { connections, spreadMs = 0, runUpSeconds = RUN_UP_SECONDS }: Case,
  cell: Cell,
  server: BenchGateway,
  seconds: number,
): Promise<Figures> {
  const aim = aimOf(cell, server)
  await load(aim, { connections, seconds: runUpSeconds })
  const before = server.process.cpuSeconds()
  const mainBefore = server.process.mainThreadSeconds()
  const result = await load(aim, { connections, seconds, spreadMs })
  const cpu = server.process.cpuSeconds() - before
  const cpuMicros = (cpu * 1e6) / Math.max(1, result.requests)
  const main = server.process.mainThreadSeconds() - mainBefore
  const mainMicros = (main * 1e6) / Math.max(1, result.requests)
  return { ...result, cpuMicros, mainMicros, busy: (cpu * result.perSecond) / Math.max(1, result.requests) }
}
