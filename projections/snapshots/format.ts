import { createHash } from 'node:crypto'
import type { Position, RecordedEvent } from '../../core/contract/index.ts'
import { EVENT_TYPES, SCHEMA_VERSION } from '../../core/events/codec.ts'
import type { SavedProjection } from '../projection.ts'

/** Counts the ways in which projections were folded and saved. A test tells when a change here or there needs a new one. */
export const STATE_SHAPE = 1

/**
 * The first line of a snapshot: what its state was folded by, and the newest event in it, which ties it to a log.
 * Each projection follows with a line `#name` and its own lines; the last line is the SHA-256 of all bytes before it.
 */
export interface SnapshotHeader {
  readonly shape: string
  readonly position: Position
  readonly stream: string
  readonly revision: number
  /** SHA-256 of the event, hex. */
  readonly event: string
}

/** A state at one position, with lines that are made while they are taken. */
export interface Snapshot {
  readonly header: SnapshotHeader
  readonly parts: readonly { readonly name: string; readonly lines: Iterable<string | Buffer> }[]
}

/** The state right after `newest` was applied; to be called before anything else is. */
export function takeSnapshot(newest: RecordedEvent, projections: readonly SavedProjection[]): Snapshot {
  const { position, stream, revision } = newest
  return {
    header: { shape: stateShape(), position, stream, revision, event: hashEvent(newest) },
    parts: projections.map((projection) => ({ name: projection.name, lines: projection.save() })),
  }
}

/** Tells states apart that were folded by other code: a type of event that is new to this code was skipped by the code before. */
export function stateShape(): string {
  const facts = JSON.stringify([STATE_SHAPE, SCHEMA_VERSION, EVENT_TYPES.toSorted()])
  return createHash('sha256').update(facts).digest('hex').slice(0, 16)
}

export function hashEvent({ stream, revision, type, data, metadata }: RecordedEvent): string {
  return createHash('sha256')
    .update(JSON.stringify([stream, revision, type, data, metadata]))
    .digest('hex')
}

/** Everything after the first line, line by line; the same for the same state. */
export function* snapshotLines({ parts }: Pick<Snapshot, 'parts'>): Generator<string | Buffer> {
  for (const { name, lines } of parts) {
    yield `#${name}`
    yield* lines
  }
}
