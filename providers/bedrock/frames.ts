import { createRequire } from 'node:module'
import { crc32 } from 'node:zlib'
import type { FrameDecoder, SseEvent } from '../../core/contract/provider.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { asString } from '../shared/fields.ts'

type Codec = import('@smithy/eventstream-codec').EventStreamCodec

/** Of a record; messages of Bedrock have a few KB. */
const MAX_FRAME_BYTES = 24 * 1024 * 1024
const PRELUDE_BYTES = 12

/** The name of records that report an error. */
export const EXCEPTION = 'exception'

let loaded: Codec | undefined

/** The codec is loaded with the first stream: a gateway without Bedrock does not need it. */
function loadCodec(): Codec {
  if (loaded !== undefined) return loaded
  const { EventStreamCodec } = createRequire(import.meta.url)(
    '@smithy/eventstream-codec',
  ) as typeof import('@smithy/eventstream-codec')
  const toText = (bytes: Uint8Array) => Buffer.from(bytes).toString()
  loaded = new EventStreamCodec(toText, (text) => Buffer.from(text))
  return loaded
}

/**
 * The event stream of AWS: frames with headers, a payload, and checksums of both. The records of
 * InvokeModel hold those of the model in Base64.
 */
export const eventStreamFrames: FrameDecoder = {
  createReader() {
    const codec = loadCodec()
    /** Holds the start of a frame, `size` bytes. Grows by doubling, so that few bytes are copied twice. */
    let buffer: Buffer = Buffer.alloc(0)
    let size = 0
    let failure: { readonly error: unknown } | undefined

    function append(bytes: Uint8Array): Buffer {
      const needed = size + bytes.length
      if (needed > buffer.length) {
        const grown = Buffer.allocUnsafe(Math.max(needed, 2 * buffer.length))
        buffer.copy(grown, 0, 0, size)
        buffer = grown
      }
      buffer.set(bytes, size)
      size = needed
      return buffer.subarray(0, size)
    }

    /** Adds the records of the complete frames to `records`, and returns where the next frame starts. */
    function readFrames(data: Buffer, records: SseEvent[]): number {
      let start = 0
      for (;;) {
        const length = readLength(data.subarray(start))
        if (length === undefined || length > data.length - start) return start
        const { headers, body } = codec.decode(data.subarray(start, start + length))
        const headerOf = (name: string) => asString(headers[name]?.value)
        records.push(toRecord(headerOf, Buffer.from(body).toString()))
        start += length
      }
    }

    return {
      read(bytes) {
        if (failure !== undefined) throw failure.error
        const data = size > 0 ? append(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
        const records: SseEvent[] = []
        try {
          const start = readFrames(data, records)
          if (start > 0 || size === 0) {
            buffer = Buffer.from(data.subarray(start))
            size = buffer.length
          }
        } catch (error) {
          // The records before it are read first.
          if (records.length === 0) throw error
          failure = { error }
        }
        return records
      },
      end() {
        if (failure !== undefined) throw failure.error
        if (size > 0) throw new Error('incomplete frame')
        return []
      },
    }
  },
}

/**
 * Returns the length of the frame that begins here; undefined until its first bytes are there. They have a
 * checksum of their own: with a wrong length, the reader would wait for bytes that never come.
 */
function readLength(data: Buffer): number | undefined {
  if (data.length < PRELUDE_BYTES) return undefined
  if (crc32(data.subarray(0, 8)) !== data.readUInt32BE(8)) throw new Error('frame checksum')
  const length = data.readUInt32BE()
  if (length < PRELUDE_BYTES + 4 || length > MAX_FRAME_BYTES) throw new Error('frame length')
  return length
}

function toRecord(headerOf: (name: string) => string, payload: string): SseEvent {
  const type = headerOf(':message-type')
  if (type === 'event') {
    const event = headerOf(':event-type')
    if (event !== 'chunk') return { event, data: payload }
    return { event, data: Buffer.from(asString(parseJsonObject(payload)?.bytes), 'base64').toString() }
  }
  const __type = headerOf(':exception-type') || headerOf(':error-code')
  const message = headerOf(':error-message')
  return { event: EXCEPTION, data: JSON.stringify({ message, ...parseJsonObject(payload), __type }) }
}
