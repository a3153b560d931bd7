import type { GatewayError, JsonObject, Plugin } from '../../core/contract/index.ts'
import { auditPaths } from '../openapi/audit.ts'
import { addAuditRoute, addDiffRoute, addHistoryRoutes } from './endpoints.ts'
import type { AuditServices } from './services.ts'
import { addSimulationRoute } from './simulation.ts'

/**
 * Gives users access to their event history: audit, diff, revert and simulate (docs/api.md, "History and
 * audit").
 */
export function createAudit(services: AuditServices): Plugin {
  return {
    name: 'audit',
    after: ['auth', 'plan', 'firewall', 'routing'],
    setup: (_, host) => ({
      routes(router) {
        addHistoryRoutes(router, '/v1/routing-rules', services.kinds.routing, services)
        addHistoryRoutes(router, '/v1/firewall-rules', services.kinds.firewall, services)
        addAuditRoute(router, services)
        addDiffRoute(router, services)
        addSimulationRoute(router, services, host)
      },
      openapi: auditPaths,
      errorBody: auditErrorBody,
    }),
  }
}

/** The general error envelope plus `param`, the invalid parameter, and `errors`, the issues by field. */
function auditErrorBody({ message, type, status, details }: GatewayError): JsonObject {
  const { param, errors } = details
  return { error: { message, type, http_status: status, ...(param && { param }), ...(errors && { errors }) } }
}
