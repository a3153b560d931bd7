import type { ContentPart, Message } from '../../core/contract/chat.ts'
import { joinText } from '../chat-format/messages.ts'
import { reasoningTextOf } from '../chat-format/reasoning-fields.ts'
import { toChatToolCall } from '../chat-format/tools.ts'
import type { ChatToolCall } from '../chat-format/wire.ts'
import { asObject, asString } from '../shared/fields.ts'
import { type FileSource, parseFilePart, toDataUrl } from '../shared/files.ts'
import { isInstruction, markLaterInstructions } from '../shared/instructions.ts'
import { unsupportedPartError } from '../shared/request-errors.ts'

/**
 * The conversation with only the fields that Mistral knows (docs/providers.md, "Mistral"). Models
 * that reason get the reasoning before tool calls, as Mistral writes it.
 */
export function toMistralMessages(
  messages: readonly Message[],
  isReasoning = false,
): readonly MistralMessage[] {
  return withRepliesToTools(withTurns(messages)).map((message, index, all) => {
    const converted = toMistralMessage(message, isReasoning, `messages[${index}].content`)
    return converted.role === 'assistant' && index === all.length - 1 ? withPrefix(converted) : converted
  })
}

/** Mistral replies to a user or a tool only: without any turn, the instructions are the user's. */
function withTurns(messages: readonly Message[]): readonly Message[] {
  if (messages.every(isInstruction)) return messages.map((message) => ({ ...message, role: 'user' }))
  return markLaterInstructions(messages)
}

/** Mistral rejects a message of the user behind a tool result: only the assistant may follow it. */
function withRepliesToTools(messages: readonly Message[]): readonly Message[] {
  const needsReply = ({ role }: Message, index: number) =>
    role === 'user' && messages[index - 1]?.role === 'tool'
  if (!messages.some(needsReply)) return messages
  return messages.flatMap((message, index) =>
    needsReply(message, index) ? [{ role: 'assistant', content: REPLY_TO_TOOL }, message] : message,
  )
}

const REPLY_TO_TOOL = 'I have read the result.'

/** `path` is the location of the content. */
function toMistralMessage(message: Message, isReasoning: boolean, path: string): MistralMessage {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: joinText(message.content) }
    case 'user':
      return { role: 'user', content: toContent(message.content, path) }
    case 'assistant':
      return toAssistantMessage(message, isReasoning)
    case 'tool': {
      const name = asString(message.name)
      return {
        role: 'tool',
        content: toContent(message.content, path),
        tool_call_id: message.tool_call_id ?? '',
        ...(name !== '' && { name }),
      }
    }
  }
}

function toAssistantMessage(message: Message, isReasoning: boolean): MistralAssistantMessage {
  const text = joinText(message.content)
  const calls = (message.tool_calls ?? []).map(toChatToolCall)
  const thinking = isReasoning && calls.length > 0 ? asString(reasoningTextOf(message)) : ''
  return {
    role: 'assistant',
    content:
      thinking === ''
        ? text
        : [
            { type: 'thinking', thinking: [{ type: 'text', text: thinking }] },
            ...(text === '' ? [] : [{ type: 'text' as const, text }]),
          ],
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

/** Mistral accepts an assistant message at the end only as a prefix, which the reply continues. */
function withPrefix(message: MistralAssistantMessage): MistralAssistantMessage {
  return message.tool_calls ? message : { ...message, prefix: true }
}

/**
 * The content of a user or tool message, each part with known fields only
 * (docs/providers.md, "Parameters" and "Mistral").
 */
function toContent(content: Message['content'], path: string): MistralContent {
  if (typeof content === 'string') return content
  return (content ?? []).map((part, index) => toContentChunk(part, `${path}[${index}]`))
}

/** Throws a `GatewayError` for a part that Mistral does not support. */
export function toContentChunk(part: ContentPart, path: string): MistralContentChunk {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: asString(part.text) }
    case 'image_url':
      return toImageChunk(part.image_url)
    case 'input_audio':
      return { type: 'input_audio', input_audio: asString(asObject(part.input_audio).data) }
    case 'file':
      return toFileChunk(parseFilePart(part, path))
    case 'document_url':
      return toDocumentChunk(asString(part.document_url), asString(part.document_name))
    default:
      throw unsupportedPartError('mistral', path, part.type)
  }
}

/** `image` is `{url, detail}`, or, in Mistral's own format, the URL. */
function toImageChunk(image: unknown): MistralContentChunk {
  const { url, detail } = typeof image === 'string' ? { url: image } : asObject(image)
  return {
    type: 'image_url',
    image_url: { url: asString(url), ...(typeof detail === 'string' && { detail }) },
  }
}

function toFileChunk(file: FileSource): MistralContentChunk {
  if (file.type === 'id') return { type: 'file', file_id: file.id }
  return toDocumentChunk(file.type === 'url' ? file.url : toDataUrl(file), file.name)
}

function toDocumentChunk(url: string, name: string): MistralContentChunk {
  return { type: 'document_url', document_url: url, ...(name !== '' && { document_name: name }) }
}

/** The messages that are sent; a test compares them with those of Mistral's SDK. */
export type MistralMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: MistralContent }
  | MistralAssistantMessage
  | {
      readonly role: 'tool'
      readonly content: MistralContent
      readonly tool_call_id: string
      readonly name?: string
    }

export interface MistralAssistantMessage {
  readonly role: 'assistant'
  readonly content: string | readonly (MistralThinkingChunk | MistralTextChunk)[]
  readonly tool_calls?: readonly ChatToolCall[]
  /** The reply continues this message. */
  readonly prefix?: true
}

export type MistralContent = string | readonly MistralContentChunk[]

interface MistralTextChunk {
  readonly type: 'text'
  readonly text: string
}

interface MistralThinkingChunk {
  readonly type: 'thinking'
  readonly thinking: readonly MistralTextChunk[]
}

export type MistralContentChunk =
  | MistralTextChunk
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } }
  | { readonly type: 'input_audio'; readonly input_audio: string }
  | { readonly type: 'file'; readonly file_id: string }
  | { readonly type: 'document_url'; readonly document_url: string; readonly document_name?: string }
