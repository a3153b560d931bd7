import type { ProviderAdapter, StreamReader } from '../../core/contract/provider.ts'
import { parseChatError } from '../chat-format/errors.ts'
import { parseChatReply } from '../chat-format/reply.ts'
import { createChatStreamReader as openChatStream } from '../chat-format/stream.ts'
import { writeCall } from './request.ts'

/**
 * Mistral's chat completions: https://docs.mistral.ai/api/endpoint/chat. The base URL is `https://api.mistral.ai`.
 * Clients never get its own records: contents may be lists there, and the usage comes with the end.
 */
export const mistral: ProviderAdapter = {
  format: 'mistral',
  buildRequest: writeCall,
  parseReply: (body) => ({ parts: parseChatReply(body).parts }),
  createStreamReader: openStream,
  parseError: parseChatError,
}

/** Reads chat completion chunks for their parts only (docs/providers.md, "Mistral streams"); chunks that say nothing are passed over. */
function openStream(): StreamReader {
  const reader = openChatStream()
  return {
    isDone: () => reader.isDone?.() === true,
    read: (event) => reader.read(event).flatMap(({ parts }) => (parts.length > 0 ? [{ parts }] : [])),
    end: reader.end,
  }
}
