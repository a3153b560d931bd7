import type { GatewayError, JsonObject, Plugin } from '../../core/contract/index.ts'
import { auditPaths } from '../openapi/audit.ts'
import type { AuditServices } from './audit-entries.ts'
import { addAuditRoute, addDiffRoute, addHistoryRoutes } from './endpoints.ts'
import { addSimulationRoute } from './simulation.ts'

/** The event log for users: history, audit, diff, revert, simulate (docs/api.md, "History and audit"). */
export function createAudit(services: AuditServices): Plugin {
  return {
    name: 'audit',
    after: ['auth', 'plan', 'firewall', 'routing'],
    applies: 'management',
    setup: (_, host) => ({
      routes(router) {
        addHistoryRoutes(router, '/v1/routing-rules', services.kinds.routing, services)
        addHistoryRoutes(router, '/v1/firewall-rules', services.kinds.firewall, services)
        addAuditRoute(router, services)
        addDiffRoute(router, services)
        addSimulationRoute(router, services, host)
      },
      openapi: auditPaths,
      errorBody,
    }),
  }
}

/** The general envelope, with the parameter at fault where there is one. */
function errorBody({ message, type, status, details }: GatewayError): JsonObject {
  const { param, errors } = details
  return { error: { message, type, http_status: status, ...(param && { param }), ...(errors && { errors }) } }
}
