import type { RecordedEvent } from '../../contract/event-log.ts'

/**
 * The leaf of an event: a JSON array of its stream, revision, type, data and metadata, with the fields in
 * their stored order and no white space. It does not contain the position, which changes when a log is
 * imported. See docs/decisions/evidence.md, "Leaves are what an event says, not where it is".
 */
export function encodeEventLeaf(event: RecordedEvent & { readonly [ENCODED_LEAF]?: string }): string {
  if (event[ENCODED_LEAF] !== undefined) return event[ENCODED_LEAF]
  const { stream, revision, type, data, metadata } = event
  return JSON.stringify([stream, revision, type, data, metadata])
}

/** The leaf of an event that a log has encoded already. */
export const ENCODED_LEAF = Symbol('encodedLeaf')
