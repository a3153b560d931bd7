import {
  type Author,
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  type JsonObject,
  operator,
  StringEnum,
  type TProperties,
  Type,
} from '../../../core/contract/index.ts'
import {
  contentEtag,
  etagHeader,
  ifNoneMatchHeader,
  type Precondition,
  parsePrecondition,
  preconditionHeaders,
} from '../../../core/http/change-headers.ts'
import { cutPage, PAGE } from '../../../core/http/pages.ts'
import { pageQuery } from '../../../core/http/schemas.ts'
import { showRecord } from '../../../core/resources/changes.ts'
import { asOfQuery, WRITE_ERRORS } from '../../../core/resources/endpoints.ts'
import { buildIdSchema } from '../../../core/resources/resource.ts'
import { answerInTime } from '../../../core/threads/timeout.ts'
import { parseAsOf } from '../../../core/util/as-of.ts'
import {
  foldPinnedTool,
  foldToolServer,
  type ManagedToolServer,
  type PinnedTool,
  toolServerStream,
} from '../../../projections/events/tool-servers.ts'
import type { PastEvent } from '../../../projections/past-events.ts'
import type { GatewayState } from '../../../projections/state.ts'
import type { ToolServerId } from '../../../projections/tool-servers.ts'
import { diffJson } from './diff-json.ts'
import type { ListTools } from './list-tools.ts'
import type { ObservedTools } from './observe.ts'
import { toolServerNotFound, toolServers } from './resource.ts'
import type { ToolServer, ToolServerPolicy, ToolServerState } from './state.ts'
import {
  newestOf,
  RefreshResult,
  showTool,
  statusOf,
  TOOL_STATUSES,
  Tool,
  ToolDecision,
  ToolHistory,
  ToolName,
  ToolPage,
} from './tool-schemas.ts'

export interface ToolServices extends Pick<GatewayState, 'history' | 'toolServers' | 'writer'> {
  readonly servers: ToolServerState
  readonly observed: Pick<ObservedTools, 'refresh'>
  readonly listTools: ListTools
}

/** A listing takes no longer. */
const REFRESH_MS = 60_000

const tags = ['tools']
const PATH = `${toolServers.path}/{id}`
const reads = operator('auditor')
const writes = operator('editor')
const serverParams = { id: buildIdSchema(toolServers) }
const toolParams = { ...serverParams, tool: ToolName }
const notFound = toolServerNotFound
const shownTool = { headers: etagHeader('tool'), body: data(Tool) }

/** The endpoints for the tools of servers: what they are, what they were, and what is decided about them. */
export function createToolEndpoints(services: ToolServices): readonly Endpoint[] {
  const { servers, history, observed, listTools } = services

  function requireServer(id: ToolServerId): ToolServer {
    const server = servers.byId(id)
    if (server === undefined) throw notFound(id)
    return server
  }

  function requireTool({ id, tool: name }: { readonly id: ToolServerId; readonly tool: string }) {
    const server = requireServer(id)
    return { server, tool: findTool(servers.toolsOf(id), name) }
  }

  /** The tools, and how the server treated them, as of a point in the log. */
  async function readPast(id: ToolServerId, asOf: string) {
    const events = await history.eventsOf(toolServerStream(id), parseAsOf(asOf, 'as_of'))
    const past = foldPast(events)
    const policy: ToolServerPolicy | undefined = past.server ?? programOf(servers.byId(id))
    if (policy === undefined) throw notFound(id)
    return { policy, tools: past.tools }
  }

  async function readTools(id: ToolServerId, asOf: string | undefined) {
    if (asOf !== undefined) return readPast(id, asOf)
    return { policy: requireServer(id), tools: servers.toolsOf(id) }
  }

  function respond(tool: PinnedTool, policy: Pick<ToolServerPolicy, 'changedTools'>) {
    const shown = showTool(tool, policy)
    return { status: 200, headers: { etag: contentEtag(shown) }, body: { data: shown } }
  }

  const decision = (
    action: 'approve' | 'reject',
    summary: string,
    description: string,
    type: 'ToolRevisionApproved' | 'ToolRevisionRejected',
  ) =>
    endpoint({
      method: 'POST',
      path: `${PATH}/tools/{tool}/${action}`,
      access: writes,
      operationId: `${action}Tool`,
      summary,
      description,
      tags,
      params: toolParams,
      notFound,
      headers: preconditionHeaders('tool', '*'),
      body: ToolDecision,
      examples: { first: { revision: 1 } },
      responses: { 200: { description: 'The tool after the decision.', ...shownTool } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      async handle({ params, body: { revision }, headers, author }) {
        const expected = parsePrecondition(headers)
        await answerInTime(decideAboutTool(services, params, { type, revision }, expected, author))
        const { server, tool } = requireTool(params)
        return respond(tool, server)
      },
    })

  return [
    endpoint({
      method: 'GET',
      path: `${PATH}/tools`,
      access: reads,
      operationId: 'listTools',
      summary: 'Lists the tools of a server, in pages, in the order in which they were first seen.',
      tags,
      params: serverParams,
      notFound,
      query: {
        ...pageQuery(PAGE, 'YWZ0ZXI6Nw'),
        ...asOfQuery,
        status: Type.Optional(StringEnum(TOOL_STATUSES, { description: 'Only tools with this status.' })),
      },
      responses: { 200: { description: 'A page of tools.', body: ToolPage } },
      async handle({ params: { id }, query: { as_of: asOf, status, ...page } }) {
        const { policy, tools } = await readTools(id, asOf)
        const ranked = [...tools.values()].map((tool, rank) => ({ tool, rank }))
        const found = ranked.filter(({ tool }) => status === undefined || statusOf(tool) === status)
        const { page: shown, next_cursor } = cutPage(
          found,
          { limit: PAGE.default, ...page },
          ({ rank }) => rank,
        )
        return {
          status: 200,
          body: { data: shown.map(({ tool }) => showTool(tool, policy)), next_cursor },
        }
      },
    }),
    endpoint({
      method: 'GET',
      path: `${PATH}/tools/{tool}`,
      access: reads,
      operationId: 'readTool',
      summary: 'Returns a tool of a server.',
      tags,
      params: toolParams,
      notFound,
      query: asOfQuery,
      headers: ifNoneMatchHeader,
      responses: { 200: { description: 'The tool.', ...shownTool } },
      async handle({ params: { id, tool: name }, query: { as_of: asOf } }) {
        const { policy, tools } = await readTools(id, asOf)
        return respond(findTool(tools, name), policy)
      },
    }),
    endpoint({
      method: 'GET',
      path: `${PATH}/tools/{tool}/history`,
      access: reads,
      operationId: 'readToolHistory',
      summary: 'Lists the definitions of a tool and what was decided about them, oldest first.',
      tags,
      params: toolParams,
      notFound,
      responses: { 200: { description: 'All events.', body: ToolHistory } },
      async handle({ params: { id, tool: name } }) {
        const entries = showToolHistory(await history.eventsOf(toolServerStream(id)), name)
        if (entries.length === 0) throw servers.byId(id) === undefined ? notFound(id) : toolNotFound(name)
        return { status: 200, body: { data: entries } }
      },
    }),
    decision(
      'approve',
      'Approves the newest definition of a tool.',
      'It is served from then on. 409 if a newer definition than the given revision has been seen.',
      'ToolRevisionApproved',
    ),
    decision(
      'reject',
      'Rejects a definition of a tool, or revokes its approval.',
      'It is not served, also if the server lists it again.',
      'ToolRevisionRejected',
    ),
    endpoint({
      method: 'POST',
      path: `${PATH}/refresh`,
      access: writes,
      operationId: 'refreshTools',
      summary: 'Asks a server for its tools now, and records what is new.',
      tags,
      params: serverParams,
      notFound,
      responses: { 200: { description: 'What the server lists.', body: RefreshResult } },
      errors: [...WRITE_ERRORS, 'tool_server_unavailable', 'tool_server_refused', 'tool_call_timeout'],
      async handle({ params: { id }, author }) {
        const server = requireServer(id)
        const definitions = await listTools(server, AbortSignal.timeout(REFRESH_MS))
        const before = servers.toolsOf(id)
        const { tools, refused } = await observed.refresh(server, definitions, author)
        const after = servers.toolsOf(id)
        return {
          status: 200,
          body: { data: { listed: tools.length + refused.length, ...compareTools(before, after), refused } },
        }
      },
    }),
  ]
}

type Properties<Params extends TProperties> = { readonly [Name in keyof Params]: Params[Name]['static'] }

interface Decision {
  readonly type: 'ToolRevisionApproved' | 'ToolRevisionRejected'
  readonly revision: number
}

/** Throws 404 for a tool or revision that is not known, and 409 unless the newest one is approved. */
export async function decideAboutTool(
  { servers, toolServers, writer }: Pick<ToolServices, 'servers' | 'toolServers' | 'writer'>,
  { id, tool: name }: Properties<typeof toolParams>,
  { type, revision }: Decision,
  expected: Precondition,
  author: Author,
): Promise<void> {
  const command = {
    stream: toolServerStream(id),
    revision: () => toolServers.revision(id),
    decide() {
      const server = servers.byId(id)
      if (server === undefined) throw notFound(id)
      const tool = findTool(servers.toolsOf(id), name)
      expected(contentEtag(showTool(tool, server)), 'tool')
      const known = tool.revisions.find((other) => other.revision === revision)
      if (known === undefined) throw new GatewayError('not_found', `${name} has no revision ${revision}.`)
      const newest = newestOf(tool)
      if (type === 'ToolRevisionApproved' && known !== newest) {
        const advice = `Read revision ${newest.revision} before you approve it.`
        throw new GatewayError(
          'conflict',
          `${name} has a newer definition than revision ${revision}. ${advice}`,
        )
      }
      const status = type === 'ToolRevisionApproved' ? 'approved' : 'rejected'
      return known.status === status ? [] : [{ type, data: { serverId: id, tool: name, revision } }]
    },
  }
  await writer.write(command, author)
}

function toolNotFound(name: string): GatewayError {
  return new GatewayError('not_found', `Tool ${name} was not found.`)
}

function findTool(tools: ReadonlyMap<string, PinnedTool>, name: string): PinnedTool {
  const tool = tools.get(name)
  if (tool === undefined) throw toolNotFound(name)
  return tool
}

function programOf(server: ToolServer | undefined): ToolServer | undefined {
  return server?.transport.type === 'program' ? server : undefined
}

function foldPast(events: readonly PastEvent[]) {
  let server: ManagedToolServer | undefined
  const tools = new Map<string, PinnedTool>()
  for (const { event, record } of events) {
    if (event === undefined) continue
    if (foldToolServer.has(event)) server = foldToolServer(server, event, record)
    else if (foldPinnedTool.has(event)) {
      const after = foldPinnedTool(tools.get(event.data.tool), event, record)
      if (after !== undefined) tools.set(event.data.tool, after)
    }
  }
  return { server, tools }
}

const EVENTS = {
  ToolRevisionSeen: 'seen',
  ToolRevisionApproved: 'approved',
  ToolRevisionRejected: 'rejected',
  ToolRevisionsOmitted: 'omitted',
  ToolRemoved: 'removed',
  ToolReturned: 'returned',
} as const

function showToolHistory(events: readonly PastEvent[], name: string): readonly JsonObject[] {
  let before: JsonObject | undefined
  return events.flatMap(({ event, record }) => {
    if (event === undefined || !foldPinnedTool.has(event) || event.data.tool !== name) return []
    const shown = { ...showRecord(record), event: EVENTS[event.type] }
    if (event.type !== 'ToolRevisionSeen')
      return [{ ...shown, revision: 'revision' in event.data ? event.data.revision : null }]
    const { revision, status, digest, definition, findings } = event.data
    const diff = before === undefined ? {} : { diff: diffJson(before, definition) }
    before = definition
    return [{ ...shown, revision, status, digest, definition, findings, ...diff }]
  })
}

/** What a refresh has changed. */
function compareTools(before: ReadonlyMap<string, PinnedTool>, after: ReadonlyMap<string, PinnedTool>) {
  const changes: Record<'new' | 'changed' | 'removed' | 'returned', string[]> = {
    ...{ new: [], changed: [], removed: [], returned: [] },
  }
  for (const [name, tool] of after) {
    const known = before.get(name)
    if (known === tool) continue
    if (known === undefined) changes.new.push(name)
    else if (known.revisions.length < tool.revisions.length) changes.changed.push(name)
    else if (tool.removedAt !== undefined && known.removedAt === undefined) changes.removed.push(name)
    else if (tool.removedAt === undefined && known.removedAt !== undefined) changes.returned.push(name)
  }
  return changes
}
