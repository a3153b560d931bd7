import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { parseChatError } from '../chat-format/errors.ts'
import { buildBearerAuth } from '../chat-format/request.ts'
import { MISTRAL_LIMITS } from '../shared/api-limits.ts'
import { mistralEmbeddings } from './embeddings.ts'
import { mistralModerations } from './moderations.ts'
import { parseMistralReply } from './reply.ts'
import { buildMistralRequest } from './request.ts'
import { createMistralStreamReader } from './stream.ts'

/**
 * Mistral's chat completions: https://docs.mistral.ai/api/endpoint/chat. The base URL is
 * `https://api.mistral.ai`.
 */
export const mistral = {
  format: 'mistral',
  limits: MISTRAL_LIMITS,
  buildAuthHeaders: buildBearerAuth,
  buildRequest: buildMistralRequest,
  parseReply: parseMistralReply,
  createStreamReader: createMistralStreamReader,
  parseError: parseChatError,
  operations: { embeddings: mistralEmbeddings, moderation: mistralModerations },
} satisfies ProviderAdapter
