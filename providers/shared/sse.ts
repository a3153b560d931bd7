import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import { GatewayError } from '../../core/contract/errors.ts'
import type { SseEvent } from '../../core/contract/provider.ts'

/** Parses server-sent events from bytes that may be split anywhere. Stateful: create one per stream. */
interface SseReader {
  /** Returns the records that these bytes complete. Throws a `GatewayError` on a record that is too long. */
  feed(bytes: Uint8Array): readonly SseEvent[]
  /** Returns the last record if the stream ended without the blank line after it. */
  end(): readonly SseEvent[]
}

const BYTE_ORDER_MARK = '\uFEFF'

const MAX_RECORD_CHARS = 16 * 1024 * 1024

/** Framing: https://html.spec.whatwg.org/multipage/server-sent-events.html. Comments are dropped. */
export function createSseReader(maxRecordChars: number = MAX_RECORD_CHARS): SseReader {
  // On small chunks, TextDecoder is several times slower than StringDecoder.
  const decoder = new StringDecoder('utf8')
  let hasStarted = false
  let events: SseEvent[] = []
  const parser = createParser({
    onEvent: ({ event = '', data }) => events.push({ event, data }),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw recordTooLongError(maxRecordChars)
    },
    maxBufferSize: maxRecordChars,
  })

  function parse(text: string): readonly SseEvent[] {
    events = []
    parser.feed(text)
    return events
  }

  return {
    feed(bytes) {
      const text = decoder.write(bytes)
      if (hasStarted || text === '') return parse(text)
      hasStarted = true
      return parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text)
    },
    end: () => parse(`${decoder.end()}\n\n`),
  }
}

function recordTooLongError(maxRecordChars: number): GatewayError {
  const message = `The provider sent a stream record of more than ${maxRecordChars} characters.`
  return new GatewayError('provider_error', message)
}
