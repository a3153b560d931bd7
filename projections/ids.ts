import type { RecordedEvent } from '../core/contract/index.ts'
import type { DomainEvent } from '../core/events/codec.ts'

/** Which numbers are taken for users and rules. */
export interface Ids {
  apply(event: DomainEvent, record: RecordedEvent): void
  /** The lowest number that was never handed out. */
  next(): number
  /** Revision of the stream `ids`; -1 before the first number. */
  revision(): number
}

export function createIds(): Ids {
  let next = 1
  let revision = -1
  return {
    apply(event, record) {
      if (event.type !== 'IdsReserved') return
      next = Math.max(next, event.data.first + event.data.count)
      revision = record.revision
    },
    next: () => next,
    revision: () => revision,
  }
}
