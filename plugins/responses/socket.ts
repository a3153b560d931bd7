import {
  type Endpoint,
  endpoint,
  errorsOf,
  GatewayError,
  isJsonObject,
  type JsonObject,
  user,
} from '../../core/contract/index.ts'
import type { SocketEndpoint } from '../../core/http/server/socket-server.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { createSharedQuota } from '../../core/util/shared-quota.ts'

/** Open connections per process. Each can hold a conversation in memory. */
const MAX_CONNECTIONS = { perKey: 100, perUser: 200, total: 2000 }

export const SOCKET_ERROR_CODES = {
  too_many_connections: {
    ...{ status: 429, type: 'rate_limit_error' },
    description: 'The API key, its user or all users have too many WebSocket connections open.',
  },
  upgrade_required: {
    ...{ status: 426, type: 'invalid_request_error' },
    description: 'The path is for WebSocket connections with this method.',
  },
} as const

const socketError = errorsOf(SOCKET_ERROR_CODES)

/** Admits the callers of WebSocket connections. Any other request with this method is 426. */
export function createSocketEndpoint(): Endpoint {
  const { perKey, perUser, total } = MAX_CONNECTIONS
  const ofKeys = createSharedQuota<string>({ perOwner: perKey, total })
  const ofUsers = createSharedQuota<number>({ perOwner: perUser, total })

  return endpoint({
    method: 'GET',
    path: '/v1/responses',
    access: user(),
    tags: ['responses'],
    errorStyle: 'openai',
    operationId: 'openResponsesSocket',
    summary: 'Opens a WebSocket connection for responses.',
    isUnlisted: true,
    responses: { 101: { description: 'The connection is a WebSocket from now on.' } },
    errors: ['upgrade_required', 'too_many_connections'],
    async handle({ account: { keyId, userId }, client: { session } }) {
      if (session === undefined) throw createUpgradeRequiredError()
      const exceededOfUser = ofUsers.take(userId, 1)
      if (exceededOfUser === 'total') throw createTooManyConnectionsError('The gateway has', total)
      if (exceededOfUser !== undefined) throw createTooManyConnectionsError('The user has', perUser)
      const exceededOfKey = keyId === '' ? undefined : ofKeys.take(keyId, 1)
      if (exceededOfKey !== undefined) {
        ofUsers.release(userId, 1)
        throw createTooManyConnectionsError('The key has', perKey)
      }
      session.owner = userId
      session.onClose(() => {
        ofUsers.release(userId, 1)
        ofKeys.release(keyId, 1)
      })
      return { status: 101, body: '' }
    },
  })
}

function createUpgradeRequiredError(): GatewayError {
  const message = 'GET /v1/responses opens a WebSocket. Send POST for a response, or the header Upgrade.'
  return socketError('upgrade_required', message, { headers: { upgrade: 'websocket' } })
}

/** `holder` is the subject of the message with its verb. */
function createTooManyConnectionsError(holder: string, limit: number): GatewayError {
  const message =
    `${holder} ${limit} WebSocket connections open already, which is the limit. ` +
    'Close one, or send further messages on them.'
  return socketError('too_many_connections', message, { retryAfter: 30 })
}

/**
 * OpenAI's WebSocket mode of the Responses API (docs/guides/responses-websocket.md): messages
 * `response.create` in, the events of streamed responses out.
 */
export const RESPONSES_SOCKET: SocketEndpoint = {
  path: '/v1/responses',
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
