import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { logged, readLog } from '../support/gateway-log.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { openSocket } from '../support/raw-http.ts'

const DESCRIPTORS = 128

/** Opens connections until the gateway has logged this many times that it has no file descriptor left. */
async function exhaust(gateway: GatewayProcess, times: number): Promise<readonly Socket[]> {
  const port = Number(new URL(gateway.url).port)
  const sockets: Socket[] = []
  let isExhausted = false
  const exhausted = logged(gateway, EXHAUSTED, times).then(() => {
    isExhausted = true
  })
  while (!isExhausted) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    await Promise.race([once(socket, 'connect'), once(socket, 'close'), exhausted])
    sockets.push(socket)
  }
  return sockets
}

/** What comes next on the connection; empty if it is closed instead. */
async function nextData(socket: Socket): Promise<string> {
  const closed = once(socket, 'close').then(() => '')
  return String(await Promise.race([once(socket, 'data'), closed]))
}

function createResponse(key: string): string {
  const body = JSON.stringify({ input: 'Hello' })
  const headers = [`authorization: Bearer ${key}`, 'content-type: application/json', 'host: x']
  const length = `content-length: ${body.length}`
  return ['POST /v1/responses HTTP/1.1', ...headers, length, '', body].join('\r\n')
}

const EXHAUSTED = 'file descriptors exhausted; new connections are closed. Raise the limit (ulimit -n)'
const AVAILABLE = 'file descriptors available again'

describe('faults of file descriptors', () => {
  for (const workers of [1, 2])
    it(`file descriptors are exhausted: the gateway answers again once connections end (${workers} workers)`, async () => {
      const environment = { WORKERS: String(workers) }
      const gateway = await startGatewayProcess(environment, { prepare: `ulimit -n ${DESCRIPTORS}` })
      for (let outage = 1; outage <= 2; outage++) {
        const active = await openSocket(gateway.url)
        const sockets = await exhaust(gateway, workers * outage)
        // A connection that is open gets its answers.
        active.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
        expect(await nextData(active)).to.match(/^HTTP\/1.1 200 /)
        // A request that needs descriptors of its own, for a thread, fails or not, but is answered.
        active.write(createResponse(gateway.demoKey))
        expect(await nextData(active)).to.match(/^HTTP\/1.1 (200|5..) /)
        for (const socket of [...sockets, active]) socket.destroy()
        await logged(gateway, AVAILABLE, workers * outage)
        for (let n = 0; n < 5 * workers; n++)
          expect((await gateway.call('POST', '/v1/chat/completions', chatBody('Hello'))).status).to.equal(200)
      }
      expect(await gateway.stop()).to.equal(0)
      const lines = readLog(gateway).filter(({ msg }) => msg === EXHAUSTED || msg === AVAILABLE)
      expect(lines).to.have.length(workers * 4)
      const other = gateway
        .stderr()
        .split('\n')
        .filter((line) => line.includes('Warning'))
      expect(other).to.deep.equal([])
    }).timeout(60_000)
})
