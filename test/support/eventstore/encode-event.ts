import { TICKS_PER_MILLISECOND, TOMBSTONE_REVISION } from './messages.ts'
import type { StoredEvent } from './records.ts'
import { MAX_REVISION } from './store.ts'

/**
 * Encodes what `buildEvent` builds. Generated code takes several times as long: a gateway that reads a whole
 * log would wait for this server, and be sent one event at a time.
 */
export function encodeEvent(event: StoredEvent): Buffer {
  const { id, stream, revision, position, type, contentType, created, metadata, data } = event
  const at = integer(position)
  const recorded = [
    ...message(1, message(2, [Buffer.from(id)])),
    ...message(2, message(3, [Buffer.from(stream)])),
    ...(revision === 0 ? [] : [tag(3, 0), revision === MAX_REVISION ? TOMBSTONE : integer(revision)]),
    tag(4, 0),
    at,
    tag(5, 0),
    at,
    ...message(6, entry('content-type', contentType)),
    ...message(6, entry('created', String(BigInt(created) * TICKS_PER_MILLISECOND))),
    ...message(6, entry('type', type)),
    ...(metadata.length === 0 ? [] : message(7, [metadata])),
    ...(data.length === 0 ? [] : message(8, [data])),
  ]
  return Buffer.concat(message(1, [...message(1, recorded), tag(3, 0), at]))
}

function entry(key: string, value: string): Uint8Array[] {
  return [...message(1, [Buffer.from(key)]), ...message(2, [Buffer.from(value)])]
}

/** A field with a length: a text, bytes or a message. */
function message(field: number, content: readonly Uint8Array[]): Uint8Array[] {
  return [tag(field, 2), integer(content.reduce((sum, { length }) => sum + length, 0)), ...content]
}

function tag(field: number, wireType: 0 | 2): Uint8Array {
  return Uint8Array.of((field << 3) | wireType)
}

/** A varint. */
function integer(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
  return Uint8Array.of(...bytes, rest)
}

/** The largest revision does not fit into a number. */
const TOMBSTONE = encodeLarge(BigInt(TOMBSTONE_REVISION))

function encodeLarge(value: bigint): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127n; rest /= 128n) bytes.push(Number(rest % 128n) | 128)
  return Uint8Array.of(...bytes, Number(rest))
}
