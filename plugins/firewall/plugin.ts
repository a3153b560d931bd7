import { Counter, type Registry } from 'prom-client'
import {
  type Exchange,
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
import { evaluateFirewall, type FirewallOutcome, type FirewallRefusal } from './evaluate.ts'

/** Applies the user's firewall rules before a request goes to a provider; serves `/v1/firewall-rules`. */
export function createFirewall(services: RuleEndpointServices): Plugin {
  return {
    name: 'firewall',
    after: ['auth', 'plan'],
    options: compiledCacheOptions,
    setup(options, { logger, metrics }) {
      const { countUnusable, countOverruns } = createPatternCounters(metrics)
      const compile = async (rules: RuleSet) => {
        const firewall = await compileFirewall(rules)
        countUnusable(firewall.unusableCount)
        return firewall
      }
      const getCompiled = createCompiledCache(
        compile,
        options,
        ({ firewall }) => firewall.length,
        createLookupCounter(metrics, 'firewall'),
      )
      function apply(
        { request, warnings, trace, overruns, refusal }: FirewallOutcome,
        exchange: Exchange,
      ): void {
        exchange.request = request
        exchange.warnings.push(...warnings)
        exchange.trace.push(...trace)
        if (overruns.length > 0) {
          countOverruns(overruns.length)
          const { id: requestId, account } = exchange
          logger.warn(
            { requestId, user: account.userId, patterns: overruns },
            'firewall patterns exceeded time budget',
          )
        }
        if (refusal !== undefined) throw refusedError(refusal)
      }
      return {
        decide: (exchange) =>
          chain(getCompiled(exchange.rules), (firewall) =>
            chain(evaluateFirewall(firewall, exchange.request), (outcome) => apply(outcome, exchange)),
          ),
        routes: (router) => addRuleRoutes(router, '/v1/firewall-rules', services),
        openapi: firewallPaths,
        errorBody,
      }
    },
  }
}

function refusedError({ rule: { id, name }, reason }: FirewallRefusal): GatewayError {
  return new GatewayError('firewall_blocked', REFUSAL_MESSAGES[reason](name), { meta: { rule_id: id } })
}

const REFUSAL_MESSAGES: Readonly<Record<FirewallRefusal['reason'], (name: string) => string>> = {
  blocked: (name) => `Request blocked by firewall rule "${name}".`,
  not_maskable: (name) =>
    `Request blocked by firewall rule "${name}": it matches text that cannot be masked, such as a number in ` +
    'place of a parameter, or text across several JSON values.',
}

/** On firewall endpoints, 400 and 403 carry only a message (docs/api.md, "Errors"). */
function errorBody(error: GatewayError): JsonObject {
  return [400, 403].includes(error.status) ? { error: { message: error.message } } : errorEnvelope(error)
}

/** Counts patterns that counted as no match, so that operators notice when a firewall rule has no effect. */
function createPatternCounters(metrics: Registry) {
  const unusable = new Counter({
    name: 'signalbox_firewall_unusable_patterns_total',
    help: 'Firewall rules left out at compilation because their pattern cannot be evaluated.',
    registers: [metrics],
  })
  const overruns = new Counter({
    name: 'signalbox_firewall_overruns_total',
    help: 'Firewall pattern runs stopped or not started because the request exceeded its time budget.',
    registers: [metrics],
  })
  return {
    countUnusable: (count: number) => unusable.inc(count),
    countOverruns: (count: number) => overruns.inc(count),
  }
}
