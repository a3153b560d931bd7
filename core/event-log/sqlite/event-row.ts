import type { RecordedEvent } from '../../contract/event-log.ts'
import type { EventRow } from './worker-protocol.ts'

/** The text of a stored event was changed. */
export class UnreadableEventError extends Error {
  constructor([position, stream, revision]: EventRow, issue: string) {
    super(`Event ${revision} of ${stream}, at position ${position}, ${issue}.`)
    this.name = 'UnreadableEventError'
  }
}

/** Throws an `UnreadableEventError`. */
export function parseEventRow(row: EventRow): RecordedEvent {
  const [position, stream, revision, type, data, metadata] = row
  try {
    // Both texts were serialized by `append` from values of these types.
    return { position, stream, revision, type, data: JSON.parse(data), metadata: JSON.parse(metadata) }
  } catch {
    throw new UnreadableEventError(row, 'is not valid JSON')
  }
}
