import { type Exchange, GatewayError, type ReplyEvent } from '../contract/index.ts'

/** Records the usage that an event reports on the exchange. Returns true if the event finishes the reply. */
export function recordUsage(exchange: Exchange, { parts }: ReplyEvent): boolean {
  let isFinish = false
  for (const part of parts) {
    if (part.type === 'usage') exchange.usage = part.usage
    else if (part.type === 'finish') isFinish = true
  }
  return isFinish
}

/** Converts any error to the `GatewayError` that ends a response. The original error becomes its `cause`. */
export function toStreamError(error: unknown): GatewayError {
  if (GatewayError.isInstance(error)) return error
  const message = 'The gateway failed before the response was complete.'
  return new GatewayError('internal_error', message, { cause: error })
}
