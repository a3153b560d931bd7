import type { ChatRequest, ContentPart, Message } from '../../core/contract/chat.ts'

export function isInstruction({ role }: Message): boolean {
  return role === 'system' || role === 'developer'
}

/**
 * Gives instructions of a developer the role `system`, because servers that are compatible with OpenAI refuse
 * the other role. Returns the same request if there are none.
 */
export function withSystemRole(request: ChatRequest): ChatRequest {
  const { messages } = request
  if (!messages.some(({ role }) => role === 'developer')) return request
  const toSystem = (message: Message): Message =>
    message.role === 'developer' ? { ...message, role: 'system' } : message
  return { ...request, messages: messages.map(toSystem) }
}

/**
 * Converts instructions behind the first turn to marked texts of the user, for APIs that take instructions
 * only at the start. They stay in their place, so that a longer conversation begins like the shorter one:
 * providers cache prompts by their beginning. Returns the same list if there are none. See
 * docs/decisions/replies.md, "Instructions stay in their place".
 */
export function markLaterInstructions(messages: readonly Message[]): readonly Message[] {
  const firstTurn = messages.findIndex((message) => !isInstruction(message))
  if (firstTurn === -1 || messages.findLastIndex(isInstruction) < firstTurn) return messages
  return messages.map((message, index) =>
    index > firstTurn && isInstruction(message) ? toMarkedMessage(message) : message,
  )
}

function toMarkedMessage({ content = '', ...message }: Message): Message {
  const marked = typeof content === 'string' ? mark(content) : (content?.map(markPart) ?? '')
  return { ...message, role: 'user', content: marked }
}

function markPart(part: ContentPart): ContentPart {
  return part.type === 'text' ? { ...part, text: mark(part.text ?? '') } : part
}

/** Blank texts stay blank: they are not sent. */
function mark(text: string): string {
  return text.trim() === '' ? text : `<system-reminder>\n${text}\n</system-reminder>`
}

/**
 * Moves instructions that stand between a tool call and its results, or between two of them, behind the
 * results: providers require that results follow their calls. Returns the same request if there are none.
 */
export function withResultsBehindCalls(request: ChatRequest): ChatRequest {
  const { messages } = request
  const isBeforeResult = (message: Message, index: number) =>
    isInstruction(message) && messages[index + 1]?.role === 'tool'
  if (!messages.some(isBeforeResult)) return request
  const ordered: Message[] = []
  for (const message of messages) {
    if (message.role !== 'tool') {
      ordered.push(message)
      continue
    }
    const place = ordered.findLastIndex((earlier) => !isInstruction(earlier)) + 1
    ordered.splice(place, 0, message)
  }
  return { ...request, messages: ordered }
}
