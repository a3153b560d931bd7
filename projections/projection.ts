import type { RecordedEvent } from '../core/contract/index.ts'
import type { DomainEvent } from '../core/events/codec.ts'

/** A state that is folded from events. */
export interface Projection {
  /** Applies one event; events about something else are passed over. */
  apply(event: DomainEvent, record: RecordedEvent): void
}

/** A projection whose state can be written down and read back. */
export interface SavedProjection extends Projection {
  /** What its part of a snapshot is called. */
  readonly name: string
  /** The state at the moment of the call as lines of JSON, made while they are taken. Events that come meanwhile do not show. */
  save(): Iterable<string>
  /** Takes over the state in these lines; only before the first event. The lines may be kept: nobody may change them. */
  load(lines: Iterable<Buffer>): void
}
