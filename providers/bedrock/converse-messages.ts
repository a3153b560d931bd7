import type { JsonObject } from '../../core/contract/json.ts'
import type { AnthropicMessage } from '../anthropic/wire.ts'
import { asObject, asObjects, asString } from '../shared/fields.ts'
import { unsupportedParameterError } from '../shared/request-errors.ts'

/** Merges neighbours of the same role: turns must alternate. Later instructions are those of the user. */
export function toConverseMessages(messages: readonly AnthropicMessage[]): readonly JsonObject[] {
  const merged: { readonly role: string; readonly content: JsonObject[] }[] = []
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = toConverseBlocks(message.content)
    const last = merged.at(-1)
    if (content.length === 0) continue
    if (last?.role === role) last.content.push(...content)
    else merged.push({ role, content: [...content] })
  }
  return merged
}

/**
 * Converts Anthropic's blocks. Blocks that only Anthropic has are left out. Throws a `GatewayError` for media
 * by URL.
 */
export function toConverseBlocks(blocks: readonly object[]): readonly JsonObject[] {
  return asObjects(blocks).flatMap((block) => {
    const converted = toConverseBlock(block)
    if (converted === undefined) return []
    const control = block.cache_control
    return control == null ? [converted] : [converted, toCachePoint(control)]
  })
}

/** The end of a part of the prompt that is to be cached. */
export function toCachePoint(control: unknown): JsonObject {
  return { cachePoint: { type: 'default', ttl: asObject(control).ttl === '1h' ? '1h' : undefined } }
}

function toConverseBlock(block: JsonObject): JsonObject | undefined {
  switch (block.type) {
    case 'text':
      return { text: block.text }
    case 'image':
      return { image: toImage(asObject(block.source)) }
    case 'document':
      return { document: toDocument(block) }
    case 'tool_use':
      return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } }
    case 'tool_result':
      return { toolResult: toToolResult(block) }
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

function toToolResult({ tool_use_id: toolUseId, content, is_error }: JsonObject): JsonObject {
  return {
    toolUseId,
    content: typeof content === 'string' ? [{ text: content }] : toConverseBlocks(asObjects(content)),
    status: is_error === true ? 'error' : undefined,
  }
}

function toImage({ type, media_type, data }: JsonObject): JsonObject {
  if (type !== 'base64')
    throw unsupportedParameterError('messages', 'must hold images in base64 for bedrock.')
  return { format: asString(media_type).slice('image/'.length), source: { bytes: data } }
}

/** Names may hold letters, digits, single spaces, dashes, parentheses and brackets. */
function toDocument({ title, source }: JsonObject): JsonObject {
  const { type, data } = asObject(source)
  if (type !== 'base64' && type !== 'text')
    throw unsupportedParameterError('messages', 'must hold documents in base64 for bedrock.')
  const name = asString(title)
    .replace(/[^\p{L}\p{N}()[\]-]+/gu, ' ')
    .trim()
  const bytes = type === 'text' ? Buffer.from(asString(data)).toString('base64') : data
  return { format: type === 'text' ? 'txt' : 'pdf', name: name || 'document', source: { bytes } }
}
