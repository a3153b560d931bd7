import type { StreamReader } from '../../core/contract/provider.ts'
import { createChatStreamReader } from '../chat-format/stream.ts'
import { toReplyEvents } from '../shared/stream.ts'

/**
 * Reads chat completion chunks. Keeps only their parts, as in `parseMistralReply`, and drops chunks without
 * any: the usage arrives with the finish reason, where clients do not expect it
 * (docs/providers.md, "Mistral streams").
 */
export function createMistralStreamReader(): StreamReader {
  const reader = createChatStreamReader()
  return {
    isDone: () => reader.isDone?.() === true,
    read: (event) => reader.read(event).flatMap(({ parts }) => toReplyEvents(parts)),
    end: reader.end,
  }
}
