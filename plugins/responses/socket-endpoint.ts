import { type Endpoint, endpoint, GatewayError, user } from '../../core/contract/index.ts'

/** Admits the callers of WebSocket connections. Any other request with this method is 426. */
export const socketEndpoint: Endpoint = endpoint({
  method: 'GET',
  path: '/v1/responses',
  access: user(),
  tags: ['responses'],
  errorStyle: 'openai',
  operationId: 'openResponsesSocket',
  summary: 'Opens a WebSocket connection for responses.',
  isUnlisted: true,
  responses: { 101: { description: 'The connection is a WebSocket from now on.' } },
  errors: ['upgrade_required'],
  async handle({ headers }) {
    if (headers.upgrade?.toLowerCase() === 'websocket') return { status: 101, body: '' }
    const message = 'GET /v1/responses opens a WebSocket. Send POST for a response, or the header Upgrade.'
    throw new GatewayError('upgrade_required', message, { headers: { upgrade: 'websocket' } })
  },
})
