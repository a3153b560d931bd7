import { type Exchange, GatewayError, type JsonObject, type Usage } from '../../contract/index.ts'
import { costOf } from '../../util/cost.ts'
import { relatedId } from '../../util/ids.ts'
import { buildCompletionFromParts } from '../chat/completion.ts'

/** A direct routing result (docs/api.md, "Direct routing result"). */
export function buildRouteResult(exchange: Exchange): JsonObject {
  const { reply, target, route, usage, startedAt, decoration } = exchange
  if (reply?.type !== 'whole' || target === undefined || route === undefined) {
    throw new GatewayError('internal_error', 'There is no reply to write.')
  }
  const { created, model, choices, usage: tokens } = buildCompletionFromParts(reply.event.parts)
  const cost = target.entry && usage ? costOf(target.entry, usage) : 0
  return {
    id: relatedId('tr_req_', exchange.id),
    object: 'chat.completion',
    created,
    model: model || target.model,
    choices,
    usage: tokens,
    router_meta: {
      selected_provider: target.provider,
      selected_model: target.model,
      routing_reason: route.reason,
      cost_savings: savings(cost, dearest(exchange, usage)),
      response_time_ms: Math.round(performance.now() - startedAt),
      estimated_cost: Number(cost.toPrecision(12)),
      routing_score: route.score,
    },
    ...(decoration && { metadata: decoration.first.metadata }),
  }
}

/** What the dearest candidate would have cost for the same usage. */
function dearest({ route }: Exchange, usage: Usage | undefined): number {
  const candidates = route?.candidates() ?? []
  return usage === undefined ? 0 : Math.max(0, ...candidates.map((model) => costOf(model, usage)))
}

/** A percentage with one decimal, such as `87.5%`. */
function savings(cost: number, most: number): string {
  const share = most > cost ? 1 - cost / most : 0
  return `${(100 * share).toFixed(1)}%`
}
