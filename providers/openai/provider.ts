import type { Provider } from '../../core/contract/provider.ts'
import { readFailure } from './read-failure.ts'
import { readReply } from './read-reply.ts'
import { openStream } from './read-stream.ts'
import { writeCall } from './write-call.ts'

/** OpenAI's chat completions, which is also the canonical format: https://platform.openai.com/docs/api-reference/chat */
export const openai: Provider = { format: 'openai', writeCall, readReply, openStream, readFailure }
