import type { ContentPart, ExtraContent, Message, ToolCall } from '../../contract/index.ts'
import { isJsonObject, type JsonObject } from '../../contract/index.ts'
import { decodeReasoning, isEncodedReasoning, withReasoningData } from '../carried-reasoning.ts'
import type { MessageBlock, MessageContent } from './content-schemas.ts'

/** Converts the system prompt and the messages to canonical messages. */
export function parseMessages(
  system: MessageContent | undefined,
  messages: readonly { readonly role: string; readonly content: MessageContent }[],
): readonly Message[] {
  const instructions = system === undefined || system.length === 0 ? [] : [toSystemMessage(system)]
  return [...instructions, ...messages.flatMap(toCanonicalMessages)]
}

function toCanonicalMessages(message: {
  readonly role: string
  readonly content: MessageContent
}): readonly Message[] {
  const { content } = message
  if (message.role === 'system') return [toSystemMessage(content)]
  if (message.role === 'assistant') return [toAssistantMessage(content)]
  if (typeof content === 'string') return [{ role: 'user', content }]
  const results = content.filter(({ type }) => type === 'tool_result')
  const others = content.filter(({ type }) => type !== 'tool_result')
  const user: Message = { role: 'user', content: others.map(toContentPart) }
  return [...results.map(toToolMessage), ...(others.length > 0 || results.length === 0 ? [user] : [])]
}

function toSystemMessage(content: MessageContent): Message {
  return { role: 'system', content: typeof content === 'string' ? content : content.map(toContentPart) }
}

/**
 * Tool calls are listed beside the content. If other blocks follow them, their places in the content are
 * marked, because Anthropic verifies that earlier turns are unchanged.
 */
function toAssistantMessage(content: MessageContent): Message {
  if (typeof content === 'string') return { role: 'assistant', content }
  const isCall = ({ type }: MessageBlock) => type === 'tool_use'
  const isMixed = content.slice(content.findIndex(isCall)).some((block) => !isCall(block))
  const calls = content.filter(isCall)
  const parts = content.flatMap((block) => {
    if (!isCall(block)) return toContentPart(withoutEncodedSignature(block))
    return isMixed ? [toExtraPart({ type: 'tool_use', id: block.id })] : []
  })
  const message: Message = {
    role: 'assistant',
    content: parts.length > 0 ? parts : null,
    ...(calls.length > 0 && { tool_calls: calls.map(toToolCall) }),
  }
  let callIndex = 0
  return content.reduce((built, block) => {
    if (isCall(block)) callIndex++
    const data = decodeReasoning(block.signature)
    return data.length === 0 ? built : withReasoningData(built, data, callIndex)
  }, message)
}

/** Only the gateway reads what it encoded: the thinking is that of a provider other than Anthropic. */
function withoutEncodedSignature(block: MessageBlock): MessageBlock {
  if (!isEncodedReasoning(block.signature)) return block
  const { signature: _, ...others } = block
  // The cast is safe: the type stays.
  return others as MessageBlock
}

/** `extra_content` is what another provider wants back with the call. */
function toToolCall({ type: _, id, name, input, extra_content, ...others }: MessageBlock): ToolCall {
  // The schema requires the id, the name and the input.
  const called = { name: String(name), arguments: JSON.stringify(input) }
  const extra = { ...(isJsonObject(extra_content) && extra_content), ...toExtraContent(others).extra_content }
  return {
    id: String(id),
    type: 'function',
    function: called,
    ...(Object.keys(extra).length > 0 && { extra_content: extra }),
  }
}

function toToolMessage({ type: _, tool_use_id, content, ...others }: MessageBlock): Message {
  return {
    role: 'tool',
    tool_call_id: String(tool_use_id),
    content: Array.isArray(content) ? content.map(toContentPart) : ((content as string | undefined) ?? ''),
    ...toExtraContent(others),
  }
}

/** Blocks that the canonical form cannot express become parts of the type `extra_content`. */
function toContentPart(block: MessageBlock): ContentPart {
  const { type, ...others } = block
  switch (type) {
    case 'text': {
      const { text, ...more } = others
      return { type, text: String(text), ...toExtraContent(more) }
    }
    case 'image': {
      const { source, ...more } = others
      const url = isJsonObject(source) && toImageUrl(source)
      if (url) return { type: 'image_url', image_url: { url }, ...toExtraContent(more) }
      break
    }
    case 'document': {
      const { source, title, ...more } = others
      const located = isJsonObject(source) && toFile(source)
      if (!located) break
      const file = { ...located, ...(typeof title === 'string' && { filename: title }) }
      return { type: 'file', file, ...toExtraContent(more) }
    }
  }
  return toExtraPart(block)
}

function toExtraPart(block: JsonObject): ContentPart {
  return { type: 'extra_content', extra_content: { anthropic: block } }
}

/** Fields that the canonical form has no place for; none if they are all null. */
export function toExtraContent(fields: JsonObject): { readonly extra_content?: ExtraContent } {
  const set = Object.entries(fields).filter(([, value]) => value != null)
  return set.length === 0 ? {} : { extra_content: { anthropic: Object.fromEntries(set) } }
}

const IMAGE_TYPE = /^image\/[\w.+-]+$/

/** Returns undefined for a source that has no URL, such as a file at Anthropic. */
export function toImageUrl({ type, media_type, data, url, ...others }: JsonObject): string | undefined {
  if (hasValue(others)) return undefined
  if (type === 'url') return isHttpUrl(url) ? url : undefined
  const isImage = typeof media_type === 'string' && IMAGE_TYPE.test(media_type)
  return type === 'base64' && isImage && typeof data === 'string'
    ? `data:${media_type};base64,${data}`
    : undefined
}

/** Returns undefined for a source other than a PDF, a text or a URL. */
function toFile({ type, media_type, data, url, ...others }: JsonObject): JsonObject | undefined {
  if (hasValue(others)) return undefined
  if (type === 'url') return isHttpUrl(url) ? { file_url: url } : undefined
  if (typeof data !== 'string') return undefined
  if (type === 'base64' && media_type === 'application/pdf')
    return { file_data: `data:${media_type};base64,${data}` }
  if (type !== 'text' || media_type !== 'text/plain') return undefined
  return { file_data: `data:text/plain;base64,${Buffer.from(data).toString('base64')}` }
}

function isHttpUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https?:/i.test(value)
}

function hasValue(fields: JsonObject): boolean {
  return Object.values(fields).some((value) => value != null)
}
