import { GatewayError, isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { readSettings, type Settings } from '../settings/settings.ts'
import type { AdminApi } from './admin-api.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { rejectUnreachable } from './oauth-client.ts'
import { formatColumns } from './output.ts'
import { createRemoteGateway, remoteUrl } from './remote-gateway.ts'

/** What is shown of the answer of `GET /admin/status`. */
interface ShownStatus {
  readonly version: string
  readonly providers: readonly {
    readonly provider: string
    readonly is_configured: boolean
    readonly state: string
    readonly open_models: readonly string[]
  }[]
  readonly event_log: { readonly state: string; readonly position: number }
  readonly ledger: { readonly is_available: boolean }
  readonly checkpoint: { readonly size: number; readonly time: string } | null
  readonly attention: readonly { readonly severity: string; readonly message: string }[]
}

interface Status extends Partial<ShownStatus> {
  readonly url: string
  readonly is_ready: boolean
  /** Why it is not ready. */
  readonly reason?: string
  /** Calls of tools that wait for a decision; null if the gateway has no approvals. */
  readonly pending_approvals?: number | null
  /** Why no more is known. */
  readonly limitation?: string
}

const TIMEOUT_MS = 10_000

/** `status`: prints the health of a gateway that runs. Throws an error if it is not ready. */
export async function printStatus(args: CommandArgs): Promise<void> {
  const url = remoteUrl(args)
  const status = url === undefined ? await readOwnStatus(args) : await readStatus(url, args)
  if (args.options.has('json')) args.print(JSON.stringify(status))
  else for (const line of formatStatus(status)) args.print(line)
  if (!status.is_ready) throw new Error(`${status.url} is not ready: ${status.reason}.`)
}

/** The gateway that the settings describe, on this machine. */
function readOwnStatus(args: CommandArgs): Promise<Status> {
  const settings = readSettings(args.environment)
  const key = args.environment.SIGNALBOX_KEY ?? settings.admin_key
  const environment = { ...args.environment, ...(key && { SIGNALBOX_KEY: key }) }
  return readStatus(ownUrl(settings), { ...args, environment }).catch((error: unknown) => {
    const advice = 'Start the gateway of these settings, or name another one with --url.'
    throw error instanceof UsageError ? error : new Error(`${errorMessage(error)}. ${advice}`)
  })
}

/** Where a gateway with these settings serves, seen from this machine. */
export function ownUrl({ host, port }: Pick<Settings, 'host' | 'port'>): string {
  const isAny = host === '0.0.0.0' || host === '::'
  return `http://${isAny ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${port}`
}

async function readStatus(url: string, args: CommandArgs): Promise<Status> {
  if (!URL.canParse(url))
    throw new UsageError('URL must be an address, such as https://signalbox.example.com.')
  const { origin } = new URL(url)
  const response = await fetch(`${url.replace(/\/+$/, '')}/readyz`, {
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => rejectUnreachable(origin, error))
  const body: unknown = await response.json().catch(() => undefined)
  if (!isJsonObject(body) || typeof body.status !== 'string')
    throw new Error(`${origin} is not a gateway: /readyz answered with ${response.status}.`)
  const reason = response.ok ? {} : { reason: String(body.reason) }
  return { url, is_ready: response.ok, ...reason, ...(await readDetails(url, args, body)) }
}

/** What only operators may know, if the caller is one. */
async function readDetails(url: string, args: CommandArgs, readiness: JsonObject): Promise<Partial<Status>> {
  try {
    const api = createRemoteGateway(url, args)
    const status = await api.call<ShownStatus>('/admin/status')
    return { ...status, pending_approvals: await countApprovals(api) }
  } catch (error) {
    if (!(error instanceof UsageError) && !GatewayError.isInstance(error)) throw error
    return { ...(readiness.reason === undefined && { limitation: error.message }) }
  }
}

async function countApprovals(api: AdminApi): Promise<number | null> {
  try {
    return (await api.list('/admin/approvals?status=pending&limit=100')).length
  } catch (error) {
    if (GatewayError.isInstance(error) && error.status === 404) return null
    throw error
  }
}

function formatStatus(status: Status): readonly string[] {
  const { version, event_log, ledger, checkpoint, providers, pending_approvals: approvals } = status
  const rows: (readonly [string, string])[] = [
    ['gateway', `${status.url}, ${status.is_ready ? 'ready' : 'not ready'}`],
  ]
  if (version !== undefined) rows.push(['version', version])
  if (event_log) rows.push(['event log', `${event_log.state}, position ${event_log.position}`])
  if (ledger) rows.push(['ledger', ledger.is_available ? 'available' : 'not available'])
  if (checkpoint) rows.push(['checkpoint', `${checkpoint.size} events, signed at ${checkpoint.time}`])
  for (const each of providers ?? []) if (each.is_configured) rows.push(['provider', formatProvider(each)])
  if (typeof approvals === 'number') rows.push(['approvals', `${approvals} pending`])
  for (const { severity, message } of status.attention ?? []) rows.push([severity, message])
  if (status.limitation !== undefined) rows.push(['not shown', status.limitation])
  return formatColumns(rows)
}

function formatProvider({ provider, state, open_models: open }: ShownStatus['providers'][number]): string {
  return `${provider}: circuit ${state.replace('_', ' ')}${open.length > 0 ? ` for ${open.join(', ')}` : ''}`
}
