import type { JsonObject } from '../../core/contract/index.ts'
import type { AuditEntry } from './trail.ts'

/** A change as history and audit show it. */
export function showEntry(entry: AuditEntry): JsonObject {
  const { position, metadata } = entry.record
  return {
    position,
    time: metadata.time,
    actor: metadata.actor,
    request_id: metadata.requestId ?? null,
    kind: entry.kind,
    id: entry.id,
    revision: entry.revision,
    event: entry.event,
    ...(entry.revertedTo !== undefined && { reverted_to: entry.revertedTo }),
    before: entry.before(),
    after: entry.after(),
  }
}
