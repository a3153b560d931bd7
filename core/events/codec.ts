import type { Author, EventMetadata, ExpectedRevision, NewEvent, RecordedEvent } from '../contract/index.ts'
import type { RuleEvent } from './domain-events.ts'
import type { RouterEvent } from './router-events.ts'

/** The domain events that are not declared by `defineEvent` yet, discriminated by `type`. */
export type DomainEvent = RuleEvent | RouterEvent

/** Version of the event shapes that this code writes. Readers skip newer ones. */
export const SCHEMA_VERSION = 1

const TYPES: Readonly<Record<DomainEvent['type'], true>> = {
  RoutingRuleCreated: true,
  RoutingRuleUpdated: true,
  RoutingRuleDeleted: true,
  FirewallRuleCreated: true,
  FirewallRuleUpdated: true,
  FirewallRuleDeleted: true,
  RouterTrained: true,
  RouterActivated: true,
  RouterRolledBack: true,
}

/** The types of all events that this code can decode. */
export const EVENT_TYPES: readonly string[] = Object.keys(TYPES)

/** Converts a domain event to the form that the log stores. */
export function encodeEvent(event: NewEvent): NewEvent {
  return { type: event.type, data: event.data }
}

/** Builds the metadata of events that the author writes at `time`, in shapes of version `schema`. */
export function createMetadata(
  { actor, requestId, reason, idempotency }: Author,
  time: string,
  schema = SCHEMA_VERSION,
): EventMetadata {
  return {
    actor,
    time,
    schema,
    ...(requestId && { requestId }),
    ...(reason && { reason }),
    ...(idempotency && { idempotency }),
  }
}

/** Notes in the metadata of an append of several events which is the last one, if its revision is known. */
export function markAppend(
  metadata: EventMetadata,
  { expectedRevision, events }: { readonly expectedRevision: ExpectedRevision; readonly events: number },
): EventMetadata {
  if (events === 1 || expectedRevision === 'any') return metadata
  return { ...metadata, lastRevision: expectedRevision + events }
}

/** Returns undefined for a type or schema version that only a newer version of Signalbox knows. */
export function decodeEvent({ type, data, metadata }: RecordedEvent): DomainEvent | undefined {
  if (metadata.schema > SCHEMA_VERSION || !Object.hasOwn(TYPES, type)) return undefined
  // Safe: the schema version identifies the shape.
  return { type, data } as unknown as DomainEvent
}
