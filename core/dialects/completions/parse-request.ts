import { type ChatRequest, GatewayError, type JsonObject } from '../../contract/index.ts'
import { createLazyParser } from '../../util/json-schema.ts'
import { CONVERSATION_FIELDS, withoutFields } from '../operation-fields.ts'
import { completionsRequestSchema } from './request-schema.ts'

const parseBody = createLazyParser(completionsRequestSchema)

/** Parses the body of `POST /v1/completions` as a chat with one message of the user. */
export function parseCompletionsRequest(body: JsonObject): ChatRequest {
  const { prompt, suffix, echo, best_of, logprobs, n, ...fields } = parseBody(body)
  if (suffix) throw unsupportedError('suffix', 'Omit it.')
  if (echo === true) throw unsupportedError('echo', 'Omit it or set it to false.')
  if (logprobs != null) throw unsupportedError('logprobs', 'Omit it.')
  if (best_of != null && best_of > 1) throw unsupportedError('best_of greater than 1', 'Omit it.', 'best_of')
  if (n != null && n > 1) throw unsupportedError('n greater than 1', 'Omit it or set it to 1.', 'n')
  return {
    ...withoutFields(fields, CONVERSATION_FIELDS, '/v1/completions'),
    messages: [{ role: 'user', content: toText(prompt) }],
  }
}

function toText(prompt: string | readonly unknown[]): string {
  if (typeof prompt === 'string') return prompt
  const [only] = prompt
  if (typeof only !== 'string')
    throw unsupportedError('prompt as token ids', 'Send the prompt as text.', 'prompt')
  if (prompt.length > 1) throw unsupportedError('several prompts', 'Send one request for each.', 'prompt')
  if (only !== '') return only
  throw new GatewayError('invalid_value', 'prompt[0] must not be empty.', { param: 'prompt[0]' })
}

function unsupportedError(what: string, advice: string, param = what): GatewayError {
  const message = `POST /v1/completions does not support ${what}. ${advice}`
  return new GatewayError('unsupported_parameter', message, { param })
}
