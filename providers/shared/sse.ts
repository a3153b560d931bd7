import { isAscii } from 'node:buffer'
import { StringDecoder } from 'node:string_decoder'
import { createParser, type EventSourceParser } from 'eventsource-parser'
import type { GatewayError } from '../../core/contract/errors.ts'
import type { SseEvent } from '../../core/contract/provider.ts'
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
  /** True if all bytes so far are ASCII. */
  readonly isAscii: boolean
  /** Returns the last record if the stream ended without the blank line after it. */
  end(): readonly SseEvent[]
}

const BYTE_ORDER_MARK = '\uFEFF'

/** The end of a record with the usual line ends; others are read, too, but only by `parse`. */
export const RECORD_END = '\n\n'

export const MAX_RECORD_CHARS = 16 * 1024 * 1024

/** Framing: https://html.spec.whatwg.org/multipage/server-sent-events.html. Comments are dropped. */
export function createSseReader(maxRecordChars: number = MAX_RECORD_CHARS): SseReader {
  return new SseTextReader(maxRecordChars)
}

class SseTextReader implements SseReader {
  isBetweenRecords = true
  readonly #maxRecordChars: number
  /** Set from the first bytes beyond ASCII on. On small chunks, TextDecoder is several times slower. */
  #decoder: StringDecoder | undefined
  #parser: EventSourceParser | undefined
  #hasStarted = false
  #events: SseEvent[] = []

  constructor(maxRecordChars: number) {
    this.#maxRecordChars = maxRecordChars
  }

  get isAscii(): boolean {
    return this.#decoder === undefined
  }

  feed(bytes: Uint8Array): readonly SseEvent[] {
    return this.parse(this.decode(bytes))
  }

  decode(bytes: Uint8Array): string {
    if (this.#decoder === undefined && isAscii(bytes)) {
      this.#hasStarted ||= bytes.length > 0
      return asBuffer(bytes).toString('latin1')
    }
    this.#decoder ??= new StringDecoder('utf8')
    const text = this.#decoder.write(bytes)
    if (this.#hasStarted || text === '') return text
    this.#hasStarted = true
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
  }

  parse(text: string): readonly SseEvent[] {
    this.#events = []
    const end = this.isBetweenRecords ? readPlainRecords(text, this.#events) : 0
    if (end < text.length) {
      this.#parser ??= this.#createParser()
      this.#parser.feed(text.slice(end))
    }
    if (text !== '') this.isBetweenRecords = text.endsWith(RECORD_END)
    return this.#events
  }

  end(): readonly SseEvent[] {
    return this.parse(`${this.#decoder?.end() ?? ''}\n\n`)
  }

  #createParser(): EventSourceParser {
    return createParser({
      onEvent: ({ event = '', data }) => this.#events.push({ event, data }),
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw recordTooLongError(this.#maxRecordChars)
      },
      maxBufferSize: this.#maxRecordChars,
    })
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
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
