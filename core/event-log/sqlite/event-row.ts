import type { RecordedEvent } from '../../contract/event-log.ts'
import { isJsonObject } from '../../contract/json.ts'
import { isEventMetadata } from '../actor.ts'
import type { EventRow } from './worker-protocol.ts'

/** Returns undefined for what Signalbox did not write. */
export function parseEventRow(row: EventRow): RecordedEvent | undefined {
  const [position, stream, revision, type, dataText, metadataText] = row
  try {
    const [data, metadata]: unknown[] = [JSON.parse(dataText), JSON.parse(metadataText)]
    if (!isJsonObject(data) || !isEventMetadata(metadata)) return undefined
    return { position, stream, revision, type, data, metadata }
  } catch {
    return undefined
  }
}
