import type { JsonObject } from '../../../core/contract/index.ts'
import type { ToolServer } from './state.ts'

/** A tool as its server lists it. */
export type ToolDefinition = JsonObject

/**
 * Asks a server for all its tools, past every cache. Rejects with a `GatewayError` if it cannot be reached,
 * and for servers that need the credentials of a caller.
 */
export type ListTools = (server: ToolServer, signal: AbortSignal) => Promise<readonly ToolDefinition[]>

/** A tool as it may be served: its definition is the approved one. */
export interface ServedTool {
  readonly name: string
  readonly revision: number
  readonly definition: ToolDefinition
}

/** Why a tool is not served. */
export type Unserved = 'unknown' | 'pending' | 'changed'

/** What may be served of the servers' tools. */
export interface ToolCatalog {
  /**
   * Records what a server has just listed, all of it, and returns what may be served, in the same order.
   * Definitions that are known cost no event.
   */
  observe(server: ToolServer, definitions: readonly ToolDefinition[]): Promise<readonly ServedTool[]>
  /** Returns a tool whose definition this process has observed, or why it is not served. */
  tool(server: ToolServer, name: string): ServedTool | Unserved
  /** Calls the listener, with the name of the server, when other tools may be served. */
  onChanged(listener: (server: string) => void): () => void
}
