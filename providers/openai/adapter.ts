import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { openAiEmbeddings } from '../chat-format/embeddings.ts'
import { parseChatError } from '../chat-format/errors.ts'
import { openAiModerations } from '../chat-format/moderations.ts'
import { parseChatReply } from '../chat-format/reply.ts'
import { buildBearerAuth } from '../chat-format/request.ts'
import { createChatStreamReader } from '../chat-format/stream.ts'
import { buildOpenAiRequest } from './request.ts'

/**
 * OpenAI's chat completions, which are also the canonical format:
 * https://platform.openai.com/docs/api-reference/chat
 */
export const openai = {
  format: 'openai',
  buildAuthHeaders: buildBearerAuth,
  buildRequest: buildOpenAiRequest,
  parseReply: parseChatReply,
  createStreamReader: createChatStreamReader,
  parseError: parseChatError,
  operations: { embeddings: openAiEmbeddings, moderation: openAiModerations },
} satisfies ProviderAdapter
