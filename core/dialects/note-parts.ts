import type { Exchange, ReplyEvent } from '../contract/index.ts'

/** Keeps the usage that an event tells; true when the event is the reply's finish. */
export function noteReply(exchange: Exchange, { parts }: ReplyEvent): boolean {
  let finishes = false
  for (const part of parts) {
    if (part.type === 'usage') exchange.usage = part.usage
    else if (part.type === 'finish') finishes = true
  }
  return finishes
}
