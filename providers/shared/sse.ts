import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import { GatewayError } from '../../core/contract/errors.ts'
import type { SseEvent } from '../../core/contract/provider.ts'

/** Reads server-sent events from bytes that may be cut anywhere. It keeps state: one reader per stream. */
interface SseReader {
  /** The records that these bytes complete. Throws a `GatewayError` on a record that is too long. */
  feed(bytes: Uint8Array): readonly SseEvent[]
  /** The record that the stream ended on without the blank line that should follow it, if there is one. */
  end(): readonly SseEvent[]
}

const BYTE_ORDER_MARK = '\uFEFF'

const LONGEST_RECORD = 16 * 1024 * 1024

/** Framing as in https://html.spec.whatwg.org/multipage/server-sent-events.html; comments are dropped. */
export function createSseReader(longestRecord: number = LONGEST_RECORD): SseReader {
  // On small pieces a TextDecoder takes several times as long.
  const decoder = new StringDecoder('utf8')
  let begun = false
  let events: SseEvent[] = []
  const parser = createParser({
    onEvent: ({ event = '', data }) => events.push({ event, data }),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw tooLong(longestRecord)
    },
    maxBufferSize: longestRecord,
  })

  function parse(text: string): readonly SseEvent[] {
    events = []
    parser.feed(text)
    return events
  }

  return {
    feed(bytes) {
      const text = decoder.write(bytes)
      if (begun || text === '') return parse(text)
      begun = true
      return parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text)
    },
    end: () => parse(`${decoder.end()}\n\n`),
  }
}

function tooLong(longestRecord: number): GatewayError {
  return new GatewayError('provider_error', `The provider sent a record of over ${longestRecord} characters.`)
}
