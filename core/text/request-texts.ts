import { type ChatRequest, isJsonObject, type JsonObject, type Message } from '../contract/index.ts'

/**
 * Every text in a request that rules look at: each string as it is, and each content that is a list also as its JSON
 * encoding, so that neither form hides what the other shows (docs/api.md, "Input that rules inspect").
 */
export function requestTexts(request: ChatRequest): readonly string[] {
  const texts = stringValues(request)
  for (const { content } of request.messages) {
    if (Array.isArray(content)) texts.push(JSON.stringify(content, hideBinary))
  }
  return texts
}

/** The texts of the user's own messages: what the routing condition `contains` looks at. */
export function userTexts(request: ChatRequest): readonly string[] {
  const messages = request.messages.filter(({ role }) => role === 'user')
  return requestTexts(messages.length === request.messages.length ? request : { ...request, messages })
}

/** Each string that goes to the model, once. */
export function stringValues(request: ChatRequest): string[] {
  const strings: string[] = []
  mapRequestTexts(request, (text) => {
    strings.push(text)
    return text
  })
  return strings
}

function hideBinary(name: string, value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith('data:')) return undefined
  return name === 'input_audio' || name === 'file' ? undefined : value
}

/** Fields that say what a part is, not what it says. */
const STRUCTURAL = new Set([
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

/** Parts that hold bytes. */
const BINARY = new Set(['input_audio', 'file'])

/**
 * The request with every text that goes to the model rewritten: contents of all roles, tool-call arguments, tool results.
 * Structural fields and binary data stay. The same object when nothing changed.
 */
export function mapRequestTexts(request: ChatRequest, rewrite: (text: string) => string): ChatRequest {
  const messages = mapList(request.messages, (message) => mapMessage(message, rewrite))
  return messages === request.messages ? request : { ...request, messages }
}

function mapMessage(message: Message, rewrite: (text: string) => string): Message {
  const isResult = message.role === 'tool' || message.role === 'function'
  // The cast is safe: every field keeps its type.
  return mapEntries(message, (name, field) => {
    switch (name) {
      case 'content':
        return mapContent(field, isResult ? (text) => mapJsonText(text, rewrite) : rewrite)
      case 'reasoning_content':
      case 'refusal':
        return typeof field === 'string' ? rewrite(field) : field
      case 'tool_calls':
        return Array.isArray(field) ? mapList(field, (call) => mapCall(call, rewrite)) : field
      case 'function_call':
        return mapFunction(field, rewrite)
      default:
        return field
    }
  }) as Message
}

function mapCall(call: unknown, rewrite: (text: string) => string): unknown {
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
  return typeof type === 'string' && BINARY.has(type)
}

/**
 * Rewrites a text that may be a JSON document, as tools take and give them: its string values, so that JSON's escapes hide
 * nothing, and the text itself when that changed no value.
 */
function mapJsonText(text: string, rewrite: (text: string) => string): string {
  const value = parseDocument(text)
  const mapped = mapEvery(value, rewrite)
  return mapped === value ? rewrite(text) : JSON.stringify(mapped)
}

function parseDocument(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    // Not a document after all, or one that was cut off: then it is a text like any other.
    return undefined
  }
}

/** Every string value, whatever its field is called: in a tool's own document no name is structural. */
function mapEvery(value: unknown, rewrite: (text: string) => string): unknown {
  if (typeof value === 'string') return rewrite(value)
  if (Array.isArray(value)) return mapList(value, (item) => mapEvery(item, rewrite))
  return isJsonObject(value) ? mapEntries(value, (_, field) => mapEvery(field, rewrite)) : value
}

function mapFields(value: JsonObject, rewrite: (text: string) => string): JsonObject {
  return mapEntries(value, (name, field) => (STRUCTURAL.has(name) ? field : mapValue(field, rewrite)))
}

/** The same object when no field changed. */
function mapEntries(value: JsonObject, rewrite: (name: string, field: unknown) => unknown): JsonObject {
  let changed: Record<string, unknown> | undefined
  // Half the cost of Object.entries, on every message of every request; what was parsed from JSON inherits nothing.
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

/** Like `map`, but the same array when no item changed. */
function mapList<T>(items: readonly T[], rewrite: (item: T) => T): readonly T[] {
  let changed: T[] | undefined
  for (let place = 0; place < items.length; place++) {
    // The cast is safe: the place is within the list.
    const item = items[place] as T
    const mapped = rewrite(item)
    if (mapped === item) continue
    changed ??= [...items]
    changed[place] = mapped
  }
  return changed ?? items
}
