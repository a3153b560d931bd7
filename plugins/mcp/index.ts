import { service } from '../../core/contract/index.ts'
import type { ToolCatalog } from './catalog.ts'
import type { ToolDecisions as Decisions } from './decide-unsent.ts'

export type { ServedTool, ToolCatalog, ToolServer, Unserved } from './catalog.ts'

export { CALL_VERDICTS } from './decide.ts'
export type { UnsentDecision, UnsentToolCall } from './decide-unsent.ts'

/** The tool servers and the definitions of their tools that are served. */
export const ToolServers = service<ToolCatalog>('mcp.catalog')

/** Decides about calls that are not made. */
export type ToolDecisions = Decisions
export const ToolDecisions = service<Decisions>('mcp.decisions')
