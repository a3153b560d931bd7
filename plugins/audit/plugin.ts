import type { Plugin } from '../../core/contract/index.ts'
import { createChangedObjectReader } from './changed-objects.ts'
import { createAuditEndpoint, createDiffEndpoint, createHistoryEndpoints } from './endpoints.ts'
import { createEvidenceEndpoints } from './evidence-endpoints.ts'
import { createLogEndpoint } from './log-endpoint.ts'
import { createLostRaceFinder } from './lost-races.ts'
import { createLogReader } from './read-log.ts'
import type { AuditServices } from './services.ts'
import { createAdminSimulationEndpoint, createSimulationEndpoint } from './simulation.ts'

/**
 * Gives users access to their event history: audit, diff, revert and simulate (docs/api.md, "History and
 * audit").
 */
export function createAudit(services: AuditServices): Plugin {
  return {
    name: 'audit',
    after: ['auth', 'plan', 'firewall', 'routing'],
    setup: (_, host) => ({
      endpoints: [
        ...createHistoryEndpoints(services.kinds.routing, services),
        ...createHistoryEndpoints(services.kinds.firewall, services),
        createAuditEndpoint(services),
        createLogEndpoint(
          createLogReader(host.log, services.timeline, services.history, createLostRaceFinder(services)),
          createChangedObjectReader(host.log, services.history, services.kinds),
        ),
        createDiffEndpoint(services),
        ...createEvidenceEndpoints(services.evidence),
        createSimulationEndpoint(services, host),
        createAdminSimulationEndpoint(services, host),
      ],
    }),
  }
}
