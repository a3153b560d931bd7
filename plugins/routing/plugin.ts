import type { GatewayError, JsonObject, Plugin, RuleSet } from '../../core/contract/index.ts'
import { errorEnvelope } from '../../core/http/errors.ts'
import {
  compiledCacheOptions,
  createCompiledCache,
  createLookupCounter,
} from '../../core/util/compiled-cache.ts'
import { chain } from '../../core/util/maybe-promise.ts'
import { routingPaths } from '../openapi/rules.ts'
import { addRuleRoutes, type RuleEndpointServices } from '../rules/endpoints.ts'
import { compileRouting, evaluateRouting, type RuleDecision } from './compile.ts'
import { builtInConditions, createBuiltInActions } from './operators.ts'
import { buildRoutingInput, parseRequestedModel } from './requested-model.ts'
import { resolveRoute } from './resolve-route.ts'
import type { RoutingCatalog } from './routing-catalog.ts'

interface RoutingServices extends RuleEndpointServices {
  readonly routingCatalog: RoutingCatalog
  /** Every provider that may be named in a rule or as a prefix. */
  readonly providers: ReadonlySet<string>
}

/** Where the request goes: the user's routing rules, else what it asks for; serves `/v1/routing-rules`. */
export function createRouting(services: RoutingServices): Plugin {
  const { routingCatalog: market, providers } = services
  return {
    name: 'routing',
    after: ['auth', 'plan'],
    options: compiledCacheOptions,
    setup(options, { operators, metrics }) {
      const compile = (rules: RuleSet) => compileRouting(rules, operators)
      const compiled = createCompiledCache(
        compile,
        options,
        ({ routing }) => routing.length,
        createLookupCounter(metrics, 'routing'),
      )
      return {
        decide(exchange) {
          const requested = parseRequestedModel(exchange.request.model, providers)
          const mode = requested.type === 'auto' ? requested.mode : 'balance'
          const input = buildRoutingInput(exchange.account, exchange.request, mode)
          const apply = (decision: RuleDecision) => {
            const { route, warnings, trace } = resolveRoute(requested, decision, exchange.preferences, market)
            exchange.request = decision.draft.request
            exchange.route = route
            exchange.warnings.push(...warnings)
            exchange.trace.push(...trace)
          }
          return chain(compiled(exchange.rules), (rules) => chain(evaluateRouting(rules, input), apply))
        },
        routes: (router) => addRuleRoutes(router, '/v1/routing-rules', services),
        conditions: builtInConditions,
        actions: createBuiltInActions(providers),
        openapi: routingPaths,
        errorBody,
      }
    },
  }
}

/** 400 on routing endpoints carries only a message (docs/api.md, "Errors"). */
function errorBody(error: GatewayError): JsonObject {
  return error.status === 400 ? { error: { message: error.message } } : errorEnvelope(error)
}
