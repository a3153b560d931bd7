import type { Provider } from '../../core/contract/provider.ts'
import { readFailure } from '../chat-format/read-failure.ts'
import { readReply } from '../chat-format/read-reply.ts'
import { openStream } from '../chat-format/read-stream.ts'
import { writeCall } from './write-call.ts'

/**
 * DeepSeek's chat completions: https://api-docs.deepseek.com/api/create-chat-completion. The base URL is
 * `https://api.deepseek.com`. Its records are OpenAI's with more fields, so clients get them whole.
 */
export const deepseek: Provider = { format: 'deepseek', writeCall, readReply, openStream, readFailure }
