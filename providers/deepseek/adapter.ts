import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { parseChatError } from '../chat-format/errors.ts'
import { parseChatReply } from '../chat-format/reply.ts'
import { buildBearerAuth } from '../chat-format/request.ts'
import { createChatStreamReader } from '../chat-format/stream.ts'
import { DEEPSEEK_LIMITS } from '../shared/api-limits.ts'
import { buildDeepSeekRequest } from './request.ts'

/**
 * DeepSeek's chat completions: https://api-docs.deepseek.com/api/create-chat-completion. The base URL is
 * `https://api.deepseek.com`. Its records are OpenAI's with additional fields, so clients get them unchanged.
 */
export const deepseek = {
  format: 'deepseek',
  limits: DEEPSEEK_LIMITS,
  buildAuthHeaders: buildBearerAuth,
  buildRequest: buildDeepSeekRequest,
  parseReply: parseChatReply,
  createStreamReader: createChatStreamReader,
  parseError: parseChatError,
} satisfies ProviderAdapter
