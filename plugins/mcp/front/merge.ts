import type { Logger } from 'pino'
import type { JsonObject } from '../../../core/contract/index.ts'
import { errorMessage } from '../../../core/util/error-message.ts'
import type { ToolRules } from '../../tool-rules/index.ts'
import type { ToolServer } from '../catalog.ts'
import { nameForRules } from '../decide.ts'
import { LISTS, type ListMethod, type ServerLists } from '../lists.ts'
import { RPC, RpcError } from '../protocol.ts'
import type { UpstreamContext } from '../upstream/upstream.ts'
import type { ClientContext } from './client-context.ts'

const SEPARATOR = '__'
const PAGE_SIZE = 500

/** Names servers of a merged list that could not be asked. */
const UNAVAILABLE = 'dev.signalbox/unavailableServers'

/** What is listed for a client, and where what it names is. */
export interface Merged {
  /**
   * Returns a page of what the caller may use. See docs/decisions/mcp.md, "A server that is away does
   * not empty the list".
   */
  list(context: ClientContext, method: ListMethod, cursor: unknown, signal: AbortSignal): Promise<JsonObject>
  /** Finds the server of a tool or prompt by the name that the client uses. */
  findNamed(
    context: ClientContext,
    name: string,
  ): { readonly server: ToolServer; readonly name: string } | undefined
  /** Finds the server that lists a resource, or a template that it matches. */
  findResource(context: ClientContext, uri: string, signal: AbortSignal): Promise<ToolServer | undefined>
}

interface MergeServices {
  readonly lists: ServerLists
  readonly rules: ToolRules | undefined
  readonly logger: Logger
  contextFor(context: ClientContext, server: ToolServer, signal: AbortSignal): UpstreamContext
}

export function createMerged({ lists, rules, logger, contextFor }: MergeServices): Merged {
  async function itemsOf(
    context: ClientContext,
    server: ToolServer,
    method: ListMethod,
    signal: AbortSignal,
  ): Promise<readonly JsonObject[]> {
    const upstream = contextFor(context, server, signal)
    const items =
      method === 'tools/list'
        ? (await lists.tools(server, upstream)).map(({ definition }) => definition)
        : await lists.items(server, method, upstream)
    const shown: JsonObject[] = []
    for (const item of items) {
      const tool = ruledName(method, item)
      const byDefault = server.default === 'allow'
      const isShown = rules
        ? await rules.isListed(context.caller, { server: server.name, tool }, byDefault)
        : byDefault
      if (isShown) shown.push(context.isMerged ? withServer(server.name, method, item) : item)
    }
    return shown
  }

  return {
    async list(context, method, cursor, signal) {
      const start = parseCursor(cursor)
      const { servers, isMerged } = context
      const unavailable: string[] = []
      const all = await Promise.all(
        servers.map((server) =>
          itemsOf(context, server, method, signal).catch((error: unknown) => {
            if (!isMerged || signal.aborted) throw error
            logger.warn(
              { server: server.name, reason: errorMessage(error) },
              'tool server left out of a list',
            )
            unavailable.push(server.name)
            return []
          }),
        ),
      )
      const items = all.flat()
      const end = start + PAGE_SIZE
      return {
        [LISTS[method].field]: items.slice(start, end),
        ...(end < items.length && { nextCursor: Buffer.from(String(end)).toString('base64url') }),
        ...(unavailable.length > 0 && { _meta: { [UNAVAILABLE]: unavailable } }),
      }
    },

    findNamed({ servers, isMerged }, name) {
      const [only] = servers
      if (!isMerged) return only && { server: only, name }
      const found = servers
        .filter((server) => name.startsWith(server.name + SEPARATOR))
        .sort((a, b) => b.name.length - a.name.length)[0]
      return found && { server: found, name: name.slice(found.name.length + SEPARATOR.length) }
    },

    async findResource(context, uri, signal) {
      const { servers } = context
      if (servers.length <= 1) return servers[0]
      for (const matches of [isResource, isOfTemplate]) {
        const method = matches === isResource ? 'resources/list' : 'resources/templates/list'
        const found = await Promise.all(
          servers.map(async (server) => {
            const items = await itemsOf(context, server, method, signal).catch(() => [])
            return items.some((item) => matches(item, uri)) ? server : undefined
          }),
        )
        const server = found.find((candidate) => candidate !== undefined)
        if (server !== undefined) return server
      }
      return undefined
    },
  }
}

function ruledName(method: ListMethod, item: JsonObject): string {
  if (method === 'tools/list') return String(item.name)
  if (method === 'prompts/list') return nameForRules('prompt', String(item.name))
  return nameForRules('resource', String(item.uri ?? item.uriTemplate))
}

function withServer(server: string, method: ListMethod, item: JsonObject): JsonObject {
  const isNamed = method === 'tools/list' || method === 'prompts/list'
  return isNamed ? { ...item, name: `${server}${SEPARATOR}${String(item.name)}` } : item
}

function isResource(item: JsonObject, uri: string): boolean {
  return item.uri === uri
}

/** Compares what precedes the first variable of a template. */
function isOfTemplate({ uriTemplate }: JsonObject, uri: string): boolean {
  if (typeof uriTemplate !== 'string') return false
  const [prefix = ''] = uriTemplate.split('{', 1)
  return prefix !== '' && uri.startsWith(prefix)
}

function parseCursor(cursor: unknown): number {
  if (cursor === undefined) return 0
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : ''
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new RpcError(RPC.invalidParams, 'The cursor is not one of this list.')
}
