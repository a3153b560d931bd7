import { GatewayError, type JsonObject } from '../../core/contract/index.ts'
import { fromKoaError } from '../../core/http/errors.ts'

/** Returns the parts of an error that the caller of a simulation may see. */
export function showSimulatedError(thrown: unknown): JsonObject {
  const error = fromKoaError(thrown) ?? thrown
  if (!GatewayError.isInstance(error)) return { code: 'internal_error', http_status: 500 }
  const { code, status, message, details } = error
  const { param, meta } = details
  return { code, http_status: status, message, ...(param && { param }), ...(meta && { meta }) }
}
