import { GatewayError, type RepliedExchange } from '../contract/index.ts'

/**
 * Records why a reply failed after it had started, and returns the error for the client. An error that was
 * recorded before stays: it is the cause.
 */
export function recordReplyError(exchange: RepliedExchange, error: unknown): GatewayError {
  const state: { -readonly [Field in 'error']?: RepliedExchange[Field] } = exchange
  state.error ??= toStreamError(error)
  return state.error
}

/** Converts any error to the `GatewayError` that ends a response. The original error becomes its `cause`. */
export function toStreamError(error: unknown): GatewayError {
  if (GatewayError.isInstance(error)) return error
  const message = 'The gateway failed before the response was complete.'
  return new GatewayError('internal_error', message, { cause: error })
}
