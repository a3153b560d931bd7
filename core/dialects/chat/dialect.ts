import { type ChatRequest, type Dialect, GatewayError, type JsonObject } from '../../contract/index.ts'
import { compileParser } from '../../util/json-schema.ts'
import { buildChatCompletion } from './completion.ts'
import { streamChatChunks } from './completion-stream.ts'
import { chatErrorBody } from './error-body.ts'
import { chatRequestSchema } from './request-schema.ts'

/** `POST /v1/chat/completions`. */
export const chatDialect: Dialect = {
  parseRequest: readChatRequest,
  writeWhole: buildChatCompletion,
  writeStream: streamChatChunks,
  errorBody: chatErrorBody,
}

const readBody = compileParser<ChatRequest>(chatRequestSchema)

/** Reads a chat-completions body. It is the canonical form already: it is checked, and nothing is copied. */
function readChatRequest(body: JsonObject): ChatRequest {
  const request = readBody(body)
  refuse(request, 'n', (value) => typeof value === 'number' && value > 1, 'one choice is made per request')
  refuse(request, 'logprobs', (value) => value === true, 'log probabilities are not given')
  return request
}

function refuse(
  request: ChatRequest,
  param: string,
  unwanted: (value: unknown) => boolean,
  why: string,
): void {
  if (!unwanted(request[param])) return
  throw new GatewayError('unsupported_parameter', `${param} is not supported: ${why}. Leave it out.`, {
    param,
  })
}
