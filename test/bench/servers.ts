import { lazy } from '../../core/util/lazy.ts'
import { addUser, type BenchGateway, type GatewayOptions, startGateway } from './gateway.ts'
import { startPortkey } from './portkey.ts'
import { benchFile, type ServerProcess, startProcess } from './processes.ts'

/** The servers to compare, by their names in the tables. */
export type ServerName =
  | 'a'
  | 'b'
  | 'c'
  | 'd'
  | 'e'
  | 'ten rules'
  | '5,000 rules'
  | '2 workers'
  | 'rules'
  | 'middleware'
  | 'no ledger'
  | 'budgets'

export const LEGEND: Readonly<Record<ServerName, string>> = {
  a: 'the upstream itself',
  b: 'bare pass-through: Koa, koa-body, undici pool; streams are piped',
  c: 'the gateway, no rules',
  d: 'the gateway, 100 routing and 100 firewall rules that do not match, 10 that do',
  e: "Portkey's gateway 1.15.2, without rules, plugins or cache",
  'ten rules': 'a user of the same process as (d), with 10 rules that match',
  '5,000 rules': 'another one, with 2,500 routing and 2,500 firewall rules that do not match, 10 that do',
  '2 workers': 'as (d), with two processes',
  rules: 'the gateway, where rules are created',
  'no ledger': 'as (d), without ledger and budgets',
  budgets: 'as (d), with budgets for the user and for all users together',
  middleware: 'as (c), with a Koa middleware of a third party that only calls next()',
}

const NO_OP_MIDDLEWARE = 'export default (ctx, next) => next()'

export type Servers = ReadonlyMap<ServerName, BenchGateway>

/** Starts the needed servers. Those that are not available are listed in `missing`, with the reason. */
export async function startServers(needed: ReadonlySet<ServerName>, folder: string) {
  const upstream = await startProcess(benchFile('upstream.ts'))
  const servers = new Map<ServerName, BenchGateway>([['a', bare(upstream)]])
  const missing = new Map<ServerName, string>()
  const gateway = (name: string, more: Partial<GatewayOptions> = {}) =>
    startGateway({ folder, name, upstream: upstream.line, ...more })
  const shared = lazy(() => gateway('d', { rules: 100 }))
  const starts: Readonly<Record<Exclude<ServerName, 'a'>, () => Promise<BenchGateway>>> = {
    b: async () => bare(await startProcess(benchFile('reference.ts'), { UPSTREAM: upstream.line })),
    c: () => gateway('c'),
    d: shared,
    e: () => startPortkey(folder, upstream.line),
    'ten rules': async () => addUser(await shared(), 0),
    '5,000 rules': async () => addUser(await shared(), 2500),
    '2 workers': () => gateway('workers', { rules: 100, workers: 2 }),
    rules: () => gateway('rules'),
    middleware: () => gateway('middleware', { middleware: NO_OP_MIDDLEWARE }),
    'no ledger': () =>
      gateway('no-ledger', {
        rules: 100,
        without: ['ledger', 'budget', 'what-if', 'overview', 'feedback', 'routers'],
      }),
    budgets: () => gateway('budgets', { rules: 100, budgets: true }),
  }
  for (const name of needed) {
    if (name === 'a') continue
    try {
      servers.set(name, await starts[name]())
    } catch (error) {
      if (name !== 'e' && name !== '2 workers') throw error
      missing.set(name, error instanceof Error ? error.message : String(error))
    }
  }
  return { servers, missing, stop: () => stopAll([upstream, ...[...servers.values()].map((s) => s.process)]) }
}

/** A server without keys. */
export function bare(process: ServerProcess): BenchGateway {
  return { url: process.line, headers: { authorization: 'Bearer x' }, process }
}

async function stopAll(processes: readonly ServerProcess[]): Promise<void> {
  await Promise.all([...new Set(processes)].map((process) => process.stop()))
}
