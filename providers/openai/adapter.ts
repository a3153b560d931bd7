import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { parseChatError } from '../chat-format/errors.ts'
import { parseChatReply } from '../chat-format/reply.ts'
import { createChatStreamReader } from '../chat-format/stream.ts'
import { writeCall } from './request.ts'

/** OpenAI's chat completions, which is also the canonical format: https://platform.openai.com/docs/api-reference/chat */
export const openai: ProviderAdapter = {
  format: 'openai',
  buildRequest: writeCall,
  parseReply: parseChatReply,
  createStreamReader: createChatStreamReader,
  parseError: parseChatError,
}
