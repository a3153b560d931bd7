import type { ReplyEvent, ReplyPart } from '../core/contract/reply.ts'

/** What a record says as an event; none where it says nothing. */
export function eventsOf(parts: readonly ReplyPart[]): readonly ReplyEvent[] {
  return parts.length === 0 ? [] : [{ parts }]
}
