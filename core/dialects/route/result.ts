import { GatewayError, type JsonObject, type RepliedExchange, type Usage } from '../../contract/index.ts'
import { costOf } from '../../prices/cost.ts'
import { relatedId } from '../../util/ids.ts'
import { buildCompletionFromParts } from '../chat/completion.ts'

/** Builds a direct routing result (docs/api.md, "Direct routing result"). */
export function buildRouteResult(exchange: RepliedExchange): JsonObject {
  const { reply, target, route, usage, costUsd, startedAt, decoration } = exchange
  if (reply.type !== 'whole') {
    throw new GatewayError('internal_error', 'The exchange has no whole reply.')
  }
  const { created, model, choices, usage: completionUsage } = buildCompletionFromParts(reply.event.parts)
  const cost = costUsd ?? 0
  const { metadata, signalbox } = decoration?.last() ?? {}
  return {
    id: relatedId('tr_req_', exchange.id),
    object: 'chat.completion',
    created,
    model: model || (target?.model ?? ''),
    choices,
    usage: completionUsage,
    router_meta: {
      selected_provider: target?.provider ?? 'signalbox',
      selected_model: target?.model ?? model,
      routing_reason: route?.reason ?? 'A plugin answered the request.',
      cost_savings: formatSavings(cost, maxCandidateCost(exchange, usage)),
      response_time_ms: Math.round(performance.now() - startedAt),
      estimated_cost: cost,
      routing_score: route?.score ?? 1,
    },
    ...(decoration && { metadata, signalbox }),
  }
}

/** Returns what the most expensive candidate would have cost for the same usage, in USD. */
function maxCandidateCost({ route }: RepliedExchange, usage: Usage | undefined): number {
  const candidates = route?.candidates() ?? []
  return usage === undefined ? 0 : Math.max(0, ...candidates.map((model) => costOf(model, usage)))
}

/** Formats the savings as a percentage with one decimal, such as `87.5%`. */
function formatSavings(cost: number, maxCost: number): string {
  const share = maxCost > cost ? 1 - cost / maxCost : 0
  return `${(100 * share).toFixed(1)}%`
}
