import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import type { GatewayError } from '../../core/contract/errors.ts'
import type { SseEvent } from '../../core/contract/provider.ts'
import { lazy } from '../../core/util/lazy.ts'
import { unusableReplyError } from './errors.ts'

/** Parses server-sent events from bytes that may be split anywhere. Stateful: create one per stream. */
export interface SseReader {
  /** Returns the records that these bytes complete. Throws a `GatewayError` on a record that is too long. */
  feed(bytes: Uint8Array): readonly SseEvent[]
  /** Returns the text that these bytes complete, for `parse`. */
  decode(bytes: Uint8Array): string
  /** Returns the records that this text completes. Throws like `feed`. */
  parse(text: string): readonly SseEvent[]
  /** True if the text so far ends with a complete record. */
  readonly isBetweenRecords: boolean
  /** Returns the last record if the stream ended without the blank line after it. */
  end(): readonly SseEvent[]
}

const BYTE_ORDER_MARK = '\uFEFF'

/** The end of a record with the usual line ends; others are read, too, but only by `parse`. */
export const RECORD_END = '\n\n'

export const MAX_RECORD_CHARS = 16 * 1024 * 1024

/** Framing: https://html.spec.whatwg.org/multipage/server-sent-events.html. Comments are dropped. */
export function createSseReader(maxRecordChars: number = MAX_RECORD_CHARS): SseReader {
  // On small chunks, TextDecoder is several times slower than StringDecoder.
  const decoder = new StringDecoder('utf8')
  let hasStarted = false
  let isBetweenRecords = true
  let events: SseEvent[] = []
  const parserOf = lazy(() =>
    createParser({
      onEvent: ({ event = '', data }) => events.push({ event, data }),
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw recordTooLongError(maxRecordChars)
      },
      maxBufferSize: maxRecordChars,
    }),
  )

  function parse(text: string): readonly SseEvent[] {
    events = []
    const end = isBetweenRecords ? readPlainRecords(text, events) : 0
    if (end < text.length) parserOf().feed(text.slice(end))
    if (text !== '') isBetweenRecords = text.endsWith(RECORD_END)
    return events
  }

  function decode(bytes: Uint8Array): string {
    const text = decoder.write(bytes)
    if (hasStarted || text === '') return text
    hasStarted = true
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
  }

  return {
    feed: (bytes) => parse(decode(bytes)),
    decode,
    parse,
    get isBetweenRecords() {
      return isBetweenRecords
    },
    end: () => parse(`${decoder.end()}\n\n`),
  }
}

const EVENT = 'event: '
const DATA = 'data: '

/**
 * Reads records of one line of data, with or without the name of an event before it, as most providers send
 * them: a parser takes several times as long. Returns the position of the first other record.
 */
function readPlainRecords(text: string, events: SseEvent[]): number {
  let start = 0
  while (start < text.length) {
    let data = start
    let event = ''
    if (text.startsWith(EVENT, start)) {
      data = text.indexOf('\n', start) + 1
      if (data === 0) return start
      event = text.slice(start + EVENT.length, data - 1)
    }
    const end = text.indexOf('\n', data)
    if (end === -1 || text[end + 1] !== '\n' || !text.startsWith(DATA, data)) return start
    const content = text.slice(data + DATA.length, end)
    // A carriage return ends a line, too.
    if (content.includes('\r') || event.includes('\r')) return start
    events.push({ event, data: content })
    start = end + RECORD_END.length
  }
  return start
}

export function recordTooLongError(maxRecordChars: number): GatewayError {
  return unusableReplyError(`The provider sent a stream record of more than ${maxRecordChars} characters.`)
}
