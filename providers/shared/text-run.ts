import { ReplyEvent, type ReplyPart } from '../../core/contract/chat.ts'
import {
  type NativeRecord,
  type RecordPattern,
  TEXT_RUN,
  type TextRun,
} from '../../core/contract/native-records.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import { endOfString } from './json-string.ts'
import { RECORD_END } from './sse.ts'

/** Records that a `RunReader` has read from the text of a body; `end` is the position after them. */
export interface RecordRun {
  readonly event: ReplyEvent
  readonly end: number
}

/** A reader of SSE records that need not be parsed. */
export interface RunReader extends StreamReader {
  /**
   * Reads the records at a position of the body's text without parsing them, if they are text as in earlier
   * records. Returns undefined if the record there must be parsed. A record begins at that position.
   * `isAscii`: the text of the body so far is.
   */
  readRun?(body: string, start: number, isAscii: boolean): RecordRun | undefined
}

/** The event of a run. Its parts are read on first access: most streams are passed on without it. */
class TextRunEvent extends ReplyEvent {
  constructor(run: TextRun<ReplyEvent>) {
    super([])
    this[TEXT_RUN] = run
  }
}

// Not an accessor of the class: TypeScript allows none in place of a property.
Object.defineProperty(TextRunEvent.prototype, 'parts', {
  get(this: ReplyEvent) {
    return this[TEXT_RUN]?.parts
  },
  set(this: ReplyEvent) {
    if (this[TEXT_RUN] !== undefined) throw new TypeError('Events are immutable. Use withParts.')
  },
})

/** How text records of one pattern follow each other in the body of a stream. */
export interface RunFrame {
  readonly pattern: RecordPattern
  /** What precedes the text of the first record: the name of the field and the start of the record. */
  readonly start: string
  /** What separates two records: the end of one and the start of the next. */
  readonly joint: string
  /** What ends the last record. */
  readonly end: string
}

/** Makes the native record of one record. */
export type ToNativeRecord = (source: string, pattern: RecordPattern) => NativeRecord

const FIELD = 'data: '

export function buildRunFrame(pattern: RecordPattern): RunFrame {
  const start = FIELD + pattern.before
  const end = pattern.after + RECORD_END
  return { pattern, start, joint: end + start, end }
}

/**
 * Finds the records at a position that match the pattern. Returns undefined if the first one does not.
 */
export function readTextRun(
  body: string,
  from: number,
  isAscii: boolean,
  { pattern, start, joint, end }: RunFrame,
  toNative: ToNativeRecord,
): RecordRun | undefined {
  let position = from + start.length
  if (body.slice(from, position) !== start) return undefined
  const { between } = pattern
  const bounds: number[] = []
  let runEnd = -1
  while (true) {
    const textEnd = endOfString(body, position)
    let last = textEnd
    let paddingStart = textEnd
    if (between !== undefined) {
      paddingStart += between.length
      if (body.slice(textEnd, paddingStart) !== between) break
      last = endOfString(body, paddingStart)
    }
    // A slice and a comparison take a tenth of the time of `startsWith` for texts of this length.
    const next = last + joint.length
    const hasNext = body.slice(last, next) === joint
    if (!hasNext && body.slice(last, last + end.length) !== end) break
    if (between === undefined) bounds.push(position, textEnd)
    else bounds.push(position, textEnd, paddingStart, last)
    runEnd = last + end.length
    if (!hasNext) break
    position = next
  }
  if (runEnd === -1) return undefined
  return { event: new TextRunEvent(new UnparsedRun(pattern, body, bounds, isAscii, toNative)), end: runEnd }
}

function toTextParts(text: string): readonly ReplyPart[] {
  return text === '' ? [] : [Object.freeze({ type: 'text', text })]
}

class UnparsedRun implements TextRun<ReplyEvent> {
  readonly pattern: RecordPattern
  readonly source: string
  readonly bounds: readonly number[]
  readonly isAscii: boolean
  readonly #toNative: ToNativeRecord
  #parts: readonly ReplyPart[] | undefined

  constructor(
    pattern: RecordPattern,
    source: string,
    bounds: readonly number[],
    isAscii: boolean,
    toNative: ToNativeRecord,
  ) {
    this.pattern = pattern
    this.source = source
    this.bounds = bounds
    this.isAscii = isAscii
    this.#toNative = toNative
  }

  get textBytes(): number {
    let bytes = 0
    for (let index = 0; index < this.bounds.length; index += this.#boundsPerRecord)
      bytes += this.#countBytes(index)
    return bytes
  }

  get parts(): readonly ReplyPart[] {
    this.#parts ??= Object.freeze(this.#mapRecords((index) => toTextParts(this.#textAt(index))).flat())
    return this.#parts
  }

  split(): readonly ReplyEvent[] {
    const { before, after } = this.pattern
    return this.#mapRecords((index) => {
      const start = (this.bounds[index] ?? 0) - before.length
      const end = (this.bounds[index + this.#boundsPerRecord - 1] ?? 0) + after.length
      const native = this.#toNative(this.source.slice(start, end), this.pattern)
      return new ReplyEvent(toTextParts(this.#textAt(index)), native)
    })
  }

  get #boundsPerRecord(): number {
    return this.pattern.between === undefined ? 2 : 4
  }

  #mapRecords<Value>(convert: (index: number) => Value): readonly Value[] {
    const values: Value[] = []
    for (let index = 0; index < this.bounds.length; index += this.#boundsPerRecord)
      values.push(convert(index))
    return values
  }

  #textAt(index: number): string {
    const text = this.source.slice(this.bounds[index], this.bounds[index + 1])
    return text.includes('\\') ? JSON.parse(`"${text}"`) : text
  }

  /** Counts without creating a string, except for texts with characters beyond ASCII or `\u` escapes. */
  #countBytes(index: number): number {
    const { source } = this
    const start = this.bounds[index] ?? 0
    const end = this.bounds[index + 1] ?? 0
    let bytes = end - start
    for (let position = start; position < end; position++) {
      const code = source.charCodeAt(position)
      if (code > 0x7f) return Buffer.byteLength(this.#textAt(index))
      if (code !== BACKSLASH) continue
      // Escape sequences are valid here, so the others stand for one ASCII character each.
      if (source.charCodeAt(++position) === LETTER_U) return Buffer.byteLength(this.#textAt(index))
      bytes--
    }
    return bytes
  }
}

const BACKSLASH = 0x5c
const LETTER_U = 0x75
