import {
  type Account,
  type Attempt,
  type Exchange,
  GatewayError,
  type JsonObject,
} from '../../core/contract/index.ts'
import { readKoaError } from '../../core/http/thrown-by-koa.ts'

/** What became of a request; no texts of it. */
export interface RequestRecord {
  readonly userId: Account['userId']
  readonly shown: JsonObject
}

/** Describes a request that has been answered, or refused with an error. */
export function recordRequest(exchange: Exchange, time: Date, error?: unknown): RequestRecord {
  const { route, target, attempts } = exchange
  return {
    userId: exchange.account.userId,
    shown: {
      x_request_id: exchange.id,
      time: time.toISOString(),
      outcome: error === undefined ? 'answered' : 'failed',
      ...(error !== undefined && { error: describeError(error) }),
      requested_model: exchange.request.model ?? null,
      routing_mode: route?.mode ?? null,
      routing_reason: route?.reason ?? null,
      provider: target?.provider ?? null,
      model: target?.model ?? null,
      attempts: attempts.map(showAttempt),
      rules_position: exchange.rulesPosition,
      rule_trace: exchange.trace,
      warnings: exchange.warnings,
    },
  }
}

function showAttempt({ target, outcome, ms }: Attempt): JsonObject {
  return { provider: target.provider, model: target.model, outcome, ms: Math.round(ms) }
}

/** Why a request was refused, for its owner to read. */
export function describeError(thrown: unknown): JsonObject {
  const error = readKoaError(thrown) ?? thrown
  if (!(error instanceof GatewayError)) return { code: 'internal_error', http_status: 500 }
  const { code, status, message, details } = error
  const { param, meta } = details
  return { code, http_status: status, message, ...(param && { param }), ...(meta && { meta }) }
}
