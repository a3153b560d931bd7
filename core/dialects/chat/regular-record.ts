import {
  isJsonObject,
  type JsonObject,
  type ReplyPart,
  type ToolStart,
  type Usage,
} from '../../contract/index.ts'

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
export interface EnvelopeFields {
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
export interface RecordParts {
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
export interface CallDelta {
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
export function toRegularUsage(usage: unknown, ours: JsonObject): JsonObject {
  if (!isJsonObject(usage)) return ours
  return isRegularUsage(usage) ? usage : { ...usage, ...ours }
}

export function isRegularUsage(usage: unknown): boolean {
  if (!isJsonObject(usage)) return false
  for (const name of COUNTS) if (!isCount(usage[name])) return false
  for (const name of DETAILS) if (!hasCounts(usage[name])) return false
  return true
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
