import {
  isJsonObject,
  type JsonObject,
  type ReplyEvent,
  type ReplyPart,
  type ToolStart,
  type Usage,
} from '../../../core/contract/index.ts'
import type { NativeRecord, RecordPattern, TextRun } from '../../../core/contract/native-records.ts'
import { isAsciiText } from '../../../core/util/ascii.ts'

/** True if a record has the fields of its envelope as OpenAI writes them, except for the id and the usage. */
export function isRegularEnvelope({ object, created, model, error }: JsonObject, kind: string): boolean {
  return (
    object === kind &&
    error === undefined &&
    typeof model === 'string' &&
    model !== '' &&
    Number.isInteger(created)
  )
}

/** What stands in for missing fields of an envelope. */
interface EnvelopeFields {
  readonly created: number
  readonly model: string
}

/** Returns the fields of a record with a regular envelope, and its choice in place of the others. */
export function withRegularEnvelope(
  { error: _, ...record }: JsonObject,
  kind: string,
  fields: EnvelopeFields,
  choice: JsonObject | undefined,
): JsonObject {
  const { created, model } = record
  return {
    ...record,
    object: kind,
    created: typeof created === 'number' ? Math.floor(created) : fields.created,
    model: typeof model === 'string' && model !== '' ? model : fields.model,
    choices: choice === undefined ? [] : [choice],
  }
}

const TEXT_FIELDS = ['content', 'refusal', 'reasoning_content', 'reasoning'] as const

/** True if what clients read as texts of a message or delta is a text, null or missing. */
export function hasTexts({ content, refusal, reasoning_content, reasoning }: JsonObject): boolean {
  return isText(content) && isText(refusal) && isText(reasoning_content) && isText(reasoning)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' || value === undefined || value === null
}

/** Leaves out fields that should be texts, but are not. */
export function withTexts(message: JsonObject): JsonObject {
  if (hasTexts(message)) return message
  const isLost = (name: string) => TEXT_FIELDS.some((field) => field === name) && !isText(message[name])
  return Object.fromEntries(Object.entries(message).filter(([name]) => !isLost(name)))
}

/** The parts of a record that say the same as its fields. */
interface RecordParts {
  readonly isStart: boolean
  readonly finish: string | undefined
  /** True if there are parts of tool calls. */
  readonly hasCalls: boolean
}

const TEXT_ONLY: RecordParts = { isStart: false, finish: undefined, hasCalls: false }

export function describeParts(parts: readonly ReplyPart[]): RecordParts {
  const [first] = parts
  if (first === undefined || (parts.length === 1 && first.type === 'text')) return TEXT_ONLY
  let finish: string | undefined
  let hasCalls = false
  for (const part of parts) {
    if (part.type === 'finish') finish = part.reason
    else if (part.type === 'tool-start' || part.type === 'tool-json') hasCalls = true
  }
  return { isStart: first.type === 'start', finish, hasCalls }
}

/** The calls that begin and go on in a record, in the order of their numbers. */
interface CallDelta {
  readonly index: number
  readonly start: ToolStart | undefined
  readonly json: string
}

export function toCallDeltas(parts: readonly ReplyPart[]): readonly CallDelta[] {
  const deltas = new Map<number, CallDelta>()
  for (const part of parts) {
    if (part.type !== 'tool-start' && part.type !== 'tool-json') continue
    const { index } = part
    const { start, json } = deltas.get(index) ?? { start: undefined, json: '' }
    if (part.type === 'tool-start') deltas.set(index, { index, start: part, json })
    else deltas.set(index, { index, start, json: json + part.json })
  }
  return [...deltas.values()]
}

/**
 * True if a call of a record says what its part says: everything about a call that begins, and nothing but
 * more of the arguments about one that goes on. `index` is undefined for a call of a whole reply.
 */
export function isRegularCall(call: unknown, { start, json }: CallDelta, index: number | undefined): boolean {
  if (!isJsonObject(call) || call.index !== index) return false
  const isCustom = call.custom !== undefined
  const called = isCustom ? call.custom : call.function
  if (!isJsonObject(called) || (isCustom ? called.input : called.arguments) !== json) return false
  if (start === undefined)
    return called.name === undefined && call.id === undefined && call.type === undefined
  const type = start.custom ? 'custom' : 'function'
  return call.id === start.id && called.name === start.name && call.type === type
}

/** Fields of a provider's call that have no part, such as `extra_content`. */
export function otherFieldsOf(call: unknown): JsonObject {
  if (!isJsonObject(call)) return {}
  const { index: _, id: __, type: ___, function: ____, custom: _____, ...others } = call
  return others
}

export function textOf(parts: readonly ReplyPart[], type: 'text' | 'reasoning'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('')
}

/**
 * Reports whether a `finish_reason` says what the part says. Clients of the former `functions` get the reason
 * that they know.
 */
export function isRegularFinish(value: unknown, finish: string | undefined): boolean {
  if (finish === undefined) return value === undefined || value === null
  return value === finish || (value === 'function_call' && finish === 'stop')
}

const COUNTS = ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const

/** Returns a provider's usage, with its numbers in place of what is none. `ours` is built from the part. */
export function toRegularUsage(usage: unknown, ours: JsonObject, counted: Usage): JsonObject {
  if (!isJsonObject(usage)) return ours
  if (isRegularUsage(usage, counted)) return usage
  const { prompt_tokens_details: details } = usage
  const given = isJsonObject(details) ? details : {}
  const inPlace = { ...usage, prompt_tokens_details: { ...given, cached_tokens: counted.cached ?? 0 } }
  return isRegularUsage(inPlace, counted) ? inPlace : { ...usage, ...ours }
}

/** Some providers have the cached tokens elsewhere. */
export function isRegularUsage(usage: unknown, { cached }: Usage): boolean {
  if (!isJsonObject(usage)) return false
  for (const name of COUNTS) if (!isCount(usage[name])) return false
  for (const name of DETAILS) if (!hasCounts(usage[name])) return false
  const { prompt_tokens_details: details } = usage
  return !cached || (isJsonObject(details) && details.cached_tokens === cached)
}

const DETAILS = ['prompt_tokens_details', 'completion_tokens_details'] as const

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function hasCounts(details: unknown): boolean {
  if (details === undefined || details === null) return true
  if (!isJsonObject(details)) return false
  for (const name in details) if (details[name] !== null && !isCount(details[name])) return false
  return true
}

export function findUsage(parts: readonly ReplyPart[]): Usage | undefined {
  const part = parts.findLast(({ type }) => type === 'usage')
  return part?.type === 'usage' ? part.usage : undefined
}

const KIND = 'chat.completion.chunk'

/**
 * True if a provider's chunk says what its parts say, as OpenAI writes it, so that clients can read it as it
 * is. Its id is replaced, and its usage moved, anyway.
 */
export function isRegularChunk(record: JsonObject, parts: readonly ReplyPart[]): boolean {
  const { choices } = record
  if (!isRegularEnvelope(record, KIND) || !Array.isArray(choices) || choices.length !== 1) return false
  const choice: unknown = choices[0]
  if (!isJsonObject(choice) || choice.index !== 0 || !isJsonObject(choice.delta)) return false
  const { role, tool_calls: calls } = choice.delta
  const { isStart, finish, hasCalls } = describeParts(parts)
  if (role !== (isStart ? 'assistant' : undefined) || !isRegularFinish(choice.finish_reason, finish))
    return false
  if (!hasTexts(choice.delta)) return false
  if (!hasCalls) return calls === undefined
  const deltas = toCallDeltas(parts)
  return (
    Array.isArray(calls) &&
    calls.length === deltas.length &&
    deltas.every((delta, position) => isRegularCall(calls[position], delta, delta.index))
  )
}

/**
 * Corrects a chunk by its parts. Fields that no part describes are kept. `customCalls` are the numbers of the
 * calls of custom tools.
 */
export function toRegularChunk(
  record: JsonObject,
  parts: readonly ReplyPart[],
  fields: EnvelopeFields,
  customCalls: ReadonlySet<number>,
): JsonObject {
  const choices = Array.isArray(record.choices) ? record.choices.filter(isJsonObject) : []
  const isEmpty = choices.length === 0 && parts.every(({ type }) => type === 'usage')
  const choice = isEmpty ? undefined : toRegularChoice(choices[0] ?? {}, parts, customCalls)
  return withRegularEnvelope(record, KIND, fields, choice)
}

function toRegularChoice(
  choice: JsonObject,
  parts: readonly ReplyPart[],
  customCalls: ReadonlySet<number>,
): JsonObject {
  const { role: _, tool_calls, ...delta } = isJsonObject(choice.delta) ? choice.delta : ({} as JsonObject)
  const { isStart, finish } = describeParts(parts)
  const natives: readonly unknown[] = Array.isArray(tool_calls) ? tool_calls : []
  const calls = toCallDeltas(parts).map(({ index, start, json }, position) => {
    const native = natives[position]
    if (start !== undefined) return { index, ...otherFieldsOf(native), ...toCompletionToolCall(start, json) }
    const isCustom = customCalls.has(index) || (isJsonObject(native) && isJsonObject(native.custom))
    return { index, ...(isCustom ? { custom: { input: json } } : { function: { arguments: json } }) }
  })
  const reasoning = Array.isArray(delta.content) ? textOf(parts, 'reasoning') : ''
  return {
    logprobs: null,
    ...choice,
    index: 0,
    delta: {
      ...(isStart && { role: 'assistant' }),
      ...withTexts(delta),
      ...(Array.isArray(delta.content) && { content: textOf(parts, 'text') }),
      ...(reasoning && { reasoning_content: reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    finish_reason: isRegularFinish(choice.finish_reason, finish)
      ? (choice.finish_reason ?? null)
      : (finish ?? null),
  }
}

/** Converts a tool call to the chat-completions format. */
export function toCompletionToolCall({ id, name, custom, extra_content }: ToolStart, json = ''): JsonObject {
  return {
    id,
    ...(custom
      ? { type: 'custom', custom: { name, input: json } }
      : { type: 'function', function: { name, arguments: json } }),
    ...(extra_content && { extra_content }),
  }
}

/** Stands for a variable string in a chunk that serves as a template. */
const PLACEHOLDER = '\u0000'

/** The text of a chunk around its variable strings; undefined if chunks must be serialized again. */
type ChunkTemplate = readonly [head: string, middle: string, tail: string] | undefined

/**
 * Converts the text of a provider's chunk, with placeholders for its variable strings, to that of the
 * client's. `example` is a chunk of the same form.
 */
type ToText = (source: string, example: JsonObject) => string | undefined

const FIELD = 'data: '
const RECORD_END = '\n\n'

/**
 * Converts the text records of one stream, which is in the client's own format, by inserting their variable
 * strings into the template of their pattern.
 */
export class ChunkTemplates {
  readonly #toText: ToText
  #pattern: RecordPattern | undefined
  #template: ChunkTemplate
  /** What separates two records of a run. */
  #joint = ''
  #isAscii = false

  constructor(toText: ToText) {
    this.#toText = toText
  }

  /** Returns the chunk of a record as JSON text; undefined if it must be serialized again. */
  fill({ source = '' }: NativeRecord, pattern: RecordPattern): string | undefined {
    if (this.#pattern !== pattern) this.#build(pattern)
    if (this.#template === undefined) return undefined
    const { before, between, after } = pattern
    const [head, middle, tail] = this.#template
    const end = source.length - after.length
    if (between === undefined) return head + source.slice(before.length, end) + tail
    // A quotation mark inside of a string is escaped, so the first match is the end of the text.
    const textEnd = source.indexOf(between, before.length)
    const text = source.slice(before.length, textEnd)
    return head + text + middle + source.slice(textEnd + between.length, end) + tail
  }

  /** Returns the SSE records of a run; undefined if they must be serialized again. */
  fillRun(run: TextRun<ReplyEvent>): string | undefined {
    const { pattern, source, bounds } = run
    if (this.#pattern !== pattern) this.#build(pattern)
    if (this.#template === undefined) return undefined
    const [head, middle, tail] = this.#template
    const step = pattern.between === undefined ? 2 : 4
    // The variable strings of a record are one slice if what is between them stays. Joining a list of all
    // pieces takes longer than concatenation.
    const isOneSlice = step === 2 || middle === pattern.between
    let text = FIELD + head
    for (let index = 0; index < bounds.length; index += step) {
      if (index > 0) text += this.#joint
      if (isOneSlice) text += source.slice(bounds[index], bounds[index + step - 1])
      else
        text +=
          source.slice(bounds[index], bounds[index + 1]) +
          middle +
          source.slice(bounds[index + 2], bounds[index + 3])
    }
    return text + tail + RECORD_END
  }

  /** Whether the records of a run that was filled last are ASCII; false is not certain. */
  isAscii(run: TextRun<ReplyEvent>): boolean {
    return run.isAscii && this.#isAscii
  }

  #build(pattern: RecordPattern): void {
    this.#pattern = pattern
    this.#template = buildTemplate(pattern, this.#toText)
    if (this.#template === undefined) return
    const [head, middle, tail] = this.#template
    this.#joint = tail + RECORD_END + FIELD + head
    this.#isAscii = isAsciiText(this.#joint) && isAsciiText(middle)
  }
}

function buildTemplate({ before, between, after, example }: RecordPattern, toText: ToText): ChunkTemplate {
  const texts = between === undefined ? [before, after] : [before, between, after]
  const parts = toText(texts.join(PLACEHOLDER), example)?.split(PLACEHOLDER)
  if (parts?.length !== texts.length) return undefined
  return [parts[0] ?? '', between === undefined ? '' : (parts[1] ?? ''), parts.at(-1) ?? '']
}

const USAGE = '"usage"'
const EMPTY_USAGE = ',"usage":null'

/**
 * Replaces the id in the text of a provider's chunk, because serializing objects again is half the work of a
 * stream. Removes an empty usage that the client did not request. Returns undefined if the text does not have
 * the expected form, or if the chunk needs other changes. See docs/decisions/replies.md, "A chunk in the
 * client's own format is passed through as text".
 */
export function spliceChunk(
  source: string,
  record: JsonObject,
  id: string,
  wantsUsage: boolean,
): string | undefined {
  const head = `{"id":"${record.id}",`
  if (!source.startsWith(head) || !source.endsWith('}') || source.includes('\n')) return undefined
  if (record.usage !== undefined && record.usage !== null) return undefined
  if (record.usage === undefined || wantsUsage) return `{"id":"${id}",${source.slice(head.length)}`
  // Quotation marks inside strings are escaped, so a single match is the chunk's own field.
  const index = source.indexOf(USAGE) - 1
  const end = index + EMPTY_USAGE.length
  if (source.slice(index, end) !== EMPTY_USAGE || index + 1 !== source.lastIndexOf(USAGE)) return undefined
  return `{"id":"${id}",${source.slice(head.length, index)}${source.slice(end)}`
}
