import type { ContentPart, Message } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { joinText, unsupportedContentError } from '../chat-format/messages.ts'
import { reasoningTextOf } from '../chat-format/reasoning-fields.ts'
import { toChatToolCall } from '../chat-format/tools.ts'
import { asObject, asString } from '../shared/fields.ts'
import type { DeepSeekContentPart, DeepSeekMessage } from './wire.ts'

/**
 * The conversation with only the fields that DeepSeek knows (docs/providers.md, "DeepSeek requests"). Tool
 * messages hold text only: their other parts follow in a user message after the last result, because the
 * results of parallel calls must not be separated.
 */
export function toDeepSeekMessages(messages: readonly Message[]): readonly DeepSeekMessage[] {
  const converted: DeepSeekMessage[] = []
  let attachments: DeepSeekContentPart[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      attachments.push(...toAttachments(message.content))
    } else if (attachments.length > 0) {
      converted.push(toAttachmentMessage(attachments))
      attachments = []
    }
    converted.push(toDeepSeekMessage(message))
  }
  if (attachments.length > 0) converted.push(toAttachmentMessage(attachments))
  return converted
}

function toDeepSeekMessage(message: Message): DeepSeekMessage {
  const { role, content } = message
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: joinText(content) }
    case 'user': {
      const name = asString(message.name)
      return { role, content: toContent(content), ...(name !== '' && { name }) }
    }
    case 'assistant':
      return toAssistantMessage(message)
    case 'tool':
      return { role, content: joinText(content), tool_call_id: message.tool_call_id ?? '' }
    case 'function':
      throw unsupportedContentError('deepseek', 'messages with the role "function"')
  }
}

/**
 * Messages with tool calls need the reasoning before them: without it, a thinking model answers 400. In other
 * messages DeepSeek ignores the reasoning.
 */
function toAssistantMessage(message: Message): DeepSeekMessage {
  const { content, tool_calls } = message
  const converted = { role: 'assistant' as const, content: joinText(content) }
  if (tool_calls == null || tool_calls.length === 0) return converted
  return {
    ...converted,
    reasoning_content: asString(reasoningTextOf(message)),
    tool_calls: tool_calls.map((call) => toChatToolCall(call, call.id)),
  }
}

/** The parts of a tool result that are not text. */
function toAttachments(content: Message['content']): readonly DeepSeekContentPart[] {
  if (!Array.isArray(content)) return []
  return content.filter(({ type }) => type !== 'text').map(toContentPart)
}

function toAttachmentMessage(attachments: readonly DeepSeekContentPart[]): DeepSeekMessage {
  return { role: 'user', content: [{ type: 'text', text: 'From the tool results:' }, ...attachments] }
}

/** User content, as a list only if it holds more than text (docs/providers.md, "DeepSeek requests"). */
function toContent(content: Message['content']): string | readonly DeepSeekContentPart[] {
  const isText = !Array.isArray(content) || content.every(({ type }) => type === 'text')
  return isText ? joinText(content) : content.map(toContentPart)
}

function toContentPart(part: ContentPart): DeepSeekContentPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: asString(part.text) }
    case 'image_url':
      return toImagePart(asObject(part.image_url))
    case 'file':
      return toFilePart(asObject(part.file))
    default:
      throw unsupportedContentError('deepseek', `content parts of type "${part.type}"`)
  }
}

function toImagePart({ url, detail }: JsonObject): DeepSeekContentPart {
  const isKnownDetail = detail === 'auto' || detail === 'low' || detail === 'high'
  return { type: 'image_url', image_url: { url: asString(url), ...(isKnownDetail && { detail }) } }
}

function toFilePart({ file_id, file_data, filename }: JsonObject): DeepSeekContentPart {
  return {
    type: 'file',
    file: {
      ...(typeof file_id === 'string' && { file_id }),
      ...(typeof file_data === 'string' && { file_data }),
      ...(typeof filename === 'string' && { filename }),
    },
  }
}
