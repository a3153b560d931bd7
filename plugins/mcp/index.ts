import { service } from '../../core/contract/index.ts'
import type { ToolCatalog } from './catalog.ts'
import type { ToolDecisions as Decisions } from './decide-unsent.ts'

export type { ServedTool, ToolCatalog, ToolServer, Unserved } from './catalog.ts'
export { CALL_VERDICTS, type CallDecision, decideCall, parseRuledName } from './decide.ts'
export type { UnsentDecision, UnsentToolCall } from './decide-unsent.ts'
export { isRecordedAs } from './recorded-call.ts'
export { ToolServerState } from './servers/state.ts'

/** The tool servers and the definitions of their tools that are served. */
export const ToolServers = service<ToolCatalog>('mcp.catalog')

/** Decides about calls that are not made. */
export type ToolDecisions = Decisions
export const ToolDecisions = service<Decisions>('mcp.decisions')

/** Whether the tool servers that this process has asked in the last ten minutes answer. */
export interface ToolServerContacts {
  contacts(): Iterable<{ readonly server: string; readonly isUp: boolean }>
}

export const ToolServerContacts = service<ToolServerContacts>('mcp.contacts')
