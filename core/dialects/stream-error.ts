import { GatewayError } from '../contract/index.ts'

/** Converts any error to the `GatewayError` that ends a response. The original error becomes its `cause`. */
export function toStreamError(error: unknown): GatewayError {
  if (GatewayError.isInstance(error)) return error
  const message = 'The gateway failed before the response was complete.'
  return new GatewayError('internal_error', message, { cause: error })
}
