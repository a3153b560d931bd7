import type { Position, RecordedEvent, StreamAnomaly } from '../../contract/event-log.ts'
import { isJsonObject } from '../../contract/json.ts'
import { parseJson } from '../../util/json.ts'
import { isEventMetadata } from '../actor.ts'
import { type ParsedTexts, ReceivedEvent } from '../stored-event.ts'
import { matchesStream } from '../streams.ts'
import type { SubscribedEvent } from './read-response.ts'

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
 * prefix and for events that Signalbox did not write. The position is 0 if the server does not report it:
 * servers before 22.6 do not when a single stream is read.
 */
export function toRecordedEvent(event: ServerEvent | undefined, prefix: string): RecordedEvent | undefined {
  if (!event?.isJson || !event.streamId.startsWith(prefix)) return undefined
  const { type, data, metadata } = event
  if (!isJsonObject(data) || !isEventMetadata(metadata)) return undefined
  const stream = event.streamId.slice(prefix.length)
  const position = event.position ? toPosition(event.position.commit) : 0
  return { stream, revision: Number(event.revision), position, type, data, metadata }
}

/** As `toRecordedEvent`, for an event of a subscription. */
export function toReceivedEvent(event: SubscribedEvent, prefix: string): ReceivedEvent | undefined {
  if (!event.isJson || !event.streamId.startsWith(prefix)) return undefined
  const data = parseJson(event.data)
  if (!isJsonObject(data)) return undefined
  const metadata = checkMetadata(event.metadata)
  if (metadata === undefined) return undefined
  const { revision, type } = event
  const stream = event.streamId.slice(prefix.length)
  const place = { stream, revision, position: toPosition(event.commit), type }
  return new ReceivedEvent(place, event, { data, ...metadata })
}

const TEXT = '"[^"\\\\\\x00-\\x1f]*"'
const DATE = '\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d)'
const TIME = `"${DATE}T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{6}Z"`
const ACTOR = `\\{"type":"(?:operator|key|root|cli|system)","id":${TEXT},"name":${TEXT}\\}`

/** Metadata as it is written without an `Idempotency-Key`, and without anything that is escaped. */
const PLAIN_METADATA = new RegExp(
  `^\\{"actor":${ACTOR},"time":${TIME},"schema":[1-9]\\d{0,8}(?:,"(?:requestId|reason)":${TEXT}){0,2}\\}$`,
)

/** Returns undefined for what is not the metadata of an event of Signalbox. Does not parse most of it. */
function checkMetadata(text: string): Pick<ParsedTexts, 'metadata'> | undefined {
  if (PLAIN_METADATA.test(text)) return {}
  const metadata = parseJson(text)
  return isEventMetadata(metadata) ? { metadata } : undefined
}

/**
 * What an event of the server says about one of the named streams, other than being an event of Signalbox.
 * Returns undefined if it says nothing.
 */
export function toStreamAnomaly(
  { streamId, revision, type, data: text, isJson }: SubscribedEvent,
  prefix: string,
  names: readonly string[],
): StreamAnomaly | undefined {
  const isAbout = METADATA_PREFIX + prefix
  const isMetadata = streamId.startsWith(isAbout)
  const stream = streamId.slice((isMetadata ? isAbout : prefix).length)
  if (!(isMetadata || streamId.startsWith(prefix)) || !matchesStream(names, stream)) return undefined
  if (isMetadata) {
    const data = parseJson(text)
    if (type !== '$metadata' || !isJson || !isJsonObject(data)) return undefined
    return {
      kind: HIDING.some((key) => Number(data[key]) > 0) ? 'truncated' : 'restored',
      stream,
      revision: -1,
    }
  }
  if (type === '$streamDeleted') return { kind: 'deleted', stream, revision: -1 }
  return { kind: 'foreign', stream, revision }
}

/** The stream of a stream's metadata has this prefix. */
export const METADATA_PREFIX = '$$'

/** Metadata that hides events of a stream: `$tb` all before a revision. */
const HIDING = ['$tb', '$maxCount', '$maxAge']

/** Returns the commit position as a number. Throws beyond 2^53, which is 8 PiB of log. */
export function toPosition(commit: bigint | number): Position {
  const position = Number(commit)
  if (!Number.isSafeInteger(position)) throw new Error(`log position ${commit} exceeds 2^53`)
  return position
}
