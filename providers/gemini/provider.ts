import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { readFailure } from './read-failure.ts'
import { readReply } from './read-reply.ts'
import { openStream } from './read-stream.ts'
import { writeCall } from './write-call.ts'

/** Google's Generative Language API, also known as the Gemini API: https://ai.google.dev/api/generate-content */
export const gemini: ProviderAdapter = {
  format: 'gemini',
  buildRequest: writeCall,
  parseReply: readReply,
  createStreamReader: openStream,
  parseError: readFailure,
}
