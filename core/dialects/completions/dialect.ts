import type { Dialect } from '../../contract/index.ts'
import { buildTextCompletion } from './completion.ts'
import { streamTextCompletion } from './completion-stream.ts'
import { completionsDescription } from './description.ts'
import { parseCompletionsRequest } from './parse-request.ts'

/** `POST /v1/completions`. */
export const completionsDialect: Dialect = {
  parseRequest: parseCompletionsRequest,
  writeWhole: buildTextCompletion,
  writeStream: streamTextCompletion,
  parameterNames: { messages: 'prompt' },
  errorStyle: 'openai',
  description: completionsDescription,
}
