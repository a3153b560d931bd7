import { type Exchange, GatewayError, type JsonObject, type Target } from '../../core/contract/index.ts'
import { fromKoaError } from '../../core/http/errors.ts'
import { CopyTarget } from '../ledger/index.ts'

/** Formats the decision with the fields of real responses and request records. */
export function showDecision(exchange: Exchange, error: GatewayError | undefined): JsonObject {
  return {
    outcome: error === undefined ? 'allowed' : 'refused',
    blocked_by: findBlockingRule(exchange),
    ...(error && { error: showSimulatedError(error) }),
    request: error === undefined ? exchange.request : null,
    warnings: exchange.warnings,
    rule_trace: exchange.trace,
    ...showRoute(exchange),
    rules_position: exchange.rulesPosition,
  }
}

function findBlockingRule({ trace }: Exchange): JsonObject | null {
  const entry = trace.find(({ kind, action }) => kind === 'firewall' && action === 'block')
  if (entry === undefined) return null
  const { rule_id, name, origin } = entry
  return { rule_id, name, ...(origin && { origin }) }
}

function showRoute(exchange: Exchange): JsonObject {
  const { route } = exchange
  const shadow = CopyTarget.of(exchange)
  return {
    routing_mode: route?.mode ?? null,
    routing_reason: route?.reason ?? null,
    routing_score: route?.score ?? null,
    routing_arm: route?.arm ?? null,
    targets: (route?.targets ?? []).map(showTarget),
    shadow: shadow === undefined ? null : showTarget(shadow),
  }
}

function showTarget({ provider, model }: Target): JsonObject {
  return { provider, model }
}

/** Returns the parts of an error that the caller of a simulation may see. */
export function showSimulatedError(thrown: unknown): JsonObject {
  const error = fromKoaError(thrown) ?? thrown
  if (!GatewayError.isInstance(error)) return { code: 'internal_error', http_status: 500 }
  const { code, status, message, details } = error
  const { param, meta } = details
  return { code, http_status: status, message, ...(param && { param }), ...(meta && { meta }) }
}
