import type { EventMetadata, NewEvent, RecordedEvent, Upcasts } from '../contract/index.ts'
import type { IdEvent, RuleEvent, UserEvent } from './domain-events.ts'

/** Everything that can happen, as one union by `type`. */
export type DomainEvent = UserEvent | RuleEvent | IdEvent

/** Version of the event shapes that this code writes. A reader of another version upcasts or skips. */
export const SCHEMA_VERSION = 1

const TYPES: Readonly<Record<DomainEvent['type'], true>> = {
  UserCreated: true,
  PlanChanged: true,
  RequestLimitChanged: true,
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

/** Metadata of a write by `actor` at `time`, of events in the shapes of a version. */
export function createMetadata(
  actor: string,
  time: string,
  requestId?: string,
  schema = SCHEMA_VERSION,
): EventMetadata {
  return { actor, time, schema, ...(requestId !== undefined && { requestId }) }
}

/** What a record says; undefined for a type or shape that only a newer node knows. Old shapes are read as today's. */
export function decodeEvent(record: RecordedEvent, upcasts: Upcasts = UPCASTS): DomainEvent | undefined {
  const { schema } = record.metadata
  if (schema > SCHEMA_VERSION) return undefined
  const { type, data } = schema < SCHEMA_VERSION ? upcast(record, schema, SCHEMA_VERSION, upcasts) : record
  if (!Object.hasOwn(TYPES, type)) return undefined
  // The cast is safe: only encodeEvent writes these types, and the schema version says in which shape.
  return { type, data } as unknown as DomainEvent
}

/** Every type of event that this code reads. */
export const EVENT_TYPES: readonly string[] = Object.keys(TYPES)

/** True for what happens to rules: it is in a user's `rules-` stream, everything else about the user in the `user-` stream. */
export function isRuleEvent(event: DomainEvent): event is RuleEvent {
  return 'ruleId' in event.data
}

/**
 * The shapes that events once had. A change to a shape makes a new schema version in the codec and a function here,
 * with a test that reads an event as the old version wrote it. Events in the log are never rewritten.
 */
const UPCASTS: Upcasts = {}

/** The event as the version `to` would have written it. */
export function upcast(event: NewEvent, from: number, to: number, upcasts: Upcasts): NewEvent {
  let current = event
  for (let version = from; version < to; version++) {
    const step = upcasts[version]
    if (step && Object.hasOwn(step, current.type)) current = step[current.type]?.(current) ?? current
  }
  return current
}
