import type { Message } from '../../core/contract/chat.ts'
import { joinText } from '../chat-format/join-text.ts'
import { refuseMessage } from '../chat-format/refuse-message.ts'
import { toChatToolCall } from '../chat-format/write-tools.ts'
import { readString } from '../read-fields.ts'
import type { ChatMessage, DeepSeekContentPart } from './wire.ts'
import { writeAttachments, writeContent } from './write-content.ts'

/**
 * The conversation with the fields that DeepSeek knows (reference 8.2). What tools gave besides text follows their
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
      const name = readString(message.name)
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
