import type { JsonObject } from '../../core/contract/index.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import { countValues } from '../../core/util/json.ts'
import type { ServedTool, ToolCatalog, ToolServer } from './catalog.ts'
import { objectOf } from './protocol.ts'
import { isListPersonal } from './servers/state.ts'
import { invalidMessage } from './upstream/envelope.ts'
import { parseResult } from './upstream/revision.ts'
import type { Upstreams } from './upstream/servers.ts'
import type { ListKind, UpstreamContext } from './upstream/upstream.ts'

/** What servers list, by method. */
export const LISTS = {
  'prompts/list': { field: 'prompts', capability: 'prompts' },
  'resources/list': { field: 'resources', capability: 'resources' },
  'resources/templates/list': { field: 'resourceTemplates', capability: 'resources' },
  'tools/list': { field: 'tools', capability: 'tools' },
} as const

export type ListMethod = keyof typeof LISTS

const MAX_PAGES = 100
/** Of all pages together. */
const MAX_LIST_CHARS = 16 * 1024 * 1024
const MAX_ITEMS = 10_000
/** Fields and items of a page, at all levels. */
const MAX_VALUES = 1_000_000
const MAX_CACHED = 10_000

interface ListServices {
  readonly catalog: ToolCatalog
  readonly upstreams: Pick<Upstreams, 'request' | 'describe' | 'onListChanged'>
  readonly listSeconds: number
}

/** The lists of all servers, kept for a while. */
export interface ServerLists {
  /** Resolves once the definitions of the tools of a server are known. */
  ready(server: ToolServer, context: UpstreamContext): Promise<unknown>
  /** The tools of a server that are served. */
  tools(server: ToolServer, context: UpstreamContext): Promise<readonly ServedTool[]>
  /** The prompts, resources or templates of a server. */
  items(server: ToolServer, method: ListMethod, context: UpstreamContext): Promise<readonly JsonObject[]>
  /** Asks the server, past the lists that are kept. */
  fetchItems(server: ToolServer, method: ListMethod, context: UpstreamContext): Promise<readonly JsonObject[]>
  /** What is known of a list without asking the server. */
  known(server: ToolServer, method: ListMethod, context: UpstreamContext): Promise<readonly JsonObject[]>
  /** Listens for changes of the lists of a server, unless it needs the credentials of callers for that. */
  watch(server: ToolServer): void
  /** Forgets what a server has listed. */
  forget(server: string): void
  /** Calls the listener when a list of a server has changed. */
  onChanged(listener: (server: string, kind: ListKind) => void): () => void
  close(): void
}

interface CachedList {
  readonly items: Promise<readonly JsonObject[]>
  readonly until: number
}

export function createServerLists({ catalog, upstreams, listSeconds }: ListServices): ServerLists {
  const cache = createBoundedCache<string, CachedList>(MAX_CACHED)
  const listeners = new Set<(server: string, kind: ListKind) => void>()
  const watched = new Map<string, () => void>()

  /** Lists that depend on the credentials of callers are theirs alone. */
  function keyOf(server: ToolServer, method: ListMethod, { caller }: UpstreamContext): string {
    const whose = isListPersonal(server)
      ? `${caller.userId}:${caller.authorization ?? caller.token ?? ''}`
      : ''
    return `${server.name} ${method} ${whose}`
  }

  function forget(server: string, kind?: ListKind): void {
    for (const key of [...cache.keys()]) if (key.startsWith(`${server} ${kind ?? ''}`)) cache.delete(key)
  }

  function watch(server: ToolServer): void {
    if (watched.has(server.name) || isListPersonal(server)) return
    const stop = upstreams.onListChanged(server, (kind) => {
      forget(server.name, kind)
      for (const listener of listeners) listener(server.name, kind)
    })
    watched.set(server.name, stop)
  }

  async function fetchItems(
    server: ToolServer,
    method: ListMethod,
    context: UpstreamContext,
  ): Promise<readonly JsonObject[]> {
    const { field, capability } = LISTS[method]
    const { capabilities } = await upstreams.describe(server, context)
    if (Object.keys(capabilities).length > 0 && capabilities[capability] === undefined) return []
    watch(server)
    const items: JsonObject[] = []
    let cursor: unknown
    let chars = 0
    for (let count = 0; count < MAX_PAGES && items.length < MAX_ITEMS; count++) {
      const params = cursor === undefined ? {} : { cursor }
      const outcome = await upstreams.request(server, { method, params }, context)
      if ('error' in outcome) {
        if (method === 'resources/templates/list') return items
        throw invalidMessage(`the error ${outcome.error.code} for ${method}`)
      }
      const text = await outcome.result.text(MAX_LIST_CHARS - chars)
      chars += text.length
      const result = parseResult(text)
      if (countValues(result) > MAX_VALUES)
        throw invalidMessage('a list that is nested too deep, or too long')
      const listed: unknown = result[field]
      const page = Array.isArray(listed) ? listed.slice(0, MAX_ITEMS).map(objectOf) : []
      for (const item of page) if (isNamed(method, item)) items.push(item)
      cursor = result.nextCursor
      if (typeof cursor !== 'string') break
    }
    return items
  }

  async function fetchAll(server: ToolServer, method: ListMethod, context: UpstreamContext) {
    const items = await fetchItems(server, method, context)
    if (method === 'tools/list') await catalog.observe(server, items)
    return items
  }

  async function list(server: ToolServer, method: ListMethod, context: UpstreamContext) {
    const key = keyOf(server, method, context)
    const known = cache.get(key)
    if (known !== undefined && Date.now() < known.until) return known.items
    // The list is for all callers: that of one who disconnects is still fetched.
    const items = fetchAll(server, method, { ...context, signal: new AbortController().signal })
    cache.set(key, { items, until: Date.now() + listSeconds * 1000 })
    items.catch(() => cache.delete(key))
    return items
  }

  return {
    ready: (server, context) => list(server, 'tools/list', context),
    async tools(server, context) {
      const definitions = await list(server, 'tools/list', context)
      const names = new Set(definitions.map(({ name }) => String(name)))
      return [...names].flatMap((name) => {
        const tool = catalog.tool(server, name)
        return typeof tool === 'object' ? [tool] : []
      })
    },
    items: list,
    fetchItems,
    async known(server, method, context) {
      return cache.get(keyOf(server, method, context))?.items ?? []
    },
    watch,
    forget,
    onChanged(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close() {
      for (const stop of watched.values()) stop()
    },
  }
}

/** What has no name cannot be used. Tools without one are refused where their definitions are recorded. */
function isNamed(method: ListMethod, { name, uri, uriTemplate }: JsonObject): boolean {
  if (method === 'tools/list') return true
  if (method === 'prompts/list') return typeof name === 'string'
  return typeof (method === 'resources/list' ? uri : uriTemplate) === 'string'
}
