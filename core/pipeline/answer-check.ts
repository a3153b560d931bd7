import { type AnswerIssue, type ChatRequest, isJsonObject, type ReplyPart } from '../contract/index.ts'
import { parseJson } from '../util/json.ts'
import { matchesSchema } from '../util/matches-schema.ts'

/** Characters of a reply that are checked; a longer one is not. */
const MAX_CHARS = 64_000

/**
 * Collects what can be checked of a reply: the arguments of tool calls, and the text if the request demands a
 * form. Undefined for a request whose reply may be anything.
 */
export function createAnswerCheck({ tools, response_format: format }: ChatRequest): AnswerCheck | undefined {
  const isFormed = format?.type === 'json_schema' || format?.type === 'json_object'
  const hasTools = tools !== undefined && tools !== null && tools.length > 0
  return isFormed || hasTools ? new AnswerCheck(isFormed ? format : undefined) : undefined
}

export class AnswerCheck {
  readonly #format: ChatRequest['response_format']
  /** Arguments of functions by the index of their call. Custom tools take any text. */
  readonly #calls = new Map<number, string>()
  #text = ''
  #chars = 0

  constructor(format: ChatRequest['response_format']) {
    this.#format = format
  }

  add(part: ReplyPart): void {
    if (part.type === 'tool-start') {
      if (part.custom !== true) this.#calls.set(part.index, '')
    } else if (part.type === 'tool-json') {
      const json = this.#calls.get(part.index)
      if (json === undefined || !this.#hasRoom(part.json)) return
      this.#calls.set(part.index, json + part.json)
    } else if (part.type === 'text' && this.#format && this.#hasRoom(part.text)) {
      this.#text += part.text
    }
  }

  /** Parses what was collected. Call it once the reply is complete. */
  issues(): readonly AnswerIssue[] {
    if (this.#chars > MAX_CHARS) return []
    const issues: AnswerIssue[] = []
    if ([...this.#calls.values()].some((json) => !isJsonObject(parseJson(json === '' ? '{}' : json))))
      issues.push('invalid_tool_call')
    if (this.#format && this.#calls.size === 0 && !hasForm(parseJson(this.#text), this.#format))
      issues.push('schema_mismatch')
    return issues
  }

  #hasRoom(text: string): boolean {
    this.#chars += text.length
    return this.#chars <= MAX_CHARS
  }
}

function hasForm(value: unknown, format: NonNullable<ChatRequest['response_format']>): boolean {
  if (value === undefined) return false
  if (format.type === 'json_object') return isJsonObject(value)
  return !isJsonObject(format.json_schema) || matchesSchema(value, format.json_schema.schema)
}
