import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { ANTHROPIC_LIMITS } from '../shared/api-limits.ts'
import { ANTHROPIC_QUIRKS } from '../shared/quirks.ts'
import { parseAnthropicError } from './errors.ts'
import { parseAnthropicReply, parseTokenCount } from './reply.ts'
import { buildAnthropicRequest, buildCountRequest } from './request.ts'
import { createAnthropicStreamReader } from './stream.ts'

/**
 * Anthropic's Messages API: https://platform.claude.com/docs/en/api/messages. The base URL is
 * `https://api.anthropic.com`.
 */
export const anthropic = {
  format: 'anthropic',
  limits: ANTHROPIC_LIMITS,
  quirks: ANTHROPIC_QUIRKS,
  reads: ['anthropic'],
  buildAuthHeaders: (apiKey) => ({ 'x-api-key': apiKey }),
  buildRequest: buildAnthropicRequest,
  parseReply: parseAnthropicReply,
  createStreamReader: createAnthropicStreamReader,
  tokenCount: { buildRequest: buildCountRequest, parseReply: parseTokenCount },
  parseError: parseAnthropicError,
} satisfies ProviderAdapter
