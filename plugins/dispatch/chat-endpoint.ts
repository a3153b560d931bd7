import { type ChatRequest, type Dialect, GatewayError, type JsonObject } from '../../core/contract/index.ts'
import { chatDialect } from '../../core/dialects/chat/dialect.ts'
import {
  parseResponsesBody,
  parseResponsesInput,
  parseResponsesRequest,
  parseResponsesWarnings,
} from '../../providers/shared/responses-format/parse-request.ts'

/**
 * `POST /v1/chat/completions`. Also takes a body of the Responses API, which Cursor sends there, and answers
 * it in the form of chat completions.
 */
export const chatEndpoint: Dialect = {
  ...chatDialect,
  parseRequest: (body, ctx) =>
    isResponsesBody(body) ? parseResponsesForm(body) : chatDialect.parseRequest(body, ctx),
  parseWarnings: (body) => (isResponsesBody(body) ? parseResponsesWarnings(body) : []),
}

function isResponsesBody({ messages, input }: JsonObject): boolean {
  return messages === undefined && input !== undefined
}

function parseResponsesForm(value: JsonObject): ChatRequest {
  const { previous_response_id, stream_options } = value
  if (previous_response_id != null) {
    const message = 'previous_response_id needs POST /v1/responses: chat completions are not stored.'
    throw new GatewayError('unsupported_parameter', message, { param: 'previous_response_id' })
  }
  const body = parseResponsesBody(value)
  const request = parseResponsesRequest(body, [], parseResponsesInput(body))
  // The cast is safe: whoever reads the options checks them.
  return stream_options == null ? request : ({ ...request, stream_options } as unknown as ChatRequest)
}
