import type { ProviderAdapter } from '../../core/contract/provider.ts'
import { readFailure } from './read-failure.ts'
import { readReply } from './read-reply.ts'
import { openStream } from './read-stream.ts'
import { writeCall } from './write-call.ts'

/** Anthropic's Messages API: https://platform.claude.com/docs/en/api/messages */
export const anthropic: ProviderAdapter = {
  format: 'anthropic',
  buildRequest: writeCall,
  parseReply: readReply,
  createStreamReader: openStream,
  parseError: readFailure,
}
