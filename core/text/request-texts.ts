import { type ChatRequest, isJsonObject, type JsonObject, type Message } from '../contract/index.ts'
import { parseJson } from '../util/json.ts'

/**
 * Returns all texts of a request that rules inspect: every string, and every content list also as its JSON
 * encoding, because a pattern may match only one of the two forms (docs/api.md, "Input that rules inspect").
 */
export function requestTexts(request: ChatRequest): readonly string[] {
  const texts = stringValues(request)
  for (const { content } of request.messages) {
    if (Array.isArray(content)) texts.push(JSON.stringify(content, omitBinary))
  }
  return texts
}

/** Like `requestTexts`, for user messages only: the input of the routing condition `contains`. */
export function userTexts(request: ChatRequest): readonly string[] {
  const messages = request.messages.filter(({ role }) => role === 'user')
  return requestTexts(messages.length === request.messages.length ? request : { ...request, messages })
}

/** Returns every string that is sent to the model. */
export function stringValues(request: ChatRequest): string[] {
  const strings: string[] = []
  mapRequestTexts(request, (text) => {
    strings.push(text)
    return text
  })
  return strings
}

/** A `JSON.stringify` replacer. */
function omitBinary(name: string, value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith('data:')) return undefined
  return name === 'input_audio' || name === 'file' ? undefined : value
}

/** Fields that describe a part, and are not content. */
const STRUCTURAL_FIELDS = new Set([
  'type',
  'role',
  'name',
  'id',
  'tool_call_id',
  'detail',
  'format',
  'file_id',
  'mime_type',
])

/** Types of parts with binary data. */
const BINARY_TYPES = new Set(['input_audio', 'file'])

/**
 * Rewrites every text that is sent to the model: contents of all roles, tool call arguments and tool results.
 * Keeps structural fields and binary data. Returns the same object if nothing changed.
 */
export function mapRequestTexts(request: ChatRequest, rewrite: (text: string) => string): ChatRequest {
  const messages = mapList(request.messages, (message) => mapMessage(message, rewrite))
  return messages === request.messages ? request : { ...request, messages }
}

function mapMessage(message: Message, rewrite: (text: string) => string): Message {
  const isToolResult = message.role === 'tool' || message.role === 'function'
  // The cast is safe, because every field keeps its type.
  return mapEntries(message, (name, field) => {
    switch (name) {
      case 'content':
        return mapContent(field, isToolResult ? (text) => mapJsonText(text, rewrite) : rewrite)
      case 'reasoning_content':
      case 'refusal':
        return typeof field === 'string' ? rewrite(field) : field
      case 'tool_calls':
        return Array.isArray(field) ? mapList(field, (call) => mapToolCall(call, rewrite)) : field
      case 'function_call':
        return mapFunction(field, rewrite)
      default:
        return field
    }
  }) as Message
}

function mapToolCall(call: unknown, rewrite: (text: string) => string): unknown {
  if (!isJsonObject(call)) return call
  return mapEntries(call, (name, field) => (name === 'function' ? mapFunction(field, rewrite) : field))
}

function mapFunction(value: unknown, rewrite: (text: string) => string): unknown {
  if (!isJsonObject(value)) return value
  return mapEntries(value, (name, field) =>
    name === 'arguments' && typeof field === 'string' ? mapJsonText(field, rewrite) : field,
  )
}

function mapContent(content: unknown, rewrite: (text: string) => string): unknown {
  if (typeof content === 'string') return rewrite(content)
  if (!Array.isArray(content)) return content
  return mapList(content, (part) => (isJsonObject(part) && !isBinary(part) ? mapFields(part, rewrite) : part))
}

function isBinary({ type }: JsonObject): boolean {
  return typeof type === 'string' && BINARY_TYPES.has(type)
}

/**
 * Rewrites a text that may be a JSON document, such as tool arguments: first its string values, which JSON
 * escapes would hide from patterns; if that changes nothing, the text itself. See docs/decisions/firewall.md,
 * "JSON in tool calls is masked by value".
 */
function mapJsonText(text: string, rewrite: (text: string) => string): string {
  // Only objects and arrays are documents. Truncated documents are rewritten as plain text.
  const value = /^\s*[[{]/.test(text) ? parseJson(text) : undefined
  const mapped = mapAllStrings(value, rewrite)
  return mapped === value ? rewrite(text) : JSON.stringify(mapped)
}

/** Rewrites all string values: in a tool's own document no field is structural. */
function mapAllStrings(value: unknown, rewrite: (text: string) => string): unknown {
  if (typeof value === 'string') return rewrite(value)
  if (Array.isArray(value)) return mapList(value, (item) => mapAllStrings(item, rewrite))
  return isJsonObject(value) ? mapEntries(value, (_, field) => mapAllStrings(field, rewrite)) : value
}

function mapFields(value: JsonObject, rewrite: (text: string) => string): JsonObject {
  return mapEntries(value, (name, field) => (STRUCTURAL_FIELDS.has(name) ? field : mapValue(field, rewrite)))
}

/** Returns the same object if no field changed. */
function mapEntries(value: JsonObject, rewrite: (name: string, field: unknown) => unknown): JsonObject {
  let changed: Record<string, unknown> | undefined
  // Half the cost of Object.entries, for every message of every request. Parsed JSON inherits no fields.
  for (const name in value) {
    const field = value[name]
    const mapped = rewrite(name, field)
    if (mapped === field) continue
    changed ??= { ...value }
    changed[name] = mapped
  }
  return changed ?? value
}

function mapValue(value: unknown, rewrite: (text: string) => string): unknown {
  if (typeof value === 'string') return value.startsWith('data:') ? value : rewrite(value)
  if (Array.isArray(value)) return mapList(value, (item) => mapValue(item, rewrite))
  return isJsonObject(value) ? mapFields(value, rewrite) : value
}

/** Like `Array.map`, but returns the same array if no item changed. */
function mapList<T>(items: readonly T[], rewrite: (item: T) => T): readonly T[] {
  let changed: T[] | undefined
  for (let index = 0; index < items.length; index++) {
    // The cast is safe, because the index is within the bounds.
    const item = items[index] as T
    const mapped = rewrite(item)
    if (mapped === item) continue
    changed ??= [...items]
    changed[index] = mapped
  }
  return changed ?? items
}
