import type { Logger } from 'pino'
import type { Author } from '../../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../../core/event-log/actor.ts'
import { errorSummary } from '../../../core/util/error-message.ts'
import {
  approvedRevision,
  type PinnedTool,
  type PinnedToolEvent,
  toolServerStream,
} from '../../../projections/events/tool-servers.ts'
import type { Subscription } from '../../../projections/runtime/subscribe.ts'
import type { EventWriter } from '../../../projections/runtime/write.ts'
import type { ToolServers } from '../../../projections/tool-servers.ts'
import { findInstructions } from './checks.ts'
import type { ServedTool, ToolCatalog, ToolDefinition, Unserved } from './list-tools.ts'
import { type ListedTool, type ParsedDefinitions, parseDefinitions } from './parse-definitions.ts'
import { isListPersonal, type ToolServer, type ToolServerState } from './state.ts'

interface ObserveServices {
  readonly servers: ToolServerState
  readonly toolServers: Pick<ToolServers, 'toolsOf' | 'revision'>
  readonly writer: Pick<EventWriter, 'write'>
  readonly logger: Logger
  readonly subscription: Pick<Subscription, 'onApplied'>
}

/** What a list of a server was found to be. */
interface Observation extends ParsedDefinitions {
  readonly served: readonly ServedTool[]
}

export interface ObservedTools extends ToolCatalog {
  /** As `observe`, for an operator: also what changes often is recorded. Rejects if it cannot be. */
  refresh(server: ToolServer, definitions: readonly ToolDefinition[], author: Author): Promise<Observation>
}

/** What this process has last seen of a server. */
interface Observed {
  readonly transport: ToolServer['transport']
  readonly tools: ReadonlyMap<string, ListedTool>
}

/** A tool that comes and goes with every list is noted once in a while. */
const MIN_LISTED_MS = 10 * 60_000

/** Definitions of a tool that nobody has decided about. Servers could fill the log. */
const MAX_UNDECIDED = 20

/** Tools of a server that were ever seen. */
const MAX_KNOWN_TOOLS = 5000

/** What one append takes. */
const BATCH_EVENTS = 100
const BATCH_BYTES = 400 * 1024

/**
 * Records the definitions of tools as servers list them, and says which may be served. See
 * docs/decisions/tools.md, "What is not recorded is not served".
 */
export function createObservedTools(services: ObserveServices): ObservedTools {
  const { servers, toolServers, writer, logger, subscription } = services
  const observed = new Map<string, Observed>()
  const listeners = new Set<(server: string) => void>()
  const names = new Map(servers.list().map(({ id, name }) => [id, name]))

  subscription.onApplied(({ type, data }) => {
    if (!type.startsWith('Tool') || !('serverId' in data)) return
    const id = data.serverId as number | string
    const name = servers.byId(id)?.name ?? names.get(id)
    if (name === undefined) return
    names.set(id, name)
    for (const listener of listeners) listener(name)
  })

  /** Writes what is new, in batches, and decides again when another process has written. */
  async function record(
    server: ToolServer,
    tools: readonly ListedTool[],
    author: Author,
    isRefresh: boolean,
  ) {
    const { id } = server
    const decide = () => decideEvents(services, server, tools, isRefresh)
    while (decide().length > 0) {
      const command = {
        stream: toolServerStream(id),
        revision: () => toolServers.revision(id),
        decide: () => takeBatch(decide()),
      }
      if ((await writer.write(command, author)) === undefined) return
    }
  }

  function note(server: ToolServer, tools: readonly ListedTool[]): void {
    const byName = new Map(tools.map((tool) => [tool.name, tool]))
    observed.set(String(server.id), { transport: server.transport, tools: byName })
  }

  function toServed(server: ToolServer, listed: ListedTool): ServedTool | Exclude<Unserved, 'unknown'> {
    return selectRevision(server, toolServers.toolsOf(server.id).get(listed.name), listed)
  }

  const serve = (server: ToolServer, tools: readonly ListedTool[]) =>
    tools.flatMap((listed) => {
      const served = toServed(server, listed)
      return typeof served === 'object' ? [served] : []
    })

  return {
    async observe(server, definitions) {
      const { tools, refused } = await parseDefinitions(definitions)
      if (refused.length > 0)
        logger.warn({ server: server.name, refused: refused.slice(0, 10) }, 'tools refused')
      try {
        await record(server, tools, { actor: SYSTEM_ACTOR }, false)
      } catch (error) {
        // What is new is not served until it can be recorded.
        logger.error({ err: errorSummary(error), server: server.name }, 'tool definitions not recorded')
      }
      note(server, tools)
      return serve(server, tools)
    },
    async refresh(server, definitions, author) {
      const parsed = await parseDefinitions(definitions)
      await record(server, parsed.tools, author, true)
      note(server, parsed.tools)
      return { ...parsed, served: serve(server, parsed.tools) }
    },
    tool(server, name) {
      const known = observed.get(String(server.id))
      if (known?.transport !== server.transport) return 'unknown'
      const listed = known.tools.get(name)
      return listed === undefined ? 'unknown' : toServed(server, listed)
    },
    onChanged(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** The definition that is served in place of what a server has listed, or why none is. */
export function selectRevision(
  { changedTools }: Pick<ToolServer, 'changedTools'>,
  pinned: PinnedTool | undefined,
  { name, digest, definition }: Pick<ListedTool, 'name' | 'digest' | 'definition'>,
): ServedTool | 'pending' | 'changed' {
  const known = pinned?.revisions.find((revision) => revision.digest === digest)
  if (known?.status === 'approved') return { name, revision: known.revision, definition }
  const approved = pinned && approvedRevision(pinned)
  if (approved === undefined) return 'pending'
  if (changedTools !== 'serve_approved' || approved.definition === undefined) return 'changed'
  return { name, revision: approved.revision, definition: approved.definition }
}

/** What the events of a list are: nothing for what is known. */
function decideEvents(
  { servers, toolServers }: Pick<ObserveServices, 'servers' | 'toolServers'>,
  server: ToolServer,
  tools: readonly ListedTool[],
  isRefresh: boolean,
): readonly PinnedToolEvent[] {
  const { id: serverId } = server
  // Deleted meanwhile.
  if (servers.byId(serverId) === undefined) return []
  const pinned = toolServers.toolsOf(serverId)
  const isDue = ({ listedAt }: PinnedTool) => isRefresh || Date.now() - Date.parse(listedAt) > MIN_LISTED_MS
  const events: PinnedToolEvent[] = []
  let known = pinned.size
  for (const listed of tools) {
    const tool = pinned.get(listed.name)
    const data = { serverId, tool: listed.name }
    if (tool === undefined && known++ >= MAX_KNOWN_TOOLS) continue
    if (tool?.revisions.some(({ digest }) => digest === listed.digest)) {
      if (tool.removedAt !== undefined && isDue(tool)) events.push({ type: 'ToolReturned', data })
    } else if (tool === undefined || countUndecided(tool) < MAX_UNDECIDED)
      events.push({
        type: 'ToolRevisionSeen',
        data: { ...data, ...toRevision(servers, server, tool, listed) },
      })
    else if (!tool.omitsRevisions) events.push({ type: 'ToolRevisionsOmitted', data })
  }
  // A tool that is missing in the list of one caller is not removed.
  if (isListPersonal(server)) return events
  const names = new Set(tools.map(({ name }) => name))
  for (const tool of pinned.values())
    if (tool.removedAt === undefined && !names.has(tool.name) && isDue(tool))
      events.push({ type: 'ToolRemoved', data: { serverId, tool: tool.name } })
  return events
}

function toRevision(
  servers: ToolServerState,
  server: ToolServer,
  tool: PinnedTool | undefined,
  { digest, definition, name }: ListedTool,
) {
  const others = servers.list().flatMap((other) => (other.id === server.id ? [] : other.name))
  const findings = findInstructions(name, definition, others)
  const isTrusted = tool === undefined && server.newTools === 'approved' && findings.length === 0
  const status: 'approved' | 'pending' = isTrusted ? 'approved' : 'pending'
  return { revision: (tool?.revisions.length ?? 0) + 1, digest, definition, status, findings }
}

/** Since somebody last decided. */
function countUndecided({ revisions }: PinnedTool): number {
  return revisions.length - 1 - revisions.findLastIndex(({ status }) => status !== 'pending')
}

function takeBatch(events: readonly PinnedToolEvent[]): readonly PinnedToolEvent[] {
  let bytes = 0
  const end = events.findIndex((event, index) => {
    bytes += Buffer.byteLength(JSON.stringify(event.data))
    return index > 0 && (bytes > BATCH_BYTES || index >= BATCH_EVENTS)
  })
  return end === -1 ? events : events.slice(0, end)
}
