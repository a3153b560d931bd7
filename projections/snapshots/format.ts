import { createHash } from 'node:crypto'
import type { RecordedEvent } from '../../core/contract/index.ts'
import { SCHEMA_VERSION } from '../../core/events/codec.ts'
import { EVENTS } from '../events/registry.ts'
import { type EventReference, toEventReference } from '../runtime/check-log.ts'
import type { SavedState } from '../runtime/projection.ts'

/**
 * Version of how projections fold events and save their state. Must be increased when either changes; a test
 * compares the saved state with a fixture.
 */
export const STATE_SHAPE = 11

/**
 * The first line of a snapshot: the shape of its state, and the log and its newest event, which it belongs
 * to. It is
 * followed by a line `#name` and the saved lines for each projection. The last line is the SHA-256 of all
 * bytes before it.
 */
export interface SnapshotHeader extends EventReference {
  readonly shape: string
  /** Id of the event log. */
  readonly log: string
}

/** The state at one position. Its lines are produced during iteration. */
export interface Snapshot {
  readonly header: SnapshotHeader
  readonly parts: readonly { readonly name: string; readonly lines: Iterable<string | Buffer> }[]
}

/** Takes a snapshot of the state after `newest`. Must be called before the next event is applied. */
export function takeSnapshot(
  log: string,
  newest: RecordedEvent,
  projections: readonly SavedState[],
): Snapshot {
  return {
    header: { shape: stateShape(), log, ...toEventReference(newest) },
    parts: projections.map((projection) => ({ name: projection.name, lines: projection.save() })),
  }
}

/**
 * Identifies the code that folded a state. Includes the known event types: code that did not know a type
 * skipped its events. See docs/decisions/event-log.md, "The known event types are part of a snapshot's
 * version".
 */
export function stateShape(): string {
  const facts = JSON.stringify([STATE_SHAPE, SCHEMA_VERSION, EVENTS.types])
  return createHash('sha256').update(facts).digest('hex').slice(0, 16)
}

/** Yields all lines after the header. Equal states yield equal lines. */
export function* snapshotLines({ parts }: Pick<Snapshot, 'parts'>): Generator<string | Buffer> {
  for (const { name, lines } of parts) {
    yield `#${name}`
    yield* lines
  }
}
