import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { openAiEmbeddings } from '../chat-format/embeddings.ts'
import { parseChatError } from '../chat-format/errors.ts'
import { openAiModerations } from '../chat-format/moderations.ts'
import { buildBearerAuth } from '../chat-format/request.ts'
import { OPENAI_LIMITS } from '../shared/api-limits.ts'
import { buildOpenAiRequest } from './request.ts'
import { createOpenAiStreamReader, parseOpenAiReply } from './responses-reply.ts'

/**
 * OpenAI's chat completions, which are also the canonical format:
 * https://platform.openai.com/docs/api-reference/chat. What its newest models take in the Responses API only
 * is converted.
 */
export const openai = {
  format: 'openai',
  limits: OPENAI_LIMITS,
  readsCustomCalls: true,
  buildAuthHeaders: buildBearerAuth,
  buildRequest: buildOpenAiRequest,
  parseReply: parseOpenAiReply,
  createStreamReader: createOpenAiStreamReader,
  parseError: parseChatError,
  operations: { embeddings: openAiEmbeddings, moderation: openAiModerations },
} satisfies ProviderAdapter
