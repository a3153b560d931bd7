import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { readFailure } from './errors.ts'
import { readReply } from './reply.ts'
import { writeCall } from './request.ts'
import { openStream } from './stream.ts'

/** Google's Generative Language API, also known as the Gemini API: https://ai.google.dev/api/generate-content */
export const gemini: ProviderAdapter = {
  format: 'gemini',
  buildRequest: writeCall,
  parseReply: readReply,
  createStreamReader: openStream,
  parseError: readFailure,
}
