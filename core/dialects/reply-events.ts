import { type Exchange, GatewayError, type ReplyEvent } from '../contract/index.ts'

/** Keeps the usage that an event tells; true when the event is the reply's finish. */
export function recordUsage(exchange: Exchange, { parts }: ReplyEvent): boolean {
  let finishes = false
  for (const part of parts) {
    if (part.type === 'usage') exchange.usage = part.usage
    else if (part.type === 'finish') finishes = true
  }
  return finishes
}

/** What the client hears of a failure in the middle of a stream. */
export function toStreamError(error: unknown): GatewayError {
  if (GatewayError.isInstance(error)) return error
  return new GatewayError('internal_error', 'The gateway failed in the middle of the answer.', {
    cause: error,
  })
}
