import type { Decoration, JsonObject, Plugin, RepliedExchange } from '../../core/contract/index.ts'

/**
 * Adds provider, model, mode, latency and warnings to every response
 * (docs/api.md, "Metadata and warnings").
 */
export function createDecorate(): Plugin {
  return {
    name: 'decorate',
    after: ['dispatch'],
    setup: () => ({
      inspect(exchange) {
        exchange.decoration = buildDecoration(exchange)
        return undefined
      },
    }),
  }
}

/** The provider shown if a plugin answered the request itself. */
const NO_PROVIDER = 'signalbox'

function buildDecoration(exchange: RepliedExchange): Decoration {
  const provider = exchange.target?.provider ?? NO_PROVIDER
  const routing_mode = exchange.route?.mode ?? 'balance'
  const includesTrace = String(exchange.headers['x-include-trace']).toLowerCase() === 'true'
  const first = () => ({
    provider,
    routing_mode,
    x_request_id: exchange.id,
    metadata: buildMetadata(exchange, includesTrace),
  })
  return {
    headers: [
      ['x-provider', provider],
      ['x-model', exchange.target?.model ?? exchange.request.model ?? ''],
      ['x-routing-mode', routing_mode],
    ],
    first,
    last: () => ({ ...first(), latency_ms: Math.round(performance.now() - exchange.startedAt) }),
  }
}

function buildMetadata(exchange: RepliedExchange, includesTrace: boolean): JsonObject {
  const { warnings, trace, rulesPosition } = exchange
  return {
    rules_position: rulesPosition,
    ...(warnings.length > 0 && { warnings }),
    ...(includesTrace && { rule_trace: trace }),
  }
}
