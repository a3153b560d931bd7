import type { JsonObject } from '../../core/contract/index.ts'
import type { AdminApi } from './admin-api.ts'
import { type CommandArgs, DifferencesError, UsageError } from './command.ts'
import { type Columns, printList } from './output.ts'
import { createRemoteGateway, remoteUrl } from './remote-gateway.ts'

const PATH = '/admin/tool-servers'

interface ShownServer {
  readonly id: number | string
  readonly name: string
}

/** What the commands need of a tool as the API shows it. */
interface ShownTool {
  readonly name: string
  readonly status: string
  readonly revision: number
  readonly approved_revision: number | null
  readonly served_revision: number | null
  readonly removed_at: string | null
  readonly definition: JsonObject
  readonly findings: readonly { readonly check: string; readonly path: string; readonly excerpt: string }[]
  readonly diff:
    | readonly { readonly path: string; readonly before?: unknown; readonly after?: unknown }[]
    | null
}

type ListedTool = ShownTool & { readonly server: string }

const TOOL_COLUMNS: Columns<ListedTool> = {
  SERVER: ({ server }) => server,
  TOOL: ({ name }) => name,
  STATUS: ({ status, removed_at }) => (removed_at === null ? status : `${status}, removed`),
  REVISION: ({ revision }) => revision,
  SERVED: ({ served_revision }) => served_revision,
  FINDINGS: ({ findings }) => [...new Set(findings.map(({ check }) => check))].join(' '),
}

/** `tools list [SERVER]`. */
export async function listTools(args: CommandArgs): Promise<void> {
  const gateway = openGateway(args)
  const status = args.options.get('status')
  const listed: ListedTool[] = []
  for (const server of await findServers(gateway, args.operands[0]))
    for (const tool of await readTools(gateway, server, status)) listed.push({ server: server.name, ...tool })
  printList(args, listed, TOOL_COLUMNS, 'No tool is listed.')
}

/** `tools diff SERVER [TOOL]`. */
export async function diffTools(args: CommandArgs): Promise<void> {
  const isJson = args.options.has('json')
  const gateway = openGateway(args)
  const [serverName, toolName] = args.operands
  const [server] = await findServers(gateway, serverName)
  if (server === undefined) return
  const tools = await readTools(gateway, server)
  if (toolName !== undefined && !tools.some(({ name }) => name === toolName))
    throw new Error(`${server.name} has no tool ${toolName}.`)
  const waiting = tools.filter(
    ({ name, status }) =>
      (toolName === undefined || name === toolName) && ['pending', 'changed'].includes(status),
  )
  if (isJson) args.print(JSON.stringify(waiting))
  else for (const line of waiting.flatMap(describeTool)) args.print(line)
  if (waiting.length > 0) throw new DifferencesError()
  if (!isJson) args.print('Nothing waits for a decision.')
}

/** `tools approve SERVER TOOL REVISION`, `tools reject SERVER TOOL REVISION`. */
export async function decideTool(args: CommandArgs, action: 'approve' | 'reject'): Promise<void> {
  const [serverName, toolName = '', revision = ''] = args.operands
  if (!/^[1-9]\d{0,8}$/.test(revision)) throw new UsageError('REVISION must be the number of a definition.')
  const gateway = openGateway(args)
  const [server] = await findServers(gateway, serverName)
  const path = `${PATH}/${server?.id}/tools/${encodeURIComponent(toolName)}/${action}`
  const tool = await gateway.call<ShownTool>(path, { revision: Number(revision) })
  const { served_revision: served } = tool
  const effect = served === null ? 'not served' : `served as revision ${served}`
  args.print(
    `Revision ${revision} of ${toolName} is ${action === 'approve' ? 'approved' : 'rejected'}: ${effect}.`,
  )
}

/** `tools refresh SERVER`. */
export async function refreshTools(args: CommandArgs): Promise<void> {
  const isJson = args.options.has('json')
  const gateway = openGateway(args)
  const [server] = await findServers(gateway, args.operands[0])
  const result = await gateway.call<Readonly<Record<string, unknown>>>(`${PATH}/${server?.id}/refresh`, {})
  if (isJson) return args.print(JSON.stringify(result))
  args.print(`${server?.name} lists ${result.listed} tools.`)
  for (const kind of ['new', 'changed', 'removed', 'returned'])
    for (const name of result[kind] as readonly string[]) args.print(`${kind}: ${name}`)
  for (const { name, reason } of result.refused as readonly { name: string; reason: string }[])
    args.print(`refused: ${name}: ${reason}`)
}

function openGateway(args: CommandArgs): AdminApi {
  const url = remoteUrl(args)
  if (url === undefined)
    throw new UsageError('Name the gateway whose tools are meant: --url URL, or SIGNALBOX_URL.')
  return createRemoteGateway(url, args)
}

/** All servers, or the one with the name. */
async function findServers(gateway: AdminApi, name: string | undefined): Promise<readonly ShownServer[]> {
  const servers = await gateway.list<ShownServer>(`${PATH}?limit=1000`)
  if (name === undefined) return servers
  const found = servers.filter((server) => server.name === name)
  if (found.length === 0) throw new Error(`There is no tool server ${name}.`)
  return found
}

function readTools(gateway: AdminApi, { id }: ShownServer, status?: string): Promise<readonly ShownTool[]> {
  const filter = status === undefined ? '' : `&status=${encodeURIComponent(status)}`
  return gateway.list<ShownTool>(`${PATH}/${id}/tools?limit=100${filter}`)
}

function describeTool({
  name,
  revision,
  approved_revision: approved,
  definition,
  diff,
  findings,
}: ShownTool) {
  const than = approved === null ? ', new' : `, approved: ${approved}`
  const changes =
    diff === null
      ? [JSON.stringify(definition, null, 2)]
      : diff.flatMap(({ path, before, after }) => [
          `  ${path}`,
          ...(before === undefined ? [] : [`  - ${JSON.stringify(before)}`]),
          ...(after === undefined ? [] : [`  + ${JSON.stringify(after)}`]),
        ])
  const warnings = findings.map(({ check, path, excerpt }) => `  ! ${check} at ${path}: ${excerpt}`)
  return [`${name}, revision ${revision}${than}`, ...changes, ...warnings]
}
