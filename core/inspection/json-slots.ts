import { type Inspection, inspectionOfItems, isExemptNumber, isExemptText } from './inspection.ts'
import {
  COLON,
  COMMA,
  endOfLiteral,
  type JsonString,
  LIST,
  LIST_END,
  OBJECT,
  OBJECT_END,
  QUOTE,
  readShortString,
  readString,
  skipSpace,
} from './json-text.ts'

/**
 * A part of a JSON text that rules inspect.
 * - `value`: a value, inspected as a JSON document.
 * - `number`: a number.
 * - `field`: a field of an object, with its name.
 * - `name`: the name of a field.
 * - `text`, `file`, `url`: the content of a string.
 */
export interface JsonSlot {
  readonly type: 'value' | 'number' | 'field' | 'name' | 'text' | 'file' | 'url'
  readonly start: number
  readonly end: number
  /** The content of a string. */
  readonly text?: string
  /** Of a file, if the object that holds it has a `mimeType`. */
  mediaType?: string
  /** Of a field or a name: all names of its object. */
  readonly siblings?: Set<string>
}

/** Tables may refer to themselves. What is nested deeper is inspected with all names. */
const MAX_DEPTH = 32

const VALUES_PER_STEP = 500

/**
 * Finds the parts of a JSON document that rules inspect, in order and in steps. Everything that the table
 * does not exempt is in one of them.
 */
export function* findJsonSlots(
  source: string,
  inspection: Inspection,
): Generator<undefined, readonly JsonSlot[]> {
  const finder = new SlotFinder(source)
  yield* finder.find(skipSpace(source, 0), inspection, 0)
  return finder.slots
}

/** The document is valid, so nothing needs a check. */
class SlotFinder {
  readonly slots: JsonSlot[] = []
  readonly #source: string
  #count = 0

  constructor(source: string) {
    this.#source = source
  }

  /** Visits the value at an index. Returns the index behind it. */
  *find(start: number, inspection: Inspection, depth: number): Generator<undefined, number> {
    if (this.#isStep()) yield
    const code = this.#source.charCodeAt(start)
    if (code === OBJECT || code === LIST) {
      if (isWholeText(inspection) || depth === MAX_DEPTH)
        return this.#add('value', start, yield* this.#skipValue(start))
      if (code === OBJECT) return yield* this.#findFields(start, inspection, depth)
      return yield* this.#findItems(start, inspectionOfItems(inspection), depth)
    }
    if (code === QUOTE) return this.#findString(yield* this.#read(start), start, inspection)
    const end = endOfLiteral(this.#source, start)
    const number = Number(this.#source.slice(start, end))
    if (!Number.isNaN(number) && !isExemptNumber(String(number), inspection.scalar))
      this.#add('number', start, end)
    return end
  }

  *#findFields(
    objectStart: number,
    { fields, others, names = 'text' }: Inspection,
    depth: number,
  ): Generator<undefined, number> {
    const siblings = new Set<string>()
    const files: JsonSlot[] = []
    let mediaType: string | undefined
    let index = skipSpace(this.#source, objectStart + 1)
    while (this.#source.charCodeAt(index) !== OBJECT_END) {
      const { end: nameEnd, text: name } = yield* this.#read(index)
      siblings.add(name)
      const colon = skipSpace(this.#source, nameEnd)
      const start = skipSpace(this.#source, colon + 1)
      const known = fields?.get(name)
      const listed = known ?? others
      let end: number
      if (listed === undefined) end = this.#add('field', index, yield* this.#skipValue(start), siblings)
      else {
        if (known === undefined && !isExemptText(name, names)) this.#add('name', index, nameEnd, siblings)
        const count = this.slots.length
        end = yield* this.find(start, listed, depth + 1)
        const isString = this.#source.charCodeAt(start) === QUOTE
        const slot = isString ? this.slots[count] : undefined
        if (slot?.type === 'file') files.push(slot)
        if (isString && name === 'mimeType') mediaType = (yield* this.#read(start)).text
      }
      index = this.#skipComma(end)
    }
    if (mediaType !== undefined) for (const file of files) file.mediaType = mediaType
    return index + 1
  }

  *#findItems(listStart: number, inspection: Inspection, depth: number): Generator<undefined, number> {
    let index = skipSpace(this.#source, listStart + 1)
    while (this.#source.charCodeAt(index) !== LIST_END)
      index = this.#skipComma(yield* this.find(index, inspection, depth + 1))
    return index + 1
  }

  #findString({ end, text }: JsonString, start: number, { scalar }: Inspection): number {
    if (scalar === 'json') this.slots.push({ type: 'text', start, end, text })
    else if (scalar === 'media') this.slots.push({ type: 'file', start, end, text })
    else if (scalar === 'url') this.slots.push({ type: 'url', start, end, text })
    else if (!isExemptText(text, scalar)) this.#add('value', start, end)
    return end
  }

  *#read(start: number): Generator<undefined, JsonString> {
    const read = readShortString(this.#source, start) ?? (yield* readString(this.#source, start))
    if (read === undefined) throw new Error('The document is not valid JSON.')
    return read
  }

  /** Returns the index behind a value, which may be nested deeply. */
  *#skipValue(start: number): Generator<undefined, number> {
    let depth = 0
    let index = start
    do {
      if (this.#isStep()) yield
      index = skipSpace(this.#source, index)
      const code = this.#source.charCodeAt(index)
      if (code === QUOTE) index = (yield* this.#read(index)).end
      else if (isMark(code)) {
        if (code === OBJECT || code === LIST) depth += 1
        else if (code === OBJECT_END || code === LIST_END) depth -= 1
        index += 1
      } else index = endOfLiteral(this.#source, index)
    } while (depth > 0)
    return index
  }

  #isStep(): boolean {
    this.#count += 1
    return this.#count % VALUES_PER_STEP === 0
  }

  #skipComma(end: number): number {
    const index = skipSpace(this.#source, end)
    return this.#source.charCodeAt(index) === COMMA ? skipSpace(this.#source, index + 1) : index
  }

  #add(type: JsonSlot['type'], start: number, end: number, siblings?: Set<string>): number {
    this.slots.push({ type, start, end, ...(siblings && { siblings }) })
    return end
  }
}

/** Whether everything in a value is inspected as text. */
function isWholeText({ scalar, fields, others }: Inspection): boolean {
  return scalar === 'text' && fields === undefined && others === undefined
}

const MARKS: ReadonlySet<number> = new Set([OBJECT, OBJECT_END, LIST, LIST_END, COMMA, COLON])

/** A bracket, a comma or a colon. */
function isMark(code: number): boolean {
  return MARKS.has(code)
}
