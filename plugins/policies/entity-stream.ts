import type { Author, GatewayError } from '../../core/contract/index.ts'
import { type Precondition, revisionEtag } from '../../core/http/conditional.ts'
import type { AppliedChange } from '../../core/http/idempotency.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import type { History } from '../../projections/history.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import type { EventEntry } from '../../projections/user-rules.ts'

/** Groups or policies: each has a stream of its own, and a revision. */
interface EntityKind<Entity, Event extends DomainEvent> {
  /** In messages: `group`. */
  readonly name: string
  find(id: number): Entity | undefined
  stream(id: number): string
  /** Revision of the stream; -1 before its first event. */
  streamRevision(id: number): number
  evolve(before: Entity | undefined, event: Event, entry: EventEntry): Entity | undefined
  notFound(id: string): GatewayError
}

interface StreamServices {
  readonly writer: EventWriter
  readonly history: Pick<History, 'eventsOfChange'>
}

/** Reads and writes the entities of one kind. */
export interface EntityStream<Entity, Event extends DomainEvent> {
  /** Throws 404. */
  require(id: number): Entity
  /** Throws 404, and 412 if the revision of the entity is not expected. */
  requireRevision(id: number, expected: Precondition): Entity
  /** Writes the event that `decide` returns for the current entity, if any. Returns the entity after it. */
  write(id: number, decide: () => Event | undefined, author: Author): Promise<Entity | undefined>
  /** Returns the entity that a request with an `Idempotency-Key` created before, as it was then. */
  created(change: AppliedChange, type: Event['type']): Promise<Entity>
}

export function createEntityStream<Entity extends { readonly revision: number }, Event extends DomainEvent>(
  kind: EntityKind<Entity, Event>,
  { writer, history }: StreamServices,
): EntityStream<Entity, Event> {
  function requireEntity(id: number): Entity {
    const entity = kind.find(id)
    if (entity === undefined) throw kind.notFound(String(id))
    return entity
  }

  return {
    require: requireEntity,
    requireRevision(id, expected) {
      const entity = requireEntity(id)
      expected(revisionEtag(entity.revision), kind.name)
      return entity
    },
    async write(id, decide, author) {
      let before: Entity | undefined
      let event: Event | undefined
      const command = {
        stream: kind.stream(id),
        revision: () => kind.streamRevision(id),
        decide() {
          before = kind.find(id)
          event = decide()
          return event === undefined ? [] : [event]
        },
      }
      const written = await answerInTime(writer.write(command, author))
      if (written === undefined || event === undefined) return before
      const { revision, position, time } = written
      return kind.evolve(before, event, { revision, position, metadata: { time } })
    },
    async created(change, type) {
      const [first] = await history.eventsOfChange(change)
      if (first?.event?.type === type) {
        // The cast is safe: the type tells the event.
        const entity = kind.evolve(undefined, first.event as Event, first.record)
        if (entity !== undefined) return entity
      }
      throw new Error(`the events of stream ${change.stream} cannot be decoded`)
    },
  }
}
