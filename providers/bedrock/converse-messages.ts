import type { JsonObject } from '../../core/contract/json.ts'
import type { AnthropicMessage } from '../anthropic/wire.ts'
import { asObject, asObjects, asString } from '../shared/fields.ts'
import { unsupportedParameterError } from '../shared/request-errors.ts'

/** Merges neighbours of the same role: turns must alternate. Later instructions are those of the user. */
export function toConverseMessages(messages: readonly AnthropicMessage[]): readonly JsonObject[] {
  const names = new Set<string>()
  const merged: { readonly role: string; readonly content: JsonObject[] }[] = []
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = toConverseBlocks(message.content, names)
    const last = merged.at(-1)
    if (content.length === 0) continue
    if (last?.role === role) last.content.push(...content)
    else merged.push({ role, content: [...content] })
  }
  return merged
}

/**
 * Converts Anthropic's blocks. Blocks that only Anthropic has are left out. Throws a `GatewayError` for media
 * by URL. `names` are those of the documents before.
 */
export function toConverseBlocks(
  blocks: readonly object[],
  names = new Set<string>(),
): readonly JsonObject[] {
  return asObjects(blocks).flatMap((block) => {
    const converted = toConverseBlock(block, names)
    if (converted === undefined) return []
    const control = block.cache_control
    return control == null ? [converted] : [converted, toCachePoint(control)]
  })
}

/** The end of a part of the prompt that is to be cached. */
export function toCachePoint(control: unknown): JsonObject {
  return { cachePoint: { type: 'default', ttl: asObject(control).ttl === '1h' ? '1h' : undefined } }
}

function toConverseBlock(block: JsonObject, names: Set<string>): JsonObject | undefined {
  switch (block.type) {
    case 'text':
      return { text: block.text }
    case 'image':
      return { image: toImage(asObject(block.source)) }
    case 'document':
      return { document: toDocument(block, names) }
    case 'tool_use':
      return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } }
    case 'tool_result':
      return { toolResult: toToolResult(block, names) }
    case 'thinking': {
      const { thinking: text, signature } = block
      return { reasoningContent: { reasoningText: { text, signature } } }
    }
    case 'redacted_thinking':
      return { reasoningContent: { redactedContent: block.data } }
    default:
      return undefined
  }
}

function toToolResult(
  { tool_use_id: toolUseId, content, is_error }: JsonObject,
  names: Set<string>,
): JsonObject {
  return {
    toolUseId,
    content: typeof content === 'string' ? [{ text: content }] : toConverseBlocks(asObjects(content), names),
    status: is_error === true ? 'error' : undefined,
  }
}

function toImage({ type, media_type, data }: JsonObject): JsonObject {
  if (type !== 'base64')
    throw unsupportedParameterError('messages', 'must hold images in base64 for bedrock.')
  return { format: asString(media_type).slice('image/'.length), source: { bytes: data } }
}

function toDocument({ title, source }: JsonObject, names: Set<string>): JsonObject {
  const { type, data } = asObject(source)
  if (type !== 'base64' && type !== 'text')
    throw unsupportedParameterError('messages', 'must hold documents in base64 for bedrock.')
  const bytes = type === 'text' ? Buffer.from(asString(data)).toString('base64') : data
  const name = toDocumentName(asString(title), names)
  return { format: type === 'text' ? 'txt' : 'pdf', name, source: { bytes } }
}

const MAX_NAME_CHARS = 190

/**
 * Names may hold letters of ASCII, digits, single spaces, dashes, parentheses and brackets, and must differ:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html.
 */
function toDocumentName(title: string, names: Set<string>): string {
  const allowed = title.replace(/[^A-Za-z0-9()[\]-]+/g, ' ').trim()
  const wanted = allowed.slice(0, MAX_NAME_CHARS).trim() || 'document'
  let name = wanted
  for (let n = 2; names.has(name.toLowerCase()); n++) name = `${wanted} ${n}`
  names.add(name.toLowerCase())
  return name
}
