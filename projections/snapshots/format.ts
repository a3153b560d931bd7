import { createHash } from 'node:crypto'
import type { Position, RecordedEvent } from '../../core/contract/index.ts'
import { EVENT_TYPES, SCHEMA_VERSION } from '../../core/events/codec.ts'
import type { SavedProjection } from '../runtime/projection.ts'

/**
 * Version of how projections fold events and save their state. Must be increased when either changes; a test
 * compares the saved state with a fixture.
 */
export const STATE_SHAPE = 1

/**
 * The first line of a snapshot: the shape of its state, and the newest event, which ties it to a log. It is
 * followed by a line `#name` and the saved lines for each projection. The last line is the SHA-256 of all
 * bytes before it.
 */
export interface SnapshotHeader {
  readonly shape: string
  readonly position: Position
  readonly stream: string
  readonly revision: number
  /** SHA-256 of the event, in hex. */
  readonly event: string
}

/** The state at one position. Its lines are produced during iteration. */
export interface Snapshot {
  readonly header: SnapshotHeader
  readonly parts: readonly { readonly name: string; readonly lines: Iterable<string | Buffer> }[]
}

/** Takes a snapshot of the state after `newest`. Must be called before the next event is applied. */
export function takeSnapshot(newest: RecordedEvent, projections: readonly SavedProjection[]): Snapshot {
  const { position, stream, revision } = newest
  return {
    header: { shape: stateShape(), position, stream, revision, event: hashEvent(newest) },
    parts: projections.map((projection) => ({ name: projection.name, lines: projection.save() })),
  }
}

/**
 * Identifies the code that folded a state. Includes the known event types: code that did not know a type
 * skipped its events. See docs/decisions/event-log.md, "The known event types are part of a snapshot's
 * version".
 */
export function stateShape(): string {
  const facts = JSON.stringify([STATE_SHAPE, SCHEMA_VERSION, EVENT_TYPES.toSorted()])
  return createHash('sha256').update(facts).digest('hex').slice(0, 16)
}

export function hashEvent({ stream, revision, type, data, metadata }: RecordedEvent): string {
  return createHash('sha256')
    .update(JSON.stringify([stream, revision, type, data, metadata]))
    .digest('hex')
}

/** Yields all lines after the header. Equal states yield equal lines. */
export function* snapshotLines({ parts }: Pick<Snapshot, 'parts'>): Generator<string | Buffer> {
  for (const { name, lines } of parts) {
    yield `#${name}`
    yield* lines
  }
}
