import type { EventMetadata, NewEvent, RecordedEvent } from '../contract/index.ts'
import type { IdEvent } from './ids.ts'
import type { RuleEvent } from './rules.ts'
import type { UserEvent } from './users.ts'

/** Everything that can happen, as one union by `type`. */
export type DomainEvent = UserEvent | RuleEvent | IdEvent

/** Version of the event shapes that this code writes. A reader of another version upcasts or skips. */
export const SCHEMA = 1

const TYPES: Readonly<Record<DomainEvent['type'], true>> = {
  UserCreated: true,
  PlanChanged: true,
  KeyIssued: true,
  KeyRevoked: true,
  RoutingRuleCreated: true,
  RoutingRuleUpdated: true,
  RoutingRuleDeleted: true,
  FirewallRuleCreated: true,
  FirewallRuleUpdated: true,
  FirewallRuleDeleted: true,
  IdsReserved: true,
}

/** A domain event as the log takes it. */
export function encodeEvent(event: DomainEvent): NewEvent {
  return { type: event.type, data: event.data }
}

/** Metadata of a write by `actor` at `time`. */
export function describeWrite(actor: string, time: string, requestId?: string): EventMetadata {
  return { actor, time, schema: SCHEMA, ...(requestId !== undefined && { requestId }) }
}

/** The domain event in a record, or undefined for a type or shape that only a newer node knows. */
export function decodeEvent(record: RecordedEvent): DomainEvent | undefined {
  if (!Object.hasOwn(TYPES, record.type) || record.metadata.schema > SCHEMA) return undefined
  // The cast is safe: only encodeEvent writes these types, and the schema version says in which shape.
  return { type: record.type, data: record.data } as unknown as DomainEvent
}
