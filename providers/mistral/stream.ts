import type { ChatRequest, ReplyEvent } from '../../core/contract/chat.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import { createChatStreamReader } from '../chat-format/stream.ts'
import { toReplyEvents } from '../shared/stream.ts'

/**
 * Reads chat completion chunks. Keeps only their parts, as in `parseMistralReply`, and drops chunks without
 * any: the usage arrives with the finish reason, where clients do not expect it
 * (docs/providers.md, "Mistral streams").
 */
export function createMistralStreamReader(request?: ChatRequest): StreamReader {
  const reader = createChatStreamReader(request)
  const withParts = (events: readonly ReplyEvent[]) => events.flatMap(({ parts }) => toReplyEvents(parts))
  return {
    isDone: () => reader.isDone?.() === true,
    read: (event) => withParts(reader.read(event)),
    end: () => withParts(reader.end()),
  }
}
