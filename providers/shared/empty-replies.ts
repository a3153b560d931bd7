import type { ChatRequest, ContentPart, Message } from '../../core/contract/chat.ts'

/**
 * Leaves out earlier replies without any content, which clients keep of a turn that failed or was refused:
 * most providers reject the conversation for them. Returns the same request if there are none.
 */
export function withoutEmptyReplies(request: ChatRequest): ChatRequest {
  const { messages } = request
  if (!messages.some(isEmptyReply)) return request
  return { ...request, messages: messages.filter((message) => !isEmptyReply(message)) }
}

/** A reply may consist of a refusal, calls or audio only, and then has other fields. */
function isEmptyReply(message: Message): boolean {
  if (message.role !== 'assistant' || !isBlank(message.content)) return false
  const { role: _, content: __, ...others } = message
  return Object.values(others).every((value) => value == null || (Array.isArray(value) && value.length === 0))
}

function isBlank(content: Message['content']): boolean {
  if (content == null || typeof content === 'string') return !content?.trim()
  return content.every((part: ContentPart) => part.type === 'text' && !part.text?.trim())
}
