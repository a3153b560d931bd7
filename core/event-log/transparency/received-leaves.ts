import type { Position, RecordedEvent } from '../../contract/event-log.ts'
import { UnreadableEventError } from '../stored-event.ts'
import { hashEventLeaf } from './event-leaf.ts'

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
