import { ReplyEvent } from '../../core/contract/chat.ts'
import { parseChatReply } from '../chat-format/reply.ts'

/**
 * Parses a chat completion. Keeps only its parts: the content of the native record may be a list, which
 * clients do not expect (docs/providers.md, "Mistral replies"). Throws a `GatewayError` for an error body and
 * any other value.
 */
export function parseMistralReply(body: unknown): ReplyEvent {
  return new ReplyEvent(parseChatReply(body).parts)
}
