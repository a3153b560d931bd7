import { isDeepStrictEqual } from 'node:util'
import { ReplyEvent, type ReplyPart } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { NATIVE, type NativeRecord, type ReplyPattern } from '../../core/contract/native-records.ts'
import type { ReplyPatterns } from '../shared/reply-patterns.ts'
import { toUsage, type UsageTerms } from './reply.ts'

/** Models whose replies are remembered. Names of models may come from callers. */
const MAX_MODELS = 64

/** Of replies that are not like the one that was learned, one in so many is learned in its place. */
const LEARN_EVERY = 16

interface KnownModel {
  pattern: ChatReplyPattern | undefined
  /** Replies that are parsed before the next one is learned. */
  pause: number
}

/**
 * Recognises chat completions that differ from an earlier one of the model in their id, time, text and token
 * counts only, and reads these without parsing the rest. Keeps nothing that a user or a model has written.
 * See docs/decisions/replies.md, "Whole replies that are like earlier ones are not parsed".
 */
export class ChatReplyPatterns implements ReplyPatterns {
  readonly #models = new Map<string, KnownModel>()

  read(model: string, text: string): ReplyEvent | undefined {
    const known = this.#models.get(model)
    const event = known?.pattern?.read(text)
    if (known !== undefined && event !== undefined) known.pause = LEARN_EVERY
    return event
  }

  learn(model: string, text: string, event: ReplyEvent): void {
    const known = this.#models.get(model)
    if (known !== undefined && --known.pause > 0) return
    if (known === undefined && this.#models.size === MAX_MODELS) {
      const [oldest = ''] = this.#models.keys()
      this.#models.delete(oldest)
    }
    this.#models.set(model, { pattern: buildPattern(text, event), pause: LEARN_EVERY })
  }
}

/** The values that differ from reply to reply. All but the first two are numbers. */
const ID = 0
const TEXT = 1
const CREATED = 2
const PROMPT = 3
const ANSWER = 4
const TOTAL = 5
const CACHED = 6
const CACHE_WRITE = 7
const REASONING = 8

type Slot = number

/** Larger numbers are errors of a provider. */
const MAX_DIGITS = 9
const MAX_TIME_DIGITS = 12

/** Longer ids are those of no provider. */
const MAX_ID_CHARS = 256

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const ZERO = 0x30

class ChatReplyPattern implements ReplyPattern {
  readonly example: JsonObject
  readonly names: ReadonlySet<string>
  isRegular: boolean | undefined
  readonly #slots: readonly Slot[]
  /** What is before, between and behind the slots. */
  readonly #pieces: readonly string[]
  readonly #textAt: number
  readonly #model: string
  readonly #finish: ReplyPart
  readonly #terms: UsageTerms | undefined
  /** The values of the reply that is being read, by slot; the end of its id in place of the id. */
  readonly #values: (number | undefined)[] = []

  /** `example`: a record with marks in place of what differs. */
  constructor(
    example: JsonObject,
    parts: readonly ReplyPart[],
    slots: readonly Slot[],
    pieces: readonly string[],
  ) {
    const [start, , usage, finish] = parts
    this.example = example
    this.names = new Set(Object.keys(example))
    this.#slots = slots
    this.#pieces = pieces
    this.#textAt = slots.indexOf(TEXT)
    this.#model = start?.type === 'start' ? start.model : ''
    this.#finish = finish as ReplyPart
    const tier = usage?.type === 'usage' ? usage.usage.tier : undefined
    this.#terms = tier === undefined ? undefined : { tier }
    for (let slot = ID; slot <= REASONING; slot++) this.#values.push(slots.includes(slot) ? 0 : undefined)
  }

  /** Returns undefined for a reply that has another form, or that is no valid JSON. */
  read(source: string): ReplyEvent | undefined {
    const textStart = this.#readStart(source)
    // The text may be long, and hold what is behind it.
    const textEnd = textStart === -1 ? -1 : this.#readEnd(source, textStart)
    const text = textEnd === -1 ? '' : parseText(source, textStart, textEnd)
    if (text === '') return undefined
    const values = this.#values
    const idStart = (this.#pieces[0] as string).length
    const idEnd = values[ID] as number
    const parts: readonly ReplyPart[] = [
      { type: 'start', id: source.slice(idStart, idEnd), model: this.#model },
      { type: 'text', text },
      {
        type: 'usage',
        usage: toUsage(
          values[PROMPT] as number,
          values[ANSWER] as number,
          values[TOTAL] as number,
          values[CACHED],
          values[CACHE_WRITE],
          values[REASONING],
          this.#terms,
        ),
      },
      this.#finish,
    ]
    return new ReplyEvent(parts, new KnownReply(source, this, idEnd))
  }

  /** Returns where the text begins; -1 if what is before it is different. */
  #readStart(source: string): number {
    let at = 0
    for (let index = 0; ; index++) {
      const piece = this.#pieces[index] as string
      const start = at + piece.length
      if (source.slice(at, start) !== piece) return -1
      if (index === this.#textAt) return start
      const slot = this.#slots[index] as Slot
      at = slot === ID ? endOfId(source, start) : endOfDigits(source, start)
      const value = slot === ID ? at : toNumber(source, start, at, slot)
      if (value === -1) return -1
      this.#values[slot] = value
    }
  }

  /** Returns where the text ends; -1 if what is behind it is different. */
  #readEnd(source: string, textStart: number): number {
    let end = source.length
    for (let index = this.#slots.length; ; index--) {
      const piece = this.#pieces[index] as string
      const start = end - piece.length
      if (start < textStart || source.slice(start, end) !== piece) return -1
      if (index === this.#textAt + 1) return start
      const slot = this.#slots[index - 1] as Slot
      end = startOfDigits(source, start)
      const value = toNumber(source, end, start, slot)
      if (value === -1) return -1
      this.#values[slot] = value
    }
  }
}

/** The end of an id without escapes; -1 if it is none. */
function endOfId(source: string, start: number): number {
  for (let end = start; end - start <= MAX_ID_CHARS; end++) {
    const code = source.charCodeAt(end)
    if (code === QUOTE) return end
    // Not a number behind the end.
    if (!(code >= SPACE) || code === BACKSLASH) return -1
  }
  return -1
}

function isDigit(source: string, at: number): boolean {
  const digit = source.charCodeAt(at) - ZERO
  return digit >= 0 && digit <= 9
}

function endOfDigits(source: string, start: number): number {
  let end = start
  while (isDigit(source, end)) end++
  return end
}

function startOfDigits(source: string, end: number): number {
  let start = end
  while (isDigit(source, start - 1)) start--
  return start
}

/** Returns the number that digits spell; -1 if JSON does not allow them, or if there are none or too many. */
function toNumber(source: string, start: number, end: number, slot: Slot): number {
  const length = end - start
  if (length === 0 || length > (slot === CREATED ? MAX_TIME_DIGITS : MAX_DIGITS)) return -1
  if (length > 1 && source.charCodeAt(start) === ZERO) return -1
  let value = 0
  for (let index = start; index < end; index++) value = value * 10 + source.charCodeAt(index) - ZERO
  return value
}

/** The text between two quotation marks; empty if that is not one string. */
function parseText(source: string, start: number, end: number): string {
  try {
    return JSON.parse(source.slice(start - 1, end + 1))
  } catch {
    return ''
  }
}

/** A reply that was not parsed; `record` parses it on access. */
class KnownReply implements NativeRecord {
  readonly source: string
  readonly reply: ReplyPattern
  readonly idEnd: number

  constructor(source: string, reply: ReplyPattern, idEnd: number) {
    this.source = source
    this.reply = reply
    this.idEnd = idEnd
  }

  get record(): JsonObject {
    return JSON.parse(this.source)
  }
}

/** Names of fields whose texts say nothing about a user. */
const FIXED_TEXTS: ReadonlySet<string> = new Set([
  ...['object', 'model', 'service_tier', 'system_fingerprint', 'role', 'finish_reason'],
])

/** The counts that differ, by their places in the usage. */
const COUNT_SLOTS: ReadonlyMap<string, Slot> = new Map([
  ['prompt_tokens', PROMPT],
  ['completion_tokens', ANSWER],
  ['total_tokens', TOTAL],
  ['prompt_tokens_details.cached_tokens', CACHED],
  ['prompt_tokens_details.cache_write_tokens', CACHE_WRITE],
  ['completion_tokens_details.reasoning_tokens', REASONING],
])

const DETAILS: ReadonlySet<string> = new Set(['prompt_tokens_details', 'completion_tokens_details'])

/** Longer replies hold more than an answer in text. */
const MAX_FIXED_CHARS = 4096

/** White space with which providers write JSON. */
const INDENTS = [0, 2, 4]

/** Returns undefined for a reply that holds more than an answer in text, or whose form is not certain. */
function buildPattern(text: string, event: ReplyEvent): ChatReplyPattern | undefined {
  const record = event[NATIVE]?.record
  const marked = record && markSlots(record)
  if (record === undefined || marked === undefined) return undefined
  const lastSpace = text.slice(text.trimEnd().length)
  for (const indent of INDENTS) {
    const found = JSON.stringify(marked, undefined, indent).split(MARK)
    const slots = found.flatMap((each, index) => (index % 2 === 1 ? Number(each) : []))
    if (
      new Set(slots).size !== slots.length ||
      slots[0] !== ID ||
      !NEEDED.every((slot) => slots.includes(slot))
    )
      return undefined
    const pieces = found.filter((_, index) => index % 2 === 0)
    for (const [index, slot] of slots.entries()) {
      if (slot !== ID && slot !== TEXT) continue
      pieces[index] += '"'
      pieces[index + 1] = `"${pieces[index + 1]}`
    }
    pieces[slots.length] += lastSpace
    if (pieces.join('').length > MAX_FIXED_CHARS) return undefined
    const pattern = new ChatReplyPattern(marked, event.parts, slots, pieces)
    const read = pattern.read(text)
    if (read !== undefined && isDeepStrictEqual(read.parts, event.parts)) return pattern
  }
  return undefined
}

/** Stands for a slot until the JSON is divided. */
const MARK = /"<slot (\d)>"/

const NEEDED: readonly Slot[] = [ID, TEXT, CREATED, PROMPT, ANSWER, TOTAL]

function toMark(slot: Slot): string {
  return `<slot ${slot}>`
}

/** Returns the record with marks in place of what differs. Undefined if it holds other texts. */
function markSlots(record: JsonObject): JsonObject | undefined {
  const { id, created, choices, usage } = record
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined
  if (!isJsonObject(choice) || !isJsonObject(choice.message) || !isJsonObject(usage)) return undefined
  const { message } = choice
  if (typeof id !== 'string' || !Number.isSafeInteger(created) || typeof message.content !== 'string')
    return undefined
  if (hasTexts(record, 'id', 'choices') || hasTexts(choice, 'message') || hasTexts(message, 'content'))
    return undefined
  const counts = markCounts(usage, '')
  return (
    counts && {
      ...record,
      id: toMark(ID),
      created: toMark(CREATED),
      choices: [{ ...choice, message: { ...message, content: toMark(TEXT) } }],
      usage: counts,
    }
  )
}

function markCounts(counts: JsonObject, place: string): JsonObject | undefined {
  const marked: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(counts)) {
    const slot = COUNT_SLOTS.get(place + name)
    const isDetail = place === '' && DETAILS.has(name)
    if (slot !== undefined && Number.isSafeInteger(value)) marked[name] = toMark(slot)
    else if (isDetail && isJsonObject(value)) marked[name] = markCounts(value, `${name}.`)
    else if (value === null || (place !== '' && typeof value === 'number')) marked[name] = value
    if (marked[name] === undefined) return undefined
  }
  return marked
}

/** Whether fields other than those named hold a text that may be about a user. */
function hasTexts(fields: JsonObject, ...except: readonly string[]): boolean {
  return Object.entries(fields).some(
    ([name, value]) =>
      !except.includes(name) && !(FIXED_TEXTS.has(name) && typeof value === 'string') && isText(value),
  )
}

function isText(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'string'
  return Object.values(value).some(isText)
}
