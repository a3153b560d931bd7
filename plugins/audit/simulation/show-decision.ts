import type { Exchange, GatewayError, JsonObject, Route } from '../../../core/contract/index.ts'
import { describeError } from '../../trace/record.ts'

/** What became of a simulated request, in the words of real answers and of the records of requests. */
export function showDecision(exchange: Exchange, refusal: GatewayError | undefined): JsonObject {
  return {
    outcome: refusal === undefined ? 'allowed' : 'refused',
    blocked_by: findBlock(exchange),
    ...(refusal && { error: describeError(refusal) }),
    request: refusal === undefined ? exchange.request : null,
    warnings: exchange.warnings,
    rule_trace: exchange.trace,
    ...showRoute(exchange.route),
    rules_position: exchange.rulesPosition,
  }
}

function findBlock({ trace }: Exchange): JsonObject | null {
  const entry = trace.find(({ kind, action }) => kind === 'firewall' && action === 'block')
  return entry === undefined ? null : { rule_id: entry.rule_id, name: entry.name }
}

function showRoute(route: Route | undefined): JsonObject {
  return {
    routing_mode: route?.mode ?? null,
    routing_reason: route?.reason ?? null,
    routing_score: route?.score ?? null,
    targets: (route?.targets ?? []).map(({ provider, model }) => ({ provider, model })),
  }
}
