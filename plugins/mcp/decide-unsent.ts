import type { JsonObject, Position } from '../../core/contract/index.ts'
import type { AsOf } from '../../core/util/as-of.ts'
import type { PinnedTool } from '../../projections/events/tool-servers.ts'
import { toolServerStream } from '../../projections/events/tool-servers.ts'
import { foldInSlices, type StreamHistory } from '../../projections/history.ts'
import { createToolServers, type ToolServers } from '../../projections/tool-servers.ts'
import type { ToolCaller } from '../tool-rules/index.ts'
import type { ServedTool, ToolServer, Unserved } from './catalog.ts'
import { type CallDecision, decideCall, parseRuledName } from './decide.ts'
import { serverNotFoundError } from './errors.ts'
import { selectRevision } from './servers/observe.ts'
import { createToolServerState, type ToolServerState } from './servers/state.ts'
import type { Deciders } from './services.ts'
import type { ProgramServerSettings } from './settings.ts'

/** A call that is not made: one that is simulated, or was recorded. */
export interface UnsentToolCall {
  readonly server: string
  /** As rules name it: `prompt:` and `resource:` come before the names of prompts and resources. */
  readonly tool: string
  readonly arguments: JsonObject
  /** Names of the servers whose results the session has read. */
  readonly read: readonly string[]
  /** The revision that was listed. By default the newest one. */
  readonly revision?: number | undefined
  /** A server or tool that is not known counts as served, and allowed by default: only rules decide. */
  readonly isAssumedServed?: true
}

export interface UnsentDecision extends CallDecision {
  /** The revision that would be called. Of tools only. */
  readonly revision: number | undefined
  /** Position of the newest event of any tool server. */
  readonly serversPosition: Position
}

/** Decides about calls that are not made. */
export interface ToolDecisions {
  /** Decides now, or with the tool servers of a point in time. Throws 400 if it is in the future. */
  decide(caller: ToolCaller, call: UnsentToolCall, asOf?: AsOf): Promise<UnsentDecision>
}

interface UnsentServices {
  readonly toolServers: ToolServers
  readonly servers: ToolServerState
  readonly programs: Readonly<Record<string, ProgramServerSettings>>
  readonly history: Pick<StreamHistory, 'eventsOf'>
  readonly deciders: Pick<Deciders, 'rules' | 'firewall'>
}

export function createToolDecisions(services: UnsentServices): ToolDecisions {
  const { toolServers, servers, programs, history, deciders } = services

  async function serversAt(asOf: AsOf): Promise<ServersAt> {
    const past = createToolServers()
    const streams = await Promise.all(
      toolServers.allIds().map((id) => history.eventsOf(toolServerStream(id), asOf)),
    )
    const events = streams.flat().sort((a, b) => a.record.position - b.record.position)
    await foldInSlices(events, past.apply)
    return { servers: createToolServerState(past, programs), position: past.position() }
  }

  return {
    async decide(caller, call, asOf) {
      const current = { servers, position: toolServers.position() }
      const then = asOf === undefined ? current : await serversAt(asOf)
      const { read, arguments: args, isAssumedServed = false } = call
      const server = then.servers.find(call.server)
      if (server ? !server.isEnabled : !isAssumedServed)
        return { ...unknownServer(call.server), serversPosition: then.position }
      const { kind, name } = parseRuledName(call.tool)
      const pinned = server && then.servers.toolsOf(server.id).get(name)
      const isAssumed = isAssumedServed && pinned === undefined
      const ofTool = () => (server && !isAssumed ? findDefinition(server, pinned, call.revision) : ASSUMED)
      const definition = kind === 'tool' ? ofTool() : undefined
      const decision = await decideCall(deciders, {
        ...{ caller, kind, name, definition, arguments: args, read: new Set(read) },
        server: server ?? { name: call.server, default: 'allow' },
        argumentsText: JSON.stringify(args),
      })
      const revision = typeof definition === 'object' ? definition.revision : undefined
      return { ...decision, revision, serversPosition: then.position }
    },
  }
}

const ASSUMED = { revision: 1 }

interface ServersAt {
  readonly servers: ToolServerState
  readonly position: Position
}

function unknownServer(name: string): Omit<UnsentDecision, 'serversPosition'> {
  return {
    ...{ verdict: 'not_served', rule: undefined, warnings: [], trace: [], revision: undefined },
    argumentsText: undefined,
    error: serverNotFoundError(name),
  }
}

/** The definition that is served if the server lists that revision. */
function findDefinition(
  server: ToolServer,
  pinned: PinnedTool | undefined,
  revision: number | undefined,
): Pick<ServedTool, 'revision'> | Unserved {
  const isListed = pinned !== undefined && (pinned.removedAt === undefined || revision !== undefined)
  if (!isListed) return 'unknown'
  const listed = pinned.revisions.find((known) => known.revision === revision) ?? pinned.revisions.at(-1)
  if (listed === undefined) return 'unknown'
  const { digest, definition = {} } = listed
  return selectRevision(server, pinned, { name: pinned.name, digest, definition })
}
