import type { JsonObject, RecordedEvent } from '../../core/contract/index.ts'
import { toActor } from '../../core/event-log/actor.ts'

/** The fields of every entry of an audit trail: when, who and why. */
export function showRecord({ position, metadata }: RecordedEvent): JsonObject {
  return {
    position,
    time: metadata.time,
    actor: toActor(metadata.actor),
    request_id: metadata.requestId ?? null,
    ...(metadata.reason !== undefined && { reason: metadata.reason }),
  }
}
