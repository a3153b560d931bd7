import { isJsonObject, type RecordedEvent } from '../contract/index.ts'
import { isEventMetadata } from '../event-log/actor.ts'
import { UnreadableEventError } from '../event-log/stored-event.ts'

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
