import type { RecordedEvent } from '../../contract/event-log.ts'
import { encodeEventLeaf, joinStoredLeaf, type StoredLeaf } from '../transparency/event-leaf.ts'
import { HASH_BYTES, hashLeaf } from '../transparency/merkle-tree.ts'
import type { EventRow } from './worker-protocol.ts'

/** The text of a stored event was changed. */
export class UnreadableEventError extends Error {
  constructor([position, stream, revision]: EventRow, issue: string) {
    super(`Event ${revision} of ${stream}, at position ${position}, ${issue}.`)
    this.name = 'UnreadableEventError'
  }
}

/** Returns the hashes of the leaves of rows as they are stored, one after the other. */
export function hashRowLeaves(rows: readonly EventRow[]): Uint8Array {
  const hashes = new Uint8Array(rows.length * HASH_BYTES)
  for (const [index, [, stream, revision, type, data, metadata]] of rows.entries())
    hashes.set(hashLeaf(joinStoredLeaf({ stream, revision, type }, data, metadata)), index * HASH_BYTES)
  return hashes
}

/** The leaf of a row, whose hash the thread that has read it has computed. */
export class StoredRowLeaf implements StoredLeaf {
  readonly hash: Buffer
  readonly #row: EventRow

  constructor(row: EventRow, hash: Buffer) {
    this.hash = hash
    this.#row = row
  }

  requireAsWritten(event: RecordedEvent): void {
    const [, , , , data, metadata] = this.#row
    if (encodeEventLeaf(event) !== joinStoredLeaf(event, data, metadata))
      throw new UnreadableEventError(this.#row, 'is not stored as it was written')
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
