import type { RecordedEvent } from '../../contract/event-log.ts'
import { UnreadableEventError } from '../stored-event.ts'
import type { EventRow } from './worker-protocol.ts'

/** Throws an `UnreadableEventError`. */
export function parseEventRow(row: EventRow): RecordedEvent {
  const [position, stream, revision, type, data, metadata] = row
  try {
    // Both texts were serialized by `append` from values of these types.
    return { position, stream, revision, type, data: JSON.parse(data), metadata: JSON.parse(metadata) }
  } catch {
    throw new UnreadableEventError({ position, stream, revision }, 'is not valid JSON')
  }
}
