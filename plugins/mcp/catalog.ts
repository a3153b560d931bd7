import type { ToolCatalog as DefinitionCatalog } from './servers/list-tools.ts'
import type { ToolServer, ToolServerState } from './servers/state.ts'

export type { ServedTool, Unserved } from './servers/list-tools.ts'
export type { ToolServer } from './servers/state.ts'

/** The servers that are enabled, and which definitions of their tools may be served. */
export interface ToolCatalog extends DefinitionCatalog {
  /** By name. */
  list(): readonly ToolServer[]
  find(name: string): ToolServer | undefined
}

export function createToolCatalog(
  servers: Pick<ToolServerState, 'list' | 'find'>,
  definitions: DefinitionCatalog,
): ToolCatalog {
  return {
    ...definitions,
    list: () => servers.list().filter(({ isEnabled }) => isEnabled),
    find(name) {
      const server = servers.find(name)
      return server?.isEnabled ? server : undefined
    },
  }
}
