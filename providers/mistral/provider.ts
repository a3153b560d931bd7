import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { parseChatError } from '../chat-format/read-failure.ts'
import { parseChatReply } from '../chat-format/read-reply.ts'
import { openStream } from './open-stream.ts'
import { writeCall } from './write-call.ts'

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
