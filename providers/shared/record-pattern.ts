import type { ReplyPart } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { RecordPattern } from '../../core/contract/native-records.ts'
import { endOfString } from './json-string.ts'
import { buildRunFrame, type RecordRun, type RunFrame, readTextRun, type ToNativeRecord } from './text-run.ts'

/**
 * Most records of a stream are equal except for a few characters of text. Recognizes those and extracts their
 * text without parsing JSON. Stateful: create one per stream.
 */
export class TextRecordMatcher {
  /** The pattern of the latest learned record; undefined before the first one. */
  pattern: RecordPattern | undefined
  #frame: RunFrame | undefined
  readonly #field: string
  readonly #paddingField: string | undefined

  /**
   * `field` is the name of the field with the text, `paddingField` that of a field whose value is ignored.
   */
  constructor(field: string, paddingField?: string) {
    this.#field = field
    this.#paddingField = paddingField
  }

  /** Returns the text of a matching record. Undefined for others, which must be parsed and learned. */
  match(record: string): string | undefined {
    return this.pattern?.read(record)
  }

  /** Reads matching records from the body of a stream, from a position where a record begins. */
  readRun(body: string, start: number, isAscii: boolean, toNative: ToNativeRecord): RecordRun | undefined {
    return this.#frame && readTextRun(body, start, isAscii, this.#frame, toNative)
  }

  /** Learns the pattern of a record that holds nothing but text, from its JSON text and its parts. */
  learn(source: string, record: JsonObject, parts: readonly ReplyPart[]): void {
    if (parts.length !== 1 || parts[0]?.type !== 'text') return
    this.expect(buildRecordPattern(source, record, this.#field, this.#paddingField))
  }

  /** Matches records of this pattern until another one is learned. */
  expect(pattern: RecordPattern | undefined): void {
    this.pattern = pattern
    this.#frame = pattern && buildRunFrame(pattern)
  }
}

/**
 * Builds the pattern of a JSON record, in which the values of `field`, and of `paddingField` if the record
 * has it, may be any strings. Returns undefined unless the positions of these values in the text are certain.
 */
export function buildRecordPattern(
  source: string,
  example: JsonObject,
  field: string,
  paddingField?: string,
): RecordPattern | undefined {
  const names = paddingField === undefined ? [field] : [field, paddingField]
  const ranges = names.map((name) => findValue(source, name)).filter((range) => range !== undefined)
  const [first, second] = ranges
  if (first === undefined || first.field !== field) return undefined
  if (second !== undefined && second.start < first.end) return undefined
  const before = source.slice(0, first.start)
  const between = second && source.slice(first.end, second.start)
  const after = source.slice((second ?? first).end)
  // An escape sequence can spell the name of the field, or end in it.
  if ([before, between, after].some((text) => text?.includes('\\'))) return undefined

  return new TextPattern(before, between, after, example)
}

/** The pattern of records with these texts around the values. */
export class TextPattern implements RecordPattern {
  readonly before: string
  readonly between: string | undefined
  readonly after: string
  readonly example: JsonObject

  constructor(before: string, between: string | undefined, after: string, example: JsonObject) {
    this.before = before
    this.between = between
    this.after = after
    this.example = example
  }

  read(other: string): string | undefined {
    const { before, between, after } = this
    if (!hasTextAt(other, 0, before)) return undefined
    const textEnd = endOfString(other, before.length)
    let end = textEnd
    if (between !== undefined) {
      if (!hasTextAt(other, textEnd, between)) return undefined
      end = endOfString(other, textEnd + between.length)
    }
    if (other.length !== end + after.length || !hasTextAt(other, end, after)) return undefined
    const text = other.slice(before.length, textEnd)
    return text.includes('\\') ? JSON.parse(`"${text}"`) : text
  }
}

/** The range of a string value, without its quotation marks. */
interface ValueRange {
  readonly field: string
  readonly start: number
  readonly end: number
}

/**
 * Finds the value of a string field. Quotation marks within strings are escaped, so a quoted name that occurs
 * once cannot be part of a value.
 */
function findValue(record: string, field: string): ValueRange | undefined {
  const name = `"${field}"`
  const index = record.indexOf(name)
  if (index === -1 || index !== record.lastIndexOf(name)) return undefined
  const start = index + name.length + 2
  if (record.slice(start - 2, start) !== ':"') return undefined
  return { field, start, end: endOfString(record, start) }
}

/** Like `startsWith`, which compares character by character and takes ten times as long for long texts. */
function hasTextAt(record: string, index: number, text: string): boolean {
  return record.slice(index, index + text.length) === text
}
