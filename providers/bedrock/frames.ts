import { createRequire } from 'node:module'
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
    let rest: Buffer = Buffer.alloc(0)
    let failure: { readonly error: unknown } | undefined

    function readFrame(): SseEvent | undefined {
      if (rest.length < PRELUDE_BYTES) return undefined
      const length = rest.readUInt32BE()
      if (length < PRELUDE_BYTES + 4 || length > MAX_FRAME_BYTES) throw new Error('frame length')
      if (rest.length < length) return undefined
      const { headers, body } = codec.decode(rest.subarray(0, length))
      rest = rest.subarray(length)
      const headerOf = (name: string) => asString(headers[name]?.value)
      return toRecord(headerOf, Buffer.from(body).toString())
    }

    return {
      read(bytes) {
        if (failure !== undefined) throw failure.error
        rest = rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([rest, bytes])
        const records: SseEvent[] = []
        try {
          for (let record = readFrame(); record !== undefined; record = readFrame()) records.push(record)
        } catch (error) {
          // The records before it are read first.
          if (records.length === 0) throw error
          failure = { error }
        }
        return records
      },
      end() {
        if (failure !== undefined) throw failure.error
        if (rest.length > 0) throw new Error('incomplete frame')
        return []
      },
    }
  },
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
