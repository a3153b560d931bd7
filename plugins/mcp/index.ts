import { service } from '../../core/contract/index.ts'
import type { ToolCatalog } from './catalog.ts'

export type { ServedTool, ToolCatalog, ToolServer, Unserved } from './catalog.ts'

/** The tool servers and the definitions of their tools that are served. */
export const ToolServers = service<ToolCatalog>('mcp.catalog')
