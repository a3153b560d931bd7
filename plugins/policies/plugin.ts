import type { Plugin } from '../../core/contract/index.ts'
import type { GroupServices } from './group-commands.ts'
import { createGroupEndpoints } from './group-endpoints.ts'

/** Serves the endpoints for groups of users. */
export function createPolicies(services: GroupServices): Plugin {
  return {
    name: 'policies',
    after: ['auth'],
    setup: () => ({ endpoints: createGroupEndpoints(services) }),
  }
}
