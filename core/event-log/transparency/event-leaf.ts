import type { RecordedEvent } from '../../contract/event-log.ts'
import { StoredEvent, UnreadableEventError } from '../stored-event.ts'
import { hashLeaf } from './merkle-tree.ts'

/**
 * The leaf of an event: a JSON array of its stream, revision, type, data and metadata, with the fields in
 * their stored order and no white space. It does not contain the position, which changes when a log is
 * imported. See docs/decisions/evidence.md, "Leaves are what an event says, not where it is".
 */
export function encodeEventLeaf({ stream, revision, type, data, metadata }: RecordedEvent): string {
  return JSON.stringify([stream, revision, type, data, metadata])
}

/**
 * The hash of an event's leaf: of its texts as they are stored if the log has read it for a verification, and
 * of its values otherwise.
 */
export function hashEventLeaf(event: RecordedEvent): Buffer {
  const stored = event instanceof StoredEvent ? event.leafHash : undefined
  return stored ?? hashLeaf(encodeEventLeaf(event))
}

/**
 * Throws an `UnreadableEventError` if the texts of a stored event are not as they were written, even if they
 * mean the same. See docs/decisions/evidence.md, "A verification hashes what is stored".
 */
export function requireAsWritten(event: RecordedEvent): void {
  if (event instanceof StoredEvent && encodeEventLeaf(event) !== event.leafText())
    throw new UnreadableEventError(event, 'is not stored as it was written')
}
