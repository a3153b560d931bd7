import type { Position, RecordedEvent, StreamAnomaly } from '../../contract/event-log.ts'
import { isJsonObject } from '../../contract/json.ts'
import { isEventMetadata } from '../actor.ts'
import { matchesStream } from '../streams.ts'

/** An event as the client reads it. */
interface ServerEvent {
  readonly streamId: string
  readonly revision: bigint
  readonly type: string
  readonly isJson: boolean
  readonly data: unknown
  readonly metadata: unknown
  readonly position?: { readonly commit: bigint }
}

/**
 * Converts an event and removes `prefix` from its stream name. Returns undefined for events outside the
 * prefix and for events that Signalbox did not write.
 */
export function toRecordedEvent(
  { streamId, revision, type, isJson, data, metadata, position }: ServerEvent,
  prefix: string,
): RecordedEvent | undefined {
  if (!isJson || !streamId.startsWith(prefix)) return undefined
  if (!isJsonObject(data) || !isEventMetadata(metadata)) return undefined
  const stream = streamId.slice(prefix.length)
  return {
    stream,
    revision: Number(revision),
    position: toPosition(position?.commit ?? 0n),
    type,
    data,
    metadata,
  }
}

/**
 * What an event of the server says about one of the named streams, other than being an event of Signalbox.
 * Returns undefined if it says nothing.
 */
export function toStreamAnomaly(
  { streamId, revision, type, data, isJson }: ServerEvent,
  prefix: string,
  names: readonly string[],
): StreamAnomaly | undefined {
  const isAbout = METADATA_PREFIX + prefix
  const isMetadata = streamId.startsWith(isAbout)
  const stream = streamId.slice((isMetadata ? isAbout : prefix).length)
  if (!(isMetadata || streamId.startsWith(prefix)) || !matchesStream(names, stream)) return undefined
  if (isMetadata) {
    if (type !== '$metadata' || !isJson || !isJsonObject(data)) return undefined
    return {
      kind: HIDING.some((key) => Number(data[key]) > 0) ? 'truncated' : 'restored',
      stream,
      revision: -1,
    }
  }
  if (type === '$streamDeleted') return { kind: 'deleted', stream, revision: -1 }
  return { kind: 'foreign', stream, revision: Number(revision) }
}

/** The stream of a stream's metadata has this prefix. */
export const METADATA_PREFIX = '$$'

/** Metadata that hides events of a stream: `$tb` all before a revision. */
const HIDING = ['$tb', '$maxCount', '$maxAge']

/** Returns the commit position as a number. Throws beyond 2^53, which is 8 PiB of log. */
export function toPosition(commit: bigint): Position {
  const position = Number(commit)
  if (!Number.isSafeInteger(position)) throw new Error(`log position ${commit} exceeds 2^53`)
  return position
}
