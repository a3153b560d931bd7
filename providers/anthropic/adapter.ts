import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { readFailure } from './errors.ts'
import { readReply } from './reply.ts'
import { writeCall } from './request.ts'
import { openStream } from './stream.ts'

/** Anthropic's Messages API: https://platform.claude.com/docs/en/api/messages */
export const anthropic: ProviderAdapter = {
  format: 'anthropic',
  buildRequest: writeCall,
  parseReply: readReply,
  createStreamReader: openStream,
  parseError: readFailure,
}
