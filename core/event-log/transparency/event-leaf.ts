import type { RecordedEvent } from '../../contract/event-log.ts'

/**
 * The leaf of an event: a JSON array of its stream, revision, type, data and metadata, with the fields in
 * their stored order and no white space. It does not contain the position, which changes when a log is
 * imported. See docs/decisions/evidence.md, "Leaves are what an event says, not where it is".
 */
export function encodeEventLeaf({ stream, revision, type, data, metadata }: RecordedEvent): string {
  return JSON.stringify([stream, revision, type, data, metadata])
}
