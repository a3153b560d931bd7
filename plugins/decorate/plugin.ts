import type { Decoration, Exchange, JsonObject, Plugin } from '../../core/contract/index.ts'

/**
 * Adds provider, model, mode, latency and warnings to every response
 * (docs/api.md, "Metadata and warnings").
 */
export function createDecorate(): Plugin {
  return {
    name: 'decorate',
    after: ['dispatch'],
    setup: () => ({
      middleware(ctx, next) {
        const includesTrace = String(ctx.headers['x-include-trace']).toLowerCase() === 'true'
        ctx.exchange.decoration = buildDecoration(ctx.exchange, includesTrace)
        return next()
      },
    }),
  }
}

function buildDecoration(exchange: Exchange, includesTrace: boolean): Decoration {
  const provider = exchange.target?.provider ?? ''
  const routing_mode = exchange.route?.mode ?? 'balance'
  const first = {
    provider,
    routing_mode,
    x_request_id: exchange.id,
    metadata: buildMetadata(exchange, includesTrace),
  }
  return {
    headers: [
      ['x-provider', provider],
      ['x-model', exchange.target?.model ?? ''],
      ['x-routing-mode', routing_mode],
    ],
    first,
    last: () => ({ ...first, latency_ms: Math.round(performance.now() - exchange.startedAt) }),
  }
}

function buildMetadata({ warnings, trace, rulesPosition }: Exchange, includesTrace: boolean): JsonObject {
  return {
    rules_position: rulesPosition,
    ...(warnings.length > 0 && { warnings }),
    ...(includesTrace && { rule_trace: trace }),
  }
}
