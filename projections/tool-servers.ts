import type { Position } from '../core/contract/index.ts'
import {
  foldPinnedTool,
  foldToolServer,
  type ManagedToolServer,
  type PinnedTool,
} from './events/tool-servers.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** Id of a tool server: that of its resource, or the name of one of the settings file. */
export type ToolServerId = number | string

/** All tool servers that operators manage, and the tools of all servers, in memory. */
export interface ToolServers extends SavedProjection {
  server(id: number): ManagedToolServer | undefined
  /** Sorted by id. */
  servers(): readonly ManagedToolServer[]
  /** The server with this name; of several, which nodes created at the same time, the first one. */
  named(name: string): ManagedToolServer | undefined
  /** The tools that the server has listed, by name. */
  toolsOf(id: ToolServerId): ReadonlyMap<string, PinnedTool>
  /** Ids of all servers that there ever were. */
  allIds(): readonly ToolServerId[]
  /** Revision of the server's stream; -1 before its first event. */
  revision(id: ToolServerId): number
  /** Position of the newest event of any server; 0 before the first one. */
  position(): Position
}

interface ServerState {
  server: ManagedToolServer | undefined
  revision: number
  /** Position of the creation. */
  readonly position: Position
  /** Replaced with each change. */
  tools: ReadonlyMap<string, PinnedTool>
}

const NO_TOOLS: ReadonlyMap<string, PinnedTool> = new Map()

export function createToolServers(): ToolServers {
  const states = new Map<string, ServerState>()
  let position = 0

  function stateOf(id: ToolServerId, created: Position): ServerState {
    const known = states.get(String(id))
    if (known !== undefined) return known
    const state = { server: undefined, revision: -1, position: created, tools: NO_TOOLS }
    states.set(String(id), state)
    return state
  }

  return {
    name: 'tool-servers',
    apply(event, record) {
      if (foldToolServer.has(event)) {
        const state = stateOf(event.data.serverId, record.position)
        state.server = foldToolServer(state.server, event, record)
        if (state.server === undefined) state.tools = NO_TOOLS
        state.revision = record.revision
      } else if (foldPinnedTool.has(event)) {
        const { serverId, tool } = event.data
        const state = stateOf(serverId, record.position)
        state.revision = record.revision
        // Another node has deleted the server meanwhile.
        if (typeof serverId === 'number' && state.server === undefined) return
        const before = state.tools.get(tool)
        const after = foldPinnedTool(before, event, record)
        if (after !== undefined && after !== before) state.tools = new Map(state.tools).set(tool, after)
      } else return
      position = record.position
    },
    server: (id) => states.get(String(id))?.server,
    servers: () => [...states.values()].flatMap(({ server }) => server ?? []).sort((a, b) => a.id - b.id),
    named(name) {
      const found = [...states.values()].filter(({ server }) => server?.name === name)
      return found.sort((a, b) => a.position - b.position)[0]?.server
    },
    toolsOf: (id) => states.get(String(id))?.tools ?? NO_TOOLS,
    allIds: () => [...states.keys()],
    revision: (id) => states.get(String(id))?.revision ?? -1,
    position: () => position,
    save() {
      const copies = [...states].map(([id, state]) => [id, { ...state }] as const)
      return serialize(position, copies)
    },
    load(lines) {
      for (const line of lines) {
        const saved: SavedLine = JSON.parse(line.toString())
        if ('position' in saved) position = saved.position
        else if ('tool' in saved) {
          const state = stateOf(saved.id, 0)
          state.tools = new Map(state.tools).set(saved.tool.name, saved.tool)
        } else states.set(saved.id, { ...saved.state, server: saved.state.server, tools: NO_TOOLS })
      }
    },
  }
}

type SavedLine =
  | { readonly position: Position }
  | { readonly id: string; readonly state: Omit<ServerState, 'tools'> }
  | { readonly id: string; readonly tool: PinnedTool }

function* serialize(
  position: Position,
  states: readonly (readonly [string, ServerState])[],
): Generator<string> {
  const toLine = (line: SavedLine) => JSON.stringify(line)
  yield toLine({ position })
  for (const [id, { tools, ...state }] of states) {
    yield toLine({ id, state })
    for (const tool of tools.values()) yield toLine({ id, tool })
  }
}
