import {
  type ChatRequest,
  type ContentPart,
  isJsonObject,
  type JsonObject,
  type Message,
} from '../contract/index.ts'

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
export function mapTexts(request: ChatRequest, rewrite: (text: string) => string): ChatRequest {
  const messages = mapList(request.messages, (message) => mapMessage(message, rewrite))
  return messages === request.messages ? request : { ...request, messages }
}

function mapMessage(message: Message, rewrite: (text: string) => string): Message {
  const content = mapContent(message.content, rewrite)
  const calls = message.tool_calls
  const tool_calls =
    calls &&
    mapList(calls, (call) => {
      const args = rewrite(call.function.arguments)
      if (args === call.function.arguments) return call
      return { ...call, function: { ...call.function, arguments: args } }
    })
  if (content === message.content && tool_calls === calls) return message
  return { ...message, ...(content !== undefined && { content }), ...(tool_calls && { tool_calls }) }
}

function mapContent(content: Message['content'], rewrite: (text: string) => string): Message['content'] {
  if (typeof content === 'string') return rewrite(content)
  if (!Array.isArray(content)) return content
  return mapList(content as readonly ContentPart[], (part) =>
    BINARY.has(part.type) ? part : (mapFields(part, rewrite) as ContentPart),
  )
}

function mapFields(value: JsonObject, rewrite: (text: string) => string): JsonObject {
  let changed: Record<string, unknown> | undefined
  for (const [name, field] of Object.entries(value)) {
    if (STRUCTURAL.has(name)) continue
    const mapped = mapValue(field, rewrite)
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
  for (const [place, item] of items.entries()) {
    const mapped = rewrite(item)
    if (mapped === item) continue
    changed ??= [...items]
    changed[place] = mapped
  }
  return changed ?? items
}
