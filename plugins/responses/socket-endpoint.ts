import { type Endpoint, endpoint, errorsOf, type GatewayError, user } from '../../core/contract/index.ts'
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
      const exceededOfKey = ofKeys.take(keyId, 1)
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
