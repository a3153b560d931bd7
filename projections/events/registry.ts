import type { RecordedEvent } from '../../core/contract/index.ts'
import {
  EVENT_TYPES as CORE_EVENT_TYPES,
  type DomainEvent as CoreEvent,
  decodeEvent as decodeCoreEvent,
} from '../../core/events/codec.ts'
import { createEventRegistry, type EventOf } from '../../core/events/define-event.ts'
import type { RuleEvent } from '../../core/events/domain-events.ts'
import { logEvents } from '../../core/events/log-events.ts'
import { isWellFormed as isWellFormedCoreEvent } from '../../core/events/well-formed.ts'
import { accessEvents } from './access.ts'
import { overallBudgetEvents } from './budgets.ts'
import { groupEvents } from './groups.ts'
import { operatorEvents } from './operators.ts'
import { policyEvents } from './policies.ts'
import { userEvents } from './users.ts'

const declarations = [
  ...logEvents,
  ...userEvents,
  ...groupEvents,
  ...policyEvents,
  ...overallBudgetEvents,
  ...operatorEvents,
  ...accessEvents,
] as const

/** The events of all features. */
export const EVENTS = createEventRegistry(declarations)

/** The types of all events that this code can decode. */
export const EVENT_TYPES: readonly string[] = [...EVENTS.types, ...CORE_EVENT_TYPES]

/** Every domain event, discriminated by `type`. */
export type DomainEvent = EventOf<typeof declarations> | CoreEvent

/** As `EVENTS.decode`, also for events that are not declared yet. */
export function decodeEvent(record: RecordedEvent): DomainEvent | undefined {
  return EVENTS.decode(record) ?? decodeCoreEvent(record)
}

/** As `EVENTS.isWellFormed`, also for events that are not declared yet. */
export function isWellFormed(event: DomainEvent, record: RecordedEvent): boolean {
  return EVENTS.find(event.type) === undefined
    ? isWellFormedCoreEvent(event as CoreEvent, record)
    : EVENTS.isWellFormed(event as EventOf<typeof declarations>, record)
}

/** Whether the event is about a rule, of a user or of a policy. */
export function isRuleEvent(event: DomainEvent): event is RuleEvent {
  return 'ruleId' in event.data
}
