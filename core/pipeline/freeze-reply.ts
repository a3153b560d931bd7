import type { Reply, ReplyEvent } from '../contract/index.ts'
import { TEXT_RUN } from '../contract/native-records.ts'
import { mapBatches, type WaitForBatch } from './map-batches.ts'

/**
 * Freezes an event for a plugin package. Clients of the provider's format get its own record as long as an
 * event is unchanged, so parts that were changed in place would not reach them. Runs freeze their parts
 * themselves.
 */
export function freezeEvent(event: ReplyEvent): ReplyEvent {
  if (event[TEXT_RUN] !== undefined) return event
  for (const part of event.parts) Object.freeze(part)
  Object.freeze(event.parts)
  return Object.freeze(event)
}

/** Freezes the events of a reply; those of a stream when they arrive, for which `wait` waits. */
export function freezeReply(reply: Reply, wait: WaitForBatch): Reply {
  if (reply.type === 'whole') return { type: 'whole', event: freezeEvent(reply.event) }
  const freezeBatch = (batch: readonly ReplyEvent[]) => {
    for (const event of batch) freezeEvent(event)
    return batch
  }
  return { type: 'stream', batches: mapBatches(reply.batches, freezeBatch, wait) }
}
