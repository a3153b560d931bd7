import { readdir } from 'node:fs/promises'
import Koa from 'koa'
import { type Listener, listen } from '../../core/http/server/hardened-server.ts'
import { createLogger } from '../../core/threads/logger.ts'
import { type FilledDemo, fillDemo } from '../demo/fill-demo.ts'
import { askForApproval, startDemoToolServers, TOOL_SERVERS_HOST } from '../demo/tool-server.ts'
import { ownCommand } from '../gateway/demo-user.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { metricsAddress, needsSandbox, readSettings, type Settings } from '../settings/settings.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { runSingleProcess } from './run-single-process.ts'

/** `demo`: fills an empty data folder, and starts a gateway on it, with the sandbox in place of providers. */
export async function runDemo({ options, environment, print }: CommandArgs): Promise<void> {
  const days = parseCount(options.get('days') ?? '30', 'DAYS', 1, MAX_DAYS)
  const seed = parseCount(options.get('seed') ?? '1', 'SEED', 0, 2 ** 31 - 1)
  const read = readSettings({ ...environment, WORKERS: '1' })
  const settings = withToolServers(withFeatures(withoutProviderKeys(read)))
  await checkSettings(settings)
  if (!options.has('no-start')) await checkPorts(settings)
  const logger = createLogger(settings.log_level)
  logger.info({ days }, 'filling the data folder: this takes about a minute for 30 days')
  const toolServers = await startDemoToolServers()
  try {
    const period = { days, seed, end: Date.now(), toolServersUrl: toolServers.url }
    const demo = await fillDemo(settings, period, logger)
    if (!options.has('no-start'))
      return await runSingleProcess(settings, async (gateway) => {
        await askForApproval(gateway.baseUrl, demo.agentKey)
        return describe(demo, gateway)
      })
    const { requests, events, operatorKey, userKey } = demo
    print(JSON.stringify({ requests, events, operator_key: operatorKey, user_key: userKey }))
  } finally {
    await toolServers.stop(0)
  }
}

const MAX_DAYS = 365

function parseCount(text: string, name: string, min: number, max: number): number {
  const count = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (count >= min && count <= max) return count
  throw new UsageError(`${name} must be an integer from ${min} to ${max}.`)
}

/** Nothing in a demo may cost money. */
function withoutProviderKeys(settings: Settings): Settings {
  const rows = Object.entries(settings.providers).map(([id, { deployments: _, ...row }]) => {
    return [id, { ...row, api_key: undefined }]
  })
  return { ...settings, providers: Object.fromEntries(rows) }
}

/** Keeps features of prompts, so that a router can be trained. */
function withFeatures(settings: Settings): Settings {
  const { routing } = settings
  return routing.learned === 'off' ? { ...settings, routing: { ...routing, learned: 'shadow' } } : settings
}

/** Allows the address of the tool servers of the demo. */
function withToolServers(settings: Settings): Settings {
  const { allow_private_addresses: allowed } = settings.mcp
  if (allowed === true) return settings
  const networks = [...(allowed || []), `${TOOL_SERVERS_HOST}/32`]
  return { ...settings, mcp: { ...settings.mcp, allow_private_addresses: networks } }
}

/** Throws an error unless the demo can have the data folder for itself. */
async function checkSettings(settings: Settings): Promise<void> {
  const { data_dir, eventstore_url, ledger_url } = settings
  if (eventstore_url || ledger_url)
    throw new Error(
      'The demo fills the embedded event log and ledger. Unset EVENTSTORE_URL and LEDGER_URL, and remove ' +
        'eventstore_url and ledger_url from the settings.',
    )
  if (!needsSandbox(settings))
    throw new Error('The demo runs on the sandbox. Remove providers with "auth: none" from the settings.')
  const files = await readdir(data_dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  if (files.length > 0)
    throw new Error(
      `The data folder ${data_dir} is not empty. Nothing was changed. ` +
        'Set DATA_DIR to a new folder for the demo.',
    )
}

/** Throws an error if the gateway could not listen: the keys, which are shown by its start, would be lost. */
async function checkPorts(settings: Settings): Promise<void> {
  const { host, port, route_port } = settings
  const listeners: Listener[] = []
  try {
    const ports = { PORT: port, ROUTE_PORT: route_port, METRICS_PORT: metricsAddress(settings)?.port ?? 0 }
    for (const [portVariable, each] of Object.entries(ports))
      listeners.push(await listen(new Koa(), host, each, { portVariable }))
  } finally {
    for (const { stop } of listeners) await stop(0)
  }
}

function describe({ requests, events, operatorKey, userKey }: FilledDemo, { baseUrl }: Gateway): string {
  return [
    '',
    `The demo has ${requests} requests and ${events} events. Nothing of it is real.`,
    '',
    `  console:             ${baseUrl}/console/`,
    `  key of an operator:  ${operatorKey}`,
    `  key of a user:       ${userKey}`,
    '',
    `The keys are shown only once. To start the gateway again: ${ownCommand()} start, with this DATA_DIR.`,
    '',
  ].join('\n')
}
