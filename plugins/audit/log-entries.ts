import type { JsonObject, RecordedEvent } from '../../core/contract/index.ts'
import { showRecord } from '../../core/resources/changes.ts'
import { type DomainEvent, decodeEvent } from '../../projections/events/registry.ts'
import {
  AUDIT_SUBJECTS,
  type AuditedEvent,
  isAudited,
  SHARED_SUBJECTS,
  subjectIdOf,
  subjectOf,
} from './audit-entries.ts'

/** The kinds of entries in the audit trail of everything. */
export const LOG_ENTRY_KINDS = [
  ...AUDIT_SUBJECTS,
  ...SHARED_SUBJECTS,
  'operator',
  'access',
  'budget',
  'router',
  'log',
  'unknown',
] as const

export type LogEntryKind = (typeof LOG_ENTRY_KINDS)[number]

/** An event as the audit trail of everything shows it. */
export interface LogEntry {
  readonly record: RecordedEvent
  readonly kind: LogEntryKind
  /** The kind of change; for an unknown event, its type. */
  readonly event: string
  readonly id: number | string | null
  /** Why the event had no effect; missing if it had one. */
  readonly noEffect?: string | undefined
}

/**
 * Kind and change of the events that are not about a user; null for those that are no entries. A missing type
 * is a compile error, so nothing can go unaudited.
 */
const OTHER_EVENTS: Readonly<
  Record<Exclude<DomainEvent['type'], AuditedEvent['type']>, readonly [LogEntryKind, string] | null>
> = {
  OperatorCreated: ['operator', 'created'],
  OperatorChanged: ['operator', 'updated'],
  OperatorRemoved: ['operator', 'removed'],
  OperatorSignedIn: ['access', 'signed_in'],
  SessionEnded: ['access', 'signed_out'],
  OperatorCallsRefused: ['access', 'refused'],
  DataRead: ['access', 'read'],
  PromptsDeleted: ['access', 'prompts_deleted'],
  RatingsImported: ['access', 'ratings_imported'],
  ImportedRatingsDeleted: ['access', 'ratings_deleted'],
  OverallBudgetSet: ['budget', 'set'],
  OverallBudgetRemoved: ['budget', 'removed'],
  ShadowBudgetSet: ['budget', 'set'],
  ShadowBudgetRemoved: ['budget', 'removed'],
  RouterTrained: ['router', 'trained'],
  RouterActivated: ['router', 'activated'],
  RouterRolledBack: ['router', 'rolled_back'],
  LogCreated: ['log', 'created'],
  IdsReserved: null,
  CheckpointSigned: null,
}

/** Returns the entry of an event; undefined if the audit trail does not show it. */
export function toLogEntry(record: RecordedEvent): LogEntry | undefined {
  const event = decodeEvent(record)
  if (event === undefined) return { record, kind: 'unknown', event: record.type, id: null }
  if (isAudited(event)) {
    const [kind, change] = subjectOf(event)
    const isRevert = 'revertedTo' in event.data && event.data.revertedTo !== undefined
    return { record, kind, event: isRevert ? 'reverted' : change, id: subjectIdOf(event) }
  }
  const entry = OTHER_EVENTS[event.type]
  if (entry === null) return undefined
  const [kind, change] = entry
  return { record, kind, event: change, id: otherIdOf(event) }
}

function otherIdOf({ data }: DomainEvent): LogEntry['id'] {
  if ('operatorId' in data) return data.operatorId
  return 'version' in data ? data.version : null
}

/** An entry as answers and exports show it: with the content of the event, without hashes of keys. */
export function showLogEntry({ record, kind, event, id, noEffect }: LogEntry): JsonObject {
  const { data } = record
  const { hash: _, ...content } = data
  return {
    ...showRecord(record),
    kind,
    id,
    event,
    user_id: typeof data.userId === 'number' ? data.userId : null,
    ...(typeof data.groupId === 'number' && { group_id: data.groupId }),
    ...(typeof data.policyId === 'number' && { policy_id: data.policyId }),
    ...(noEffect !== undefined && { no_effect: noEffect }),
    data: content,
  }
}
