import { type Endpoint, endpoint, GatewayError, user } from '../../core/contract/index.ts'

/** Open connections per key and process. Each can hold a conversation in memory. */
const MAX_CONNECTIONS = 100

const TOO_MANY_CONNECTIONS = { status: 429, type: 'rate_limit_error' } as const

export const SOCKET_ERROR_CODES = {
  too_many_connections: {
    ...TOO_MANY_CONNECTIONS,
    description: 'The API key has too many WebSocket connections open.',
  },
} as const

/** Admits the callers of WebSocket connections. Any other request with this method is 426. */
export function createSocketEndpoint(): Endpoint {
  /** Open connections by the id of their key. */
  const open = new Map<string, number>()

  function close(keyId: string): void {
    const others = (open.get(keyId) ?? 1) - 1
    if (others === 0) open.delete(keyId)
    else open.set(keyId, others)
  }

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
    async handle({ account: { keyId }, client: { session } }) {
      if (session === undefined) throw createUpgradeRequiredError()
      const count = (open.get(keyId) ?? 0) + 1
      if (count > MAX_CONNECTIONS) throw createTooManyConnectionsError()
      open.set(keyId, count)
      session.onClose(() => close(keyId))
      return { status: 101, body: '' }
    },
  })
}

function createUpgradeRequiredError(): GatewayError {
  const message = 'GET /v1/responses opens a WebSocket. Send POST for a response, or the header Upgrade.'
  return new GatewayError('upgrade_required', message, { headers: { upgrade: 'websocket' } })
}

function createTooManyConnectionsError(): GatewayError {
  const message =
    `The key has ${MAX_CONNECTIONS} WebSocket connections open already, which is the limit. ` +
    'Close one, or send further messages on them.'
  return new GatewayError({
    ...TOO_MANY_CONNECTIONS,
    code: 'too_many_connections',
    message,
    retryAfter: 30,
  })
}
