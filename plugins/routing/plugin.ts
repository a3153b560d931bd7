import type { Plugin, RoutingRule, RuleSet } from '../../core/contract/index.ts'
import type { RoutingContent } from '../../core/events/domain-events.ts'
import {
  type CompiledCacheOptions,
  compiledCacheOptions,
  createCompiledCache,
  createLookupCounter,
} from '../../core/util/compiled-cache.ts'
import { chain } from '../../core/util/maybe-promise.ts'
import { createRuleEndpoints, type RuleEndpointServices } from '../rules/endpoints.ts'
import { compileRouting } from './compile.ts'
import { evaluateRouting, type RuleDecision } from './evaluate.ts'
import { builtInConditions, createBuiltInActions } from './operators.ts'
import { buildRoutingInput, parseRequestedModel } from './requested-model.ts'
import { resolveRoute } from './resolve-route.ts'
import type { RoutingCatalog } from './routing-catalog.ts'

interface RoutingServices extends RuleEndpointServices<RoutingRule, RoutingContent> {
  readonly routingCatalog: RoutingCatalog
  /** The providers that a rule or a model prefix may name. */
  readonly providers: ReadonlySet<string>
}

/**
 * Sets the route of a request from the user's routing rules and the requested model; serves
 * `/v1/routing-rules`.
 */
export function createRouting(services: RoutingServices): Plugin {
  const { routingCatalog, providers } = services
  return {
    name: 'routing',
    after: ['auth', 'plan'],
    options: compiledCacheOptions,
    setup(options: CompiledCacheOptions, { operators, metrics }) {
      const compile = (rules: RuleSet) => compileRouting(rules, operators)
      const getCompiled = createCompiledCache(
        compile,
        options,
        ({ routing }) => routing.length,
        createLookupCounter(metrics, 'routing'),
      )
      return {
        decide(exchange) {
          const { account, request, preferences } = exchange
          const requested = parseRequestedModel(request.model, providers)
          const mode = requested.type === 'auto' ? requested.mode : 'balance'
          const input = buildRoutingInput(account, request, mode)
          const apply = (decision: RuleDecision) => {
            const { route, warnings, trace } = resolveRoute(requested, decision, preferences, routingCatalog)
            exchange.request = decision.draft.request
            exchange.route = route
            exchange.warnings.push(...warnings)
            exchange.trace.push(...trace)
          }
          return chain(getCompiled(exchange.rules), (compiled) =>
            chain(evaluateRouting(compiled, input), apply),
          )
        },
        endpoints: createRuleEndpoints(services),
        conditions: builtInConditions,
        actions: createBuiltInActions(providers),
      }
    },
  }
}
