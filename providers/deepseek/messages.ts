import type { ContentPart, Message } from '../../core/contract/chat.ts'
import { joinText, refuseMessage } from '../chat-format/request.ts'
import { toChatToolCall } from '../chat-format/tools.ts'
import { asObject, asString } from '../shared/fields.ts'
import type { ChatMessage, DeepSeekContentPart, DeepSeekContentPart as Part } from './wire.ts'

/**
 * The conversation with the fields that DeepSeek knows (docs/providers.md, "DeepSeek requests"). What tools gave besides text follows their
 * messages as the user's: the results of parallel calls must not be torn apart.
 */
export function writeMessages(messages: readonly Message[]): readonly ChatMessage[] {
  const written: ChatMessage[] = []
  let attachments: DeepSeekContentPart[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      attachments.push(...writeAttachments(message.content))
    } else if (attachments.length > 0) {
      written.push(writeToolAttachments(attachments))
      attachments = []
    }
    written.push(writeMessage(message))
  }
  if (attachments.length > 0) written.push(writeToolAttachments(attachments))
  return written
}

function writeMessage(message: Message): ChatMessage {
  const { role, content } = message
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: joinText(content) }
    case 'user': {
      const name = asString(message.name)
      return { role, content: writeContent(content), ...(name !== '' && { name }) }
    }
    case 'assistant':
      return writeAssistant(message)
    case 'tool':
      return { role, content: joinText(content), tool_call_id: message.tool_call_id ?? '' }
    case 'function':
      throw refuseMessage('deepseek', 'the role function')
  }
}

/** With tool calls the thoughts before them must come back, else a thinking model answers 400; without, they are ignored. */
function writeAssistant({ content, reasoning_content, tool_calls }: Message): ChatMessage {
  const message = { role: 'assistant' as const, content: joinText(content) }
  if (tool_calls == null || tool_calls.length === 0) return message
  return {
    ...message,
    reasoning_content: reasoning_content ?? '',
    tool_calls: tool_calls.map((call) => toChatToolCall(call, call.id)),
  }
}

function writeToolAttachments(attachments: readonly DeepSeekContentPart[]): ChatMessage {
  return { role: 'user', content: [{ type: 'text', text: 'From the tool results:' }, ...attachments] }
}

/** The content of a user message: a list only where more than text is in it (docs/providers.md, "DeepSeek requests"). */
function writeContent(content: Message['content']): string | readonly Part[] {
  const isText = !Array.isArray(content) || content.every(({ type }) => type === 'text')
  return isText ? joinText(content) : content.map(writePart)
}

/** The parts of a tool result that are not text; a tool message cannot hold them. */
function writeAttachments(content: Message['content']): readonly Part[] {
  if (!Array.isArray(content)) return []
  return content.filter(({ type }) => type !== 'text').map(writePart)
}

function writePart(part: ContentPart): Part {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: asString(part.text) }
    case 'image_url':
      return writeImage(asObject(part.image_url))
    case 'file':
      return writeFile(asObject(part.file))
    default:
      throw refuseMessage('deepseek', `parts of type ${part.type}`)
  }
}

function writeImage({ url, detail }: ReturnType<typeof asObject>): Part {
  const isKnown = detail === 'auto' || detail === 'low' || detail === 'high'
  return { type: 'image_url', image_url: { url: asString(url), ...(isKnown && { detail }) } }
}

function writeFile({ file_id, file_data, filename }: ReturnType<typeof asObject>): Part {
  return {
    type: 'file',
    file: {
      ...(typeof file_id === 'string' && { file_id }),
      ...(typeof file_data === 'string' && { file_data }),
      ...(typeof filename === 'string' && { filename }),
    },
  }
}
