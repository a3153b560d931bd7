import type { Endpoint } from '../../../core/contract/index.ts'
import { manageResource } from '../../../core/resources/endpoints.ts'
import type { GatewayState } from '../../../projections/state.ts'
import { type ToolServerServices, toolServers } from './resource.ts'

/** The endpoints for tool servers and their tools. */
export function createToolServerEndpoints(services: GatewayState & ToolServerServices): readonly Endpoint[] {
  const { server, servers, revision } = services.toolServers
  const state = { find: server, list: servers, streamRevision: revision }
  return Object.values(manageResource(toolServers, state, services).endpoints)
}
