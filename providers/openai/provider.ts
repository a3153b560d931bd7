import type { Provider } from '../../core/contract/provider.ts'
import { readFailure } from '../chat-format/read-failure.ts'
import { readReply } from '../chat-format/read-reply.ts'
import { openStream } from '../chat-format/read-stream.ts'
import { writeCall } from './write-call.ts'

/** OpenAI's chat completions, which is also the canonical format: https://platform.openai.com/docs/api-reference/chat */
export const openai: Provider = { format: 'openai', writeCall, readReply, openStream, readFailure }
