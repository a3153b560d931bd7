import { Counter, type Registry } from 'prom-client'
import {
  type Exchange,
  type FirewallRule,
  GatewayError,
  type Plugin,
  type RuleSet,
} from '../../core/contract/index.ts'
import type { FirewallContent } from '../../core/events/domain-events.ts'
import {
  type CompiledCacheOptions,
  compiledCacheOptions,
  createCompiledCache,
  createLookupCounter,
} from '../../core/util/compiled-cache.ts'
import { chain } from '../../core/util/maybe-promise.ts'
import { createRuleEndpoints, type RuleEndpointServices } from '../rules/endpoints.ts'
import { compileFirewall } from './compile.ts'
import { evaluateFirewall, type FirewallOutcome } from './evaluate.ts'

/** Applies the user's firewall rules before a request goes to a provider; serves `/v1/firewall-rules`. */
export function createFirewall(services: RuleEndpointServices<FirewallRule, FirewallContent>): Plugin {
  return {
    name: 'firewall',
    after: ['auth', 'plan'],
    options: compiledCacheOptions,
    setup(options: CompiledCacheOptions, { logger, metrics }) {
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
        { request, warnings, trace, overruns, blockedBy }: FirewallOutcome,
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
        if (blockedBy !== undefined) throw blockedError(blockedBy)
      }
      return {
        decide: (exchange) =>
          chain(getCompiled(exchange.rules), (firewall) =>
            chain(evaluateFirewall(firewall, exchange.request), (outcome) => apply(outcome, exchange)),
          ),
        endpoints: createRuleEndpoints(services),
      }
    },
  }
}

function blockedError({ id, name }: FirewallRule): GatewayError {
  const message = `Request blocked by firewall rule "${name}".`
  return new GatewayError('firewall_blocked', message, { meta: { rule_id: id } })
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
