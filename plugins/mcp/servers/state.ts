import { service } from '../../../core/contract/index.ts'
import type {
  PinnedTool,
  ToolServerAuth,
  ToolServerPolicy,
} from '../../../projections/events/tool-servers.ts'
import type { ToolServerId, ToolServers } from '../../../projections/tool-servers.ts'
import type { ProgramServerSettings } from '../settings.ts'

export {
  approvedRevision,
  type PinnedTool,
  type ToolFinding,
  type ToolRevision,
  type ToolServerAuth,
  type ToolServerPolicy,
} from '../../../projections/events/tool-servers.ts'
export type { ToolServerId } from '../../../projections/tool-servers.ts'

/** How a tool server is reached. */
export type Transport =
  | { readonly type: 'http'; readonly url: string; readonly auth: ToolServerAuth }
  | ProgramTransport

export interface ProgramTransport {
  readonly type: 'program'
  readonly program: Pick<ProgramServerSettings, 'command' | 'cwd' | 'env'>
}

/** A tool server: one that operators manage, or a program of the settings file. */
export interface ToolServer extends ToolServerPolicy {
  /** Of a program, its name. */
  readonly id: ToolServerId
  readonly name: string
  /** The same object until it changes. */
  readonly transport: Transport
}

/** Whether the server gets credentials that depend on the caller, and so may its lists. */
export function isListPersonal({ transport }: Pick<ToolServer, 'transport'>): boolean {
  if (transport.type !== 'http') return false
  return transport.auth.type === 'passthrough' || transport.auth.onBehalfOf === 'user'
}

/** All tool servers, and the definitions of their tools. */
export interface ToolServerState {
  /** Also one that is not enabled. */
  find(name: string): ToolServer | undefined
  byId(id: ToolServerId): ToolServer | undefined
  /** By name, also those that are not enabled. Returns the same list until a server changes. */
  list(): readonly ToolServer[]
  toolsOf(id: ToolServerId): ReadonlyMap<string, PinnedTool>
}

export const ToolServerState = service<ToolServerState>('mcp.servers')

/** Programs of the settings take precedence over servers with the same name. */
export function createToolServerState(
  servers: Pick<ToolServers, 'servers' | 'named' | 'toolsOf' | 'position'>,
  programs: Readonly<Record<string, ProgramServerSettings>> = {},
): ToolServerState {
  const fixed = new Map(Object.entries(programs).map(([name, row]) => [name, toProgramServer(name, row)]))
  let known: { readonly position: number; readonly byName: ReadonlyMap<string, ToolServer> } | undefined
  let sorted: readonly ToolServer[] = []

  function transportOf(name: string, transport: Transport): Transport {
    const before = known?.byName.get(name)?.transport
    return JSON.stringify(before) === JSON.stringify(transport) ? (before ?? transport) : transport
  }

  function byName(): ReadonlyMap<string, ToolServer> {
    const position = servers.position()
    if (known?.position === position) return known.byName
    const managed = servers.servers().filter(({ id, name }) => servers.named(name)?.id === id)
    const byName = new Map<string, ToolServer>()
    for (const { id, name, url, auth, ...rest } of managed) {
      const transport = transportOf(name, { type: 'http', url, auth })
      byName.set(name, { id, name, ...toPolicy(rest), transport })
    }
    for (const [name, server] of fixed) byName.set(name, server)
    sorted = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    known = { position, byName }
    return byName
  }

  return {
    find: (name) => byName().get(name),
    byId: (id) => [...byName().values()].find((server) => server.id === id),
    list() {
      byName()
      return sorted
    },
    toolsOf: servers.toolsOf,
  }
}

function toPolicy({
  isEnabled,
  default: byDefault,
  newTools,
  changedTools,
  timeoutMs,
  maxConcurrent,
}: ToolServerPolicy): ToolServerPolicy {
  return { isEnabled, default: byDefault, newTools, changedTools, timeoutMs, maxConcurrent }
}

function toProgramServer(name: string, row: ProgramServerSettings): ToolServer {
  const { command, cwd, env } = row
  return {
    id: name,
    name,
    transport: {
      type: 'program',
      program: { command, ...(cwd !== undefined && { cwd }), ...(env !== undefined && { env }) },
    },
    isEnabled: row.is_enabled ?? true,
    default: row.default ?? 'allow',
    newTools: row.new_tools ?? 'pending',
    changedTools: row.changed_tools ?? 'block',
    timeoutMs: row.timeout_ms ?? null,
    maxConcurrent: row.max_concurrent ?? null,
  }
}
