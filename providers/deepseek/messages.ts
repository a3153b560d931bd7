import type { ContentPart, Message } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { joinText } from '../chat-format/messages.ts'
import { reasoningTextOf } from '../chat-format/reasoning-fields.ts'
import { toChatToolCall } from '../chat-format/tools.ts'
import type { ChatToolCall } from '../chat-format/wire.ts'
import { asObject, asString } from '../shared/fields.ts'
import { parseFilePart, toDataUrl, unsupportedFileError } from '../shared/files.ts'
import { unsupportedPartError } from '../shared/request-errors.ts'

/**
 * The conversation with only the fields that DeepSeek knows (docs/providers.md, "DeepSeek"). Tool
 * messages hold texts only.
 */
export function toDeepSeekMessages(messages: readonly Message[]): readonly DeepSeekMessage[] {
  return messages.map((message, index) => toDeepSeekMessage(message, `messages[${index}].content`))
}

/** `path` is the location of the content. */
function toDeepSeekMessage(message: Message, path: string): DeepSeekMessage {
  const { role, content } = message
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: joinText(content) }
    case 'user': {
      const name = asString(message.name)
      return { role, content: toContent(content, path), ...(name !== '' && { name }) }
    }
    case 'assistant':
      return toAssistantMessage(message)
    case 'tool':
      return { role, content: joinText(content), tool_call_id: message.tool_call_id ?? '' }
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
    tool_calls: tool_calls.map(toChatToolCall),
  }
}

/** User content, as a list only if it holds more than text (docs/providers.md, "DeepSeek"). */
function toContent(content: Message['content'], path: string): string | readonly DeepSeekContentPart[] {
  const isText = !Array.isArray(content) || content.every(({ type }) => type === 'text')
  return isText ? joinText(content) : content.map((part, index) => toContentPart(part, `${path}[${index}]`))
}

/** Throws a `GatewayError` for a part that DeepSeek does not support. */
export function toContentPart(part: ContentPart, path: string): DeepSeekContentPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: asString(part.text) }
    case 'image_url':
      return toImagePart(asObject(part.image_url))
    case 'file':
      return toFilePart(part, path)
    default:
      throw unsupportedPartError('deepseek', path, part.type)
  }
}

function toImagePart({ url, detail }: JsonObject): DeepSeekContentPart {
  const isKnownDetail = detail === 'auto' || detail === 'low' || detail === 'high'
  return { type: 'image_url', image_url: { url: asString(url), ...(isKnownDetail && { detail }) } }
}

function toFilePart(part: ContentPart, path: string): DeepSeekContentPart {
  const file = parseFilePart(part, path)
  const name = file.name === '' ? {} : { filename: file.name }
  switch (file.type) {
    case 'data':
      return { type: 'file', file: { file_data: toDataUrl(file), ...name } }
    case 'id':
      return { type: 'file', file: { file_id: file.id, ...name } }
    case 'url':
      throw unsupportedFileError('deepseek', path, file)
  }
}

/** The messages that are sent; a test compares them with those of OpenAI's SDK, which DeepSeek recommends. */
export type DeepSeekMessage =
  | { readonly role: 'system'; readonly content: string }
  | {
      readonly role: 'user'
      readonly content: string | readonly DeepSeekContentPart[]
      readonly name?: string
    }
  | {
      readonly role: 'assistant'
      readonly content: string
      readonly reasoning_content?: string
      readonly tool_calls?: readonly ChatToolCall[]
    }
  | { readonly role: 'tool'; readonly content: string; readonly tool_call_id: string }

export type DeepSeekContentPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image_url'
      readonly image_url: { readonly url: string; readonly detail?: 'auto' | 'low' | 'high' }
    }
  | {
      readonly type: 'file'
      readonly file: { readonly file_id?: string; readonly file_data?: string; readonly filename?: string }
    }
