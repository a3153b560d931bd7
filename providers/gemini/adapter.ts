import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { GEMINI_LIMITS } from '../shared/api-limits.ts'
import { GEMINI_QUIRKS } from '../shared/quirks.ts'
import { geminiEmbeddings } from './embeddings.ts'
import { parseGeminiError } from './errors.ts'
import { parseGeminiReply } from './reply.ts'
import { buildGeminiRequest } from './request.ts'
import { createGeminiStreamReader } from './stream.ts'

/**
 * Google's Generative Language API, also known as the Gemini API: https://ai.google.dev/api/generate-content
 */
export const gemini = {
  format: 'gemini',
  limits: GEMINI_LIMITS,
  quirks: GEMINI_QUIRKS,
  buildAuthHeaders: (apiKey) => ({ 'x-goog-api-key': apiKey }),
  buildRequest: buildGeminiRequest,
  parseReply: parseGeminiReply,
  createStreamReader: createGeminiStreamReader,
  parseError: parseGeminiError,
  operations: { embeddings: geminiEmbeddings },
} satisfies ProviderAdapter
