import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { parseChatError } from '../chat-format/read-failure.ts'
import { parseChatReply } from '../chat-format/read-reply.ts'
import { createChatStreamReader } from '../chat-format/read-stream.ts'
import { writeCall } from './write-call.ts'

/** OpenAI's chat completions, which is also the canonical format: https://platform.openai.com/docs/api-reference/chat */
export const openai: ProviderAdapter = {
  format: 'openai',
  buildRequest: writeCall,
  parseReply: parseChatReply,
  createStreamReader: createChatStreamReader,
  parseError: parseChatError,
}
