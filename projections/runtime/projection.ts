import type { RecordedEvent } from '../../core/contract/index.ts'
import { classifyContent } from '../../core/events/codec.ts'
import { isPluginStream } from '../../core/events/plugin-events.ts'
import { type DomainEvent, decodeEvent, isWellFormed } from '../events/registry.ts'

/** A state that is folded from events. */
export interface Projection {
  /** Applies one event. Ignores events that do not concern the projection. */
  apply(event: DomainEvent, record: RecordedEvent): void
}

/** A projection that can be saved in a snapshot and loaded from it. */
export interface SavedProjection extends Projection, SavedState {}

/** State that can be saved in a snapshot and loaded from it. */
export interface SavedState {
  /** Identifies the projection's part of a snapshot. */
  readonly name: string
  /**
   * Yields the state at the time of the call as lines of JSON. Events applied during iteration do not affect
   * them.
   */
  save(): Iterable<string>
  /**
   * Loads a saved state. Must be called before the first event. The lines may be retained and must not be
   * modified.
   */
  load(lines: Iterable<Buffer>): void
}

/** What an event is to this version: applied, of a newer version, not one of Signalbox, or not even JSON. */
export type EventKind = 'applied' | 'newer' | 'foreign' | 'unreadable'

/** An event whose kind is known. Those of plugins are not for projections, and count as applied. */
export interface ParsedRecord {
  readonly record: RecordedEvent
  readonly kind: EventKind
  /** What projections apply; undefined if there is nothing to apply. */
  readonly event?: DomainEvent
}

/** Parses an event before it is applied: applying many events that were parsed takes little time. */
export function parseRecord(record: RecordedEvent): ParsedRecord {
  const content = classifyContent(record)
  if (content !== 'own') return { record, kind: content }
  if (isPluginStream(record.stream)) return { record, kind: 'applied' }
  const event = decodeEvent(record)
  if (event === undefined) return { record, kind: 'newer' }
  return isWellFormed(event, record) ? { record, kind: 'applied', event } : { record, kind: 'foreign' }
}

export function applyParsed(projections: readonly Projection[], { record, event }: ParsedRecord): void {
  if (event !== undefined) for (const projection of projections) projection.apply(event, record)
}

/** Applies a recorded event to all projections. */
export function applyRecord(projections: readonly Projection[], record: RecordedEvent): EventKind {
  const parsed = parseRecord(record)
  applyParsed(projections, parsed)
  return parsed.kind
}
