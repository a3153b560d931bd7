import type { Position as ServerPosition } from '@eventstore/db-client'
import type { EventMetadata, Position, RecordedEvent } from '../../contract/event-log.ts'
import { isJsonObject } from '../../contract/json.ts'

/** An event as the client gives it, as far as it is read here. */
interface ServerEvent {
  readonly streamId: string
  readonly revision: bigint
  readonly type: string
  readonly isJson: boolean
  readonly data: unknown
  readonly metadata: unknown
  readonly position?: ServerPosition
}

/**
 * The event in a stream whose name begins with `prefix`; undefined for one that was not written by Signalbox.
 * Its position is 0 where the server does not tell, as one before 22.6 when a single stream is read.
 */
export function toRecordedEvent(event: ServerEvent | undefined, prefix: string): RecordedEvent | undefined {
  if (!event?.isJson || !event.streamId.startsWith(prefix)) return undefined
  const { type, data, metadata } = event
  if (!isJsonObject(data) || !isEventMetadata(metadata)) return undefined
  const stream = event.streamId.slice(prefix.length)
  const position = event.position ? toPosition(event.position) : 0
  return { stream, revision: Number(event.revision), position, type, data, metadata }
}

/** The commit position as a number; throws beyond 2^53, which is 8 PiB of log. */
export function toPosition({ commit }: ServerPosition): Position {
  const position = Number(commit)
  if (!Number.isSafeInteger(position)) throw new Error(`the log position ${commit} is too large for a number`)
  return position
}

/**
 * Where a subscription after an event starts. Commit and prepare position of an event are one number unless it was written
 * in one of the explicit transactions that only the TCP clients of EventStoreDB 5 had.
 */
export function toServerPosition(position: Position): ServerPosition | 'start' {
  return position === 0 ? 'start' : { commit: BigInt(position), prepare: BigInt(position) }
}

/** Other programs may use the same server, and `user-7` is not a rare name for a stream. */
function isEventMetadata(value: unknown): value is EventMetadata {
  return (
    isJsonObject(value) &&
    typeof value.actor === 'string' &&
    typeof value.time === 'string' &&
    typeof value.schema === 'number'
  )
}
