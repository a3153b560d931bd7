import type { Message } from '../../core/contract/chat.ts'
import { joinText } from '../chat-format/join-text.ts'
import { refuseMessage } from '../chat-format/refuse-message.ts'
import { toChatToolCall } from '../chat-format/write-tools.ts'
import { readString } from '../read-fields.ts'
import { createToolCallIds, type ToolCallIds } from './tool-call-ids.ts'
import type { AssistantMessage, ChatMessage } from './wire.ts'
import { writeContent } from './write-content.ts'

/** The conversation with the fields that Mistral knows (reference 7.1); thoughts of earlier answers are not among them. */
export function writeMessages(messages: readonly Message[]): readonly ChatMessage[] {
  const idOf = createToolCallIds()
  return messages.map((message, place) => {
    const written = writeMessage(message, idOf)
    return written.role === 'assistant' && place === messages.length - 1 ? markPrefix(written) : written
  })
}

function writeMessage(message: Message, idOf: ToolCallIds): ChatMessage {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: joinText(message.content) }
    case 'user':
      return { role: 'user', content: writeContent(message.content) }
    case 'assistant':
      return writeAssistant(message, idOf)
    case 'tool': {
      const name = readString(message.name)
      const tool_call_id = idOf(message.tool_call_id ?? '')
      return {
        role: 'tool',
        content: writeContent(message.content),
        tool_call_id,
        ...(name !== '' && { name }),
      }
    }
    case 'function':
      throw refuseMessage('mistral', 'the role function')
  }
}

function writeAssistant({ content, tool_calls }: Message, idOf: ToolCallIds): AssistantMessage {
  const calls = (tool_calls ?? []).map((call) => toChatToolCall(call, idOf(call.id)))
  return {
    role: 'assistant',
    content: joinText(content),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

/** A conversation may end with the assistant's own words only when the answer shall go on from them. */
function markPrefix(message: AssistantMessage): AssistantMessage {
  return message.tool_calls ? message : { ...message, prefix: true }
}
