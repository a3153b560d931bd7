import { GatewayError } from '../contract/index.ts'

/** What the client hears of a failure in the middle of a stream. */
export function toStreamError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  return new GatewayError('internal_error', 'The gateway failed in the middle of the answer.', {
    cause: error,
  })
}
