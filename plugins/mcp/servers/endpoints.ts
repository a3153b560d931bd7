import type { Endpoint } from '../../../core/contract/index.ts'
import { manageResource } from '../../../core/resources/endpoints.ts'
import type { GatewayState } from '../../../projections/state.ts'
import { listPrograms, type ToolServerServices, toolServers } from './resource.ts'
import { createToolEndpoints, type ToolServices } from './tool-endpoints.ts'

/** The endpoints for tool servers and their tools. */
export function createToolServerEndpoints(
  services: GatewayState & ToolServerServices & ToolServices,
): readonly Endpoint[] {
  const { server, servers, revision } = services.toolServers
  const programs = listPrograms(services.servers.list())
  const state = {
    find: (id: number | string) =>
      typeof id === 'number' ? server(id) : programs.find((program) => program.id === id),
    list: () => [...servers(), ...programs],
    streamRevision: revision,
  }
  return [
    ...Object.values(manageResource(toolServers, state, services).endpoints),
    ...createToolEndpoints(services),
  ]
}
