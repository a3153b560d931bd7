import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Starts a webhook that checks signatures, and fails while `status` is not 200. It answers when
 * `beforeAnswer` has resolved.
 */
export async function startSignedWebhook<Body>(
  secret: string,
  beforeAnswer: (body: Body) => unknown = () => undefined,
) {
  const bodies: Body[] = []
  const ids: string[] = []
  const state = { status: 200, calls: 0, unsigned: 0 }
  const server: Server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = request.headers
    const hmac = createHmac('sha256', secret).update(`${id}.${time}.${body}`).digest('base64')
    state.calls += 1
    if (signature !== `v1,${hmac}`) state.unsigned += 1
    if (state.status === 200) {
      const parsed: Body = JSON.parse(body)
      bodies.push(parsed)
      ids.push(String(id))
      await beforeAnswer(parsed)
    }
    response.writeHead(state.status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=hidden`
  return { url, state, bodies, ids, close: () => server.close() }
}
