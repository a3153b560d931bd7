import type { Endpoint } from '../../../core/contract/index.ts'
import { manageResource } from '../../../core/resources/endpoints.ts'
import type { GatewayState } from '../../../projections/state.ts'
import { listPrograms, type ToolServerServices, toolServers } from './resource.ts'
import type { ToolServerState } from './state.ts'
import { createToolEndpoints, type ToolServices } from './tool-endpoints.ts'

/** The endpoints for tool servers and their tools. */
export function createToolServerEndpoints(
  services: GatewayState & ToolServerServices & ToolServices,
): readonly Endpoint[] {
  return [...Object.values(manageToolServers(services).endpoints), ...createToolEndpoints(services)]
}

/** The commands and endpoints for tool servers. */
export function manageToolServers(
  services: GatewayState & ToolServerServices & { readonly servers: Pick<ToolServerState, 'list'> },
) {
  const { server, servers, revision } = services.toolServers
  const programs = listPrograms(services.servers.list())
  const state = {
    find: (id: number | string) =>
      typeof id === 'number' ? server(id) : programs.find((program) => program.id === id),
    list: () => [...servers(), ...programs],
    streamRevision: revision,
  }
  return manageResource(toolServers, state, services)
}
