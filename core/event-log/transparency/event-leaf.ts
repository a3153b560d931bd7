import type { Position, RecordedEvent } from '../../contract/event-log.ts'
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

interface ReceivedLeaf {
  readonly position: Position
  readonly hash: Buffer
}

/** Leaves that are kept. Further ones are cheaper to read from the log than to keep. */
const MAX_LEAVES = 10_000

/**
 * Hashes events as a process receives them, so that a checkpoint need not read them again. See
 * docs/decisions/evidence.md, "Events are hashed when they are received".
 */
export class ReceivedLeaves {
  #after: Position
  #newest: Position
  #leaves: ReceivedLeaf[] = []

  /** `position` is that of the event before the first one that will be added. */
  constructor(position: Position) {
    this.#after = position
    this.#newest = position
  }

  /** All events behind this position, up to the newest one that was added, have their leaves here. */
  get after(): Position {
    return this.#after
  }

  /** An event that cannot be read is left to a read of the log, which reports it. */
  add(record: RecordedEvent): void {
    if (this.#leaves.length === MAX_LEAVES) this.take()
    this.#newest = record.position
    try {
      this.#leaves.push({ position: record.position, hash: hashEventLeaf(record) })
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error
      this.take()
    }
  }

  /** Returns the leaves in log order, and keeps none of them. */
  take(): readonly ReceivedLeaf[] {
    const leaves = this.#leaves
    this.#leaves = []
    this.#after = this.#newest
    return leaves
  }
}
