import { createCompiledCache } from '../../core/compiled-cache.ts'
import type { GatewayError, JsonObject, Plugin } from '../../core/contract/index.ts'
import { envelope } from '../../core/http/answer-errors.ts'
import type { RuleServices } from '../rules/commands.ts'
import { addRuleRoutes } from '../rules/endpoints.ts'
import { compileRouting, evaluateRouting } from './evaluate.ts'
import { readInput } from './input.ts'
import { createRoutingKind } from './kind.ts'
import { readRequested } from './requested.ts'
import { type Market, resolveRoute } from './resolve.ts'

export interface RoutingServices extends RuleServices {
  readonly market: Market
  /** Every provider that may be named in a rule or as a prefix. */
  readonly providers: ReadonlySet<string>
}

/** Where the request goes: the user's routing rules, else what it asks for; serves `/v1/routing-rules`. */
export function createRouting(services: RoutingServices): Plugin {
  const { market, providers } = services
  return {
    name: 'routing',
    after: ['auth', 'plan'],
    options: {
      type: 'object',
      additionalProperties: false,
      properties: { cached_users: { type: 'integer', minimum: 1, default: 1000 } },
    },
    setup(options) {
      const compiled = createCompiledCache(compileRouting, Number(options.cached_users ?? 1000))
      return {
        async middleware({ exchange }, next) {
          const requested = readRequested(exchange.request.model, providers)
          const mode = requested.type === 'auto' ? requested.mode : 'balance'
          const decision = evaluateRouting(compiled(exchange.rules), readInput(exchange.request, mode))
          const { route, warnings, trace } = resolveRoute(requested, decision, exchange.request, market)
          exchange.route = route
          exchange.warnings.push(...warnings)
          exchange.trace.push(...trace)
          await next()
        },
        routes: (router) => addRuleRoutes(router, createRoutingKind(providers), services),
        errorBody,
      }
    },
  }
}

/** 400 on routing endpoints carries only a message (interface: "Errors"). */
function errorBody(error: GatewayError): JsonObject {
  return error.status === 400 ? { error: { message: error.message } } : envelope(error)
}
