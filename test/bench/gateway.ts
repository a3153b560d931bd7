import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { createFirstUser } from '../support/first-user.ts'
import { PROGRAM } from '../support/root.ts'
import { type ServerProcess, startProcess } from './processes.ts'
import { makeRules } from './rule-sets.ts'

const ADMIN_KEY = 'an-admin-key-for-the-bench'

export const adminHeaders = { authorization: `Bearer ${ADMIN_KEY}` }

export interface GatewayOptions {
  /** The parent of the data folder. */
  readonly folder: string
  readonly name: string
  readonly upstream: string
  /**
   * The number of routing rules, and of firewall rules, that match nothing; ten that match are added.
   * Default: no rules.
   */
  readonly rules?: number
  /** The key of a user, for a data folder that has users. */
  readonly key?: string
  readonly workers?: number
  /** Source of a Koa middleware, which runs before the built-in plugins. */
  readonly middleware?: string
  /** Plugins of the default list that are left out. */
  readonly without?: readonly string[]
  /** Whether the user and all users together have budgets, which are never reached. */
  readonly budgets?: boolean
  readonly settings?: object
  /** Arguments for Node itself. */
  readonly nodeArgs?: readonly string[]
  /** The program to start, if not the bundle that users start. */
  readonly program?: string
}

export interface BenchGateway {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly process: ServerProcess
}

/** Starts the built gateway with the shipped settings and a rate limit that is never reached. */
export async function startGateway(options: GatewayOptions): Promise<BenchGateway> {
  const { folder, name, upstream, rules, workers, middleware, without, budgets } = options
  const { program = PROGRAM, nodeArgs = [] } = options
  const settings = path.join(folder, `${name}.json`)
  const rate_limits = { requests_per_minute: { paid: 1_000_000_000 } }
  const plugins = {
    ...(middleware && { add: [{ use: writeMiddleware(folder, middleware), before: 'auth' }] }),
    ...(without && { remove: without }),
  }
  const content = { rate_limits, ...((middleware || without) && { plugins }), ...options.settings }
  writeFileSync(settings, JSON.stringify(content))
  const process = await startProcess([...nodeArgs, program, 'start'], {
    PORT: '0',
    ROUTE_PORT: '0',
    DATA_DIR: path.join(folder, name),
    CONFIG: settings,
    ADMIN_KEY,
    ...providersAt(upstream),
    ...(workers !== undefined && { WORKERS: String(workers) }),
  })
  const url: string = JSON.parse(process.line).base_url
  const key = options.key ?? (await createFirstUser(url, ADMIN_KEY))
  if (rules !== undefined) await makeRules(url, key, rules)
  if (budgets) for (const path of ['/admin/users/1/budget', '/admin/budget']) await setBudget(url + path)
  return { url, headers: { authorization: `Bearer ${key}` }, process }
}

function writeMiddleware(folder: string, source: string): string {
  const file = path.join(folder, 'middleware.mjs')
  writeFileSync(file, source)
  return file
}

/** Adds a user to a running gateway, with `rules` as in `GatewayOptions`. */
export async function addUser(gateway: BenchGateway, rules: number): Promise<BenchGateway> {
  const { url } = gateway
  const { id } = await administer(`${url}/admin/users`, { name: 'another', plan: 'paid' })
  const { key } = await administer(`${url}/admin/users/${id}/keys`, {})
  await makeRules(url, key ?? '', rules)
  return { ...gateway, headers: { authorization: `Bearer ${key}` } }
}

async function setBudget(url: string): Promise<void> {
  await administer(url, { limit_usd: 1_000_000, period: 'month', on_exceed: 'refuse' }, 'PUT')
}

/** Calls an endpoint for operators. */
export async function administer(
  url: string,
  body: object,
  method: 'POST' | 'PUT' = 'POST',
): Promise<{ id?: number; key?: string }> {
  const headers = { ...adminHeaders, 'content-type': 'application/json' }
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${url}: ${await response.text()}`)
  const { data } = (await response.json()) as { data: { id?: number; key?: string } }
  return data
}

/** Points every provider at its own path of the upstream. */
function providersAt(upstream: string): Record<string, string> {
  const paths = {
    OPENAI: '/openai/v1',
    ANTHROPIC: '/anthropic',
    GEMINI: '/gemini',
    MISTRAL: '/mistral',
    DEEPSEEK: '/deepseek',
  }
  return Object.fromEntries(
    Object.entries(paths).flatMap(([provider, place]) => [
      [`${provider}_API_KEY`, 'x'],
      [`${provider}_BASE_URL`, upstream + place],
    ]),
  )
}
