import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { waitUntil } from '../support/wait.ts'

const DESCRIPTORS = 128

describe('faults of file descriptors', () => {
  it('file descriptors are exhausted: the gateway answers again once connections end', async () => {
    const gateway = await startGatewayProcess({}, { prepare: `ulimit -n ${DESCRIPTORS}` })
    const port = Number(new URL(gateway.url).port)
    const sockets: Socket[] = []
    for (let n = 0; n < DESCRIPTORS * 2; n++) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined)
      await Promise.race([once(socket, 'connect'), once(socket, 'close')])
      sockets.push(socket)
    }
    for (const socket of sockets) socket.destroy()
    await waitUntil(async () => {
      const answer = await gateway.call('GET', '/healthz').catch(() => undefined)
      return answer?.status === 200
    })
    expect((await gateway.call('POST', '/v1/chat/completions', chatBody('Hello'))).status).to.equal(200)
    expect(await gateway.stop()).to.equal(0)
  })
})
