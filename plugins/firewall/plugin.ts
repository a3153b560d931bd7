import { createCompiledCache } from '../../core/compiled-cache.ts'
import { GatewayError, type JsonObject, type Plugin } from '../../core/contract/index.ts'
import { envelope } from '../../core/http/answer-errors.ts'
import type { RuleServices } from '../rules/commands.ts'
import { addRuleRoutes } from '../rules/endpoints.ts'
import { compileFirewall } from './compile.ts'
import { evaluateFirewall } from './evaluate.ts'
import { firewallKind } from './kind.ts'

/** The user's firewall rules: blocks, masks or warns before anything goes to a vendor, and serves `/v1/firewall-rules`. */
export function createFirewall(services: RuleServices): Plugin {
  return {
    name: 'firewall',
    after: ['auth', 'plan'],
    options: {
      type: 'object',
      additionalProperties: false,
      properties: { cached_users: { type: 'integer', minimum: 1, default: 1000 } },
    },
    setup(options) {
      const compiled = createCompiledCache(compileFirewall, Number(options.cached_users ?? 1000))
      return {
        async middleware({ exchange }, next) {
          const outcome = evaluateFirewall(compiled(exchange.rules), exchange.request)
          if (outcome.type === 'blocked') {
            throw new GatewayError(
              'firewall_blocked',
              `Request blocked by firewall rule "${outcome.by.name}".`,
              {
                meta: { rule_id: outcome.by.id },
              },
            )
          }
          exchange.request = outcome.request
          exchange.warnings.push(...outcome.warnings)
          await next()
        },
        routes: (router) => addRuleRoutes(router, firewallKind, services),
        errorBody,
      }
    },
  }
}

/** 400 and 403 on firewall endpoints carry only a message (interface: "Errors"). */
function errorBody(error: GatewayError): JsonObject {
  return [400, 403].includes(error.status) ? { error: { message: error.message } } : envelope(error)
}
