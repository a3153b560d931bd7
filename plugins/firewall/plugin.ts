import { Counter, type Registry } from 'prom-client'
import {
  type Exchange,
  type FirewallRule,
  GatewayError,
  type JsonObject,
  type Plugin,
  type RuleSet,
} from '../../core/contract/index.ts'
import { errorEnvelope } from '../../core/http/errors.ts'
import {
  compiledCacheOptions,
  createCompiledCache,
  createLookupCounter,
} from '../../core/util/compiled-cache.ts'
import { chain } from '../../core/util/maybe-promise.ts'
import { firewallPaths } from '../openapi/rules.ts'
import { addRuleRoutes, type RuleEndpointServices } from '../rules/endpoints.ts'
import { compileFirewall } from './compile.ts'
import { evaluateFirewall, type FirewallOutcome } from './evaluate.ts'

/** The user's firewall rules: blocks, masks or warns before anything goes to a provider, and serves `/v1/firewall-rules`. */
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

/** 400 and 403 on firewall endpoints carry only a message (docs/api.md, "Errors"). */
function errorBody(error: GatewayError): JsonObject {
  return [400, 403].includes(error.status) ? { error: { message: error.message } } : errorEnvelope(error)
}

/** Counters of patterns that counted as no match: a firewall never goes quiet silently. */
function createPatternCounters(metrics: Registry) {
  const unusable = new Counter({
    name: 'signalbox_firewall_unusable_patterns_total',
    help: 'Rules left out when a firewall was compiled, because their pattern cannot be evaluated.',
    registers: [metrics],
  })
  const overruns = new Counter({
    name: 'signalbox_firewall_overruns_total',
    help: "Patterns that were stopped, or not started, because a request's time for patterns was used up.",
    registers: [metrics],
  })
  return {
    noteUnusable: (count: number) => unusable.inc(count),
    noteOverruns: (count: number) => overruns.inc(count),
  }
}
