import { GatewayError, isJsonObject, type JsonObject } from '../../contract/index.ts'
import type { SocketEndpoint } from '../../http/server/socket-server.ts'
import { parseJsonObject } from '../../util/json.ts'

const RESPONSES_PATH = '/v1/responses'

/**
 * OpenAI's WebSocket mode of the Responses API (docs/guides/responses-websocket.md): messages
 * `response.create` in, the events of streamed responses out.
 */
export const RESPONSES_SOCKET: SocketEndpoint = {
  path: RESPONSES_PATH,
  formatError: toErrorMessage,
  toBody: toCreateBody,
  expiryMessage: {
    type: 'error',
    status: 400,
    error: {
      type: 'invalid_request_error',
      code: 'websocket_connection_limit_reached',
      message: 'The connection has been open for 60 minutes. Open another one.',
      param: null,
    },
  },
}

/** Returns the body of the request that a message stands for. Throws 400 for a message of another type. */
function toCreateBody({ type, ...fields }: JsonObject): JsonObject {
  if (type !== 'response.create') {
    const message = 'type must be response.create: the gateway understands no other messages.'
    throw new GatewayError('invalid_value', message, { param: 'type' })
  }
  if (fields.stream_id !== undefined) {
    const message =
      'stream_id is not supported: the responses of a connection follow each other. Omit it, or open ' +
      'another connection.'
    throw new GatewayError('unsupported_parameter', message, { param: 'stream_id' })
  }
  const input = fields.generate === false ? (fields.input ?? []) : fields.input
  return { ...fields, ...(input !== undefined && { input }), stream: true }
}

/** Headers of an error response that clients act upon. */
const SHOWN_HEADERS = ['x-request-id', 'x-error-code', 'x-should-retry', 'retry-after']

/**
 * OpenAI's guide shows the error below `error`, and its SDKs read it from the event itself: the message has
 * both.
 */
function toErrorMessage(
  status: number,
  body: string,
  headers: Readonly<Record<string, unknown>>,
): JsonObject {
  const { error } = parseJsonObject(body) ?? {}
  const { message, code, param } = isJsonObject(error) ? error : {}
  const shown = SHOWN_HEADERS.filter((name) => headers[name] !== undefined)
  return {
    type: 'error',
    status,
    error,
    code: code ?? null,
    message: message ?? '',
    param: param ?? null,
    sequence_number: 0,
    headers: Object.fromEntries(shown.map((name) => [name, String(headers[name])])),
  }
}
