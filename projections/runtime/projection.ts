import type { RecordedEvent } from '../../core/contract/index.ts'
import type { DomainEvent } from '../../core/events/codec.ts'

/** A state that is folded from events. */
export interface Projection {
  /** Applies one event. Ignores events that do not concern the projection. */
  apply(event: DomainEvent, record: RecordedEvent): void
}

/** A projection that can be saved in a snapshot and loaded from it. */
export interface SavedProjection extends Projection {
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
