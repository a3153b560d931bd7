import { compiledCacheOptions, createCompiledCache } from '../../core/compiled-cache.ts'
import {
  type Exchange,
  type FirewallRule,
  GatewayError,
  type JsonObject,
  type Plugin,
  type RuleSet,
} from '../../core/contract/index.ts'
import { createLookupCounter } from '../../core/count-lookups.ts'
import { errorEnvelope } from '../../core/http/answer-errors.ts'
import { chain } from '../../core/soon.ts'
import { firewallPaths } from '../openapi/rules.ts'
import { addRuleRoutes, type RuleEndpointServices } from '../rules/endpoints.ts'
import { compileFirewall } from './compile.ts'
import { evaluateFirewall, type FirewallOutcome } from './evaluate.ts'
import { createPatternCounters } from './pattern-counters.ts'

/** The user's firewall rules: blocks, masks or warns before anything goes to a vendor, and serves `/v1/firewall-rules`. */
export function createFirewall(services: RuleEndpointServices): Plugin {
  return {
    name: 'firewall',
    after: ['auth', 'plan'],
    options: compiledCacheOptions,
    setup(options, { logger, metrics }) {
      const { noteUnusable, noteOverruns } = createPatternCounters(metrics)
      const compile = async (rules: RuleSet) => {
        const firewall = await compileFirewall(rules)
        noteUnusable(firewall.unusable)
        return firewall
      }
      const compiled = createCompiledCache(
        compile,
        options,
        ({ firewall }) => firewall.length,
        createLookupCounter(metrics, 'firewall'),
      )
      function apply(
        { request, warnings, trace, overruns, blockedBy }: FirewallOutcome,
        exchange: Exchange,
      ): void {
        exchange.request = request
        exchange.warnings.push(...warnings)
        exchange.trace.push(...trace)
        if (overruns.length > 0) {
          noteOverruns(overruns.length)
          const { id: requestId, account } = exchange
          logger.warn({ requestId, user: account.userId, patterns: overruns }, 'firewall patterns ran over')
        }
        if (blockedBy !== undefined) throw blocked(blockedBy)
      }
      return {
        decide: (exchange) =>
          chain(compiled(exchange.rules), (firewall) =>
            chain(evaluateFirewall(firewall, exchange.request), (outcome) => apply(outcome, exchange)),
          ),
        routes: (router) => addRuleRoutes(router, '/v1/firewall-rules', services),
        openapi: firewallPaths,
        errorBody,
      }
    },
  }
}

function blocked({ id, name }: FirewallRule): GatewayError {
  const message = `Request blocked by firewall rule "${name}".`
  return new GatewayError('firewall_blocked', message, { meta: { rule_id: id } })
}

/** 400 and 403 on firewall endpoints carry only a message (interface: "Errors"). */
function errorBody(error: GatewayError): JsonObject {
  return [400, 403].includes(error.status) ? { error: { message: error.message } } : errorEnvelope(error)
}
