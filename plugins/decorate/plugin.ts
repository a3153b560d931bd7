import type { Decoration, Exchange, JsonObject, Plugin } from '../../core/contract/index.ts'

/** Says on every answer how it came about: provider, model, mode, latency, warnings (docs/api.md, "Metadata and warnings"). */
export function createDecorate(): Plugin {
  return {
    name: 'decorate',
    after: ['dispatch'],
    setup: () => ({
      middleware(ctx, next) {
        const wantsTrace = String(ctx.headers['x-include-trace']).toLowerCase() === 'true'
        ctx.exchange.decoration = decorationOf(ctx.exchange, wantsTrace)
        return next()
      },
    }),
  }
}

function decorationOf(exchange: Exchange, wantsTrace: boolean): Decoration {
  const provider = exchange.target?.provider ?? ''
  const routing_mode = exchange.route?.mode ?? 'balance'
  const first = {
    provider,
    routing_mode,
    x_request_id: exchange.id,
    metadata: metadataOf(exchange, wantsTrace),
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

function metadataOf({ warnings, trace, rulesPosition }: Exchange, wantsTrace: boolean): JsonObject {
  return {
    rules_position: rulesPosition,
    ...(warnings.length > 0 && { warnings }),
    ...(wantsTrace && { rule_trace: trace }),
  }
}
