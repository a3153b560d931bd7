import type { JsonObject, RecordedEvent } from '../../core/contract/index.ts'
import { showRecord } from '../../core/resources/changes.ts'
import { decodeEvent } from '../../projections/events/registry.ts'
import { AUDIT_SUBJECTS, findSubject, SHARED_SUBJECTS } from './audit-entries.ts'

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

/** An event as the audit trail of everything shows it. */
export interface LogEntry {
  readonly record: RecordedEvent
  /** One of `LOG_ENTRY_KINDS`. */
  readonly kind: string
  /** The kind of change; for an unknown event, its type. */
  readonly event: string
  readonly id: number | string | null
  /** Why the event had no effect; missing if it had one. */
  readonly noEffect?: string | undefined
}

/** Returns the entry of an event; undefined if the audit trail does not show it. */
export function toLogEntry(record: RecordedEvent): LogEntry | undefined {
  const event = decodeEvent(record)
  if (event === undefined) return { record, kind: 'unknown', event: record.type, id: null }
  const subject = findSubject(event)
  return subject && { record, kind: subject.kind, event: subject.change, id: subject.id }
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
