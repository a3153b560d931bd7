import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect } from 'chai'
import { WebSocket } from 'ws'
import { createSocketServer } from '../../../../../core/http/server/socket-server.ts'
import { waitUntil } from '../../../../support/wait.ts'

const MAX_BYTES = 1_000_000
const PART = 'x'.repeat(990_000)

describe('the WebSocket connections of a server', () => {
  let server: Server
  let accepted: Socket[]
  let clients: WebSocket[]

  beforeEach(async () => {
    accepted = []
    clients = []
    const sockets = createSocketServer({
      path: '/',
      formatError: () => ({}),
      toBody: () => ({}),
      expiryMessage: {},
      maxBytes: MAX_BYTES,
      cors: { origins: [] },
    })
    server = createServer().on('upgrade', (request, socket, head) => {
      accepted.push(socket as Socket)
      const admit = (_: unknown, response: { statusCode: number; end(): unknown }) => {
        response.statusCode = 101
        response.end()
      }
      sockets.accept({ request, socket, head }, admit, () => undefined)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(() => {
    for (const client of clients) client.terminate()
    server.close()
  })

  /** Opens a connection and begins a message. Returns the server's side of it. */
  async function sendPart(): Promise<Socket> {
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    client.on('error', () => undefined)
    clients.push(client)
    await once(client, 'open')
    client.send(PART, { fin: false })
    return accepted.at(-1) ?? expect.fail('No connection was accepted.')
  }

  it('read little of those whose user has too much data waiting', async () => {
    for (let count = 0; count < 4; count++) {
      const socket = await sendPart()
      await waitUntil(() => socket.bytesRead >= PART.length)
    }
    const refused = await sendPart()
    await waitUntil(() => refused.isPaused() || refused.bytesRead >= PART.length)
    expect(refused.bytesRead).to.be.below(PART.length / 2)
    expect(clients.map(({ readyState }) => readyState).slice(0, 4)).to.deep.equal([1, 1, 1, 1])
  })
})
