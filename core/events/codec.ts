import {
  type Author,
  type EventMetadata,
  type ExpectedRevision,
  isJsonObject,
  type RecordedEvent,
} from '../contract/index.ts'
import { isEventMetadata } from '../event-log/actor.ts'
import { UnreadableEventError } from '../event-log/stored-event.ts'

/** Version of the event shapes that this code writes. Readers skip newer ones. */
export const SCHEMA_VERSION = 1

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

/** Whether another event of the same append is next. Others may have written anything as `lastRevision`. */
export function isContinued({ revision, metadata: { lastRevision } }: RecordedEvent): boolean {
  return Number.isSafeInteger(lastRevision) && revision < Number(lastRevision)
}

/**
 * Whether data and metadata are those of an event of Signalbox: they are `foreign` if other programs have
 * written them, and `unreadable` if they are not JSON. See docs/decisions/event-log.md, "What is not an event
 * is skipped, on both logs".
 */
export function classifyContent(record: RecordedEvent): 'own' | 'foreign' | 'unreadable' {
  try {
    return isJsonObject(record.data) && isEventMetadata(record.metadata) ? 'own' : 'foreign'
  } catch (error) {
    if (error instanceof UnreadableEventError) return 'unreadable'
    throw error
  }
}
