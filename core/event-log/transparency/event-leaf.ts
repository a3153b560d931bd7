import type { RecordedEvent } from '../../contract/event-log.ts'
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
  return storedLeafOf(event)?.hash ?? hashLeaf(encodeEventLeaf(event))
}

/** The leaf of an event whose data and metadata are stored as text, if the text is as it was written. */
export function joinStoredLeaf(
  { stream, revision, type }: Pick<RecordedEvent, 'stream' | 'revision' | 'type'>,
  data: string,
  metadata: string,
): string {
  return `[${JSON.stringify(stream)},${revision},${JSON.stringify(type)},${data},${metadata}]`
}

/**
 * What a log knows of the leaf of an event that it has read for a verification. See
 * docs/decisions/evidence.md, "A verification hashes what is stored".
 */
export interface StoredLeaf {
  /** The hash of the leaf with the texts that are stored, whatever they look like. */
  readonly hash: Buffer
  /** Throws if the texts are not as they were written, even if they mean the same. */
  requireAsWritten(event: RecordedEvent): void
}

const STORED_LEAF = Symbol('storedLeaf')

export function withStoredLeaf(event: RecordedEvent, leaf: StoredLeaf): RecordedEvent {
  return Object.assign(event, { [STORED_LEAF]: leaf })
}

/** Returns undefined if the log has read the event for another purpose, or keeps no texts. */
export function storedLeafOf(event: RecordedEvent & { [STORED_LEAF]?: StoredLeaf }): StoredLeaf | undefined {
  return event[STORED_LEAF]
}
