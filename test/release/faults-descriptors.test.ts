import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
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

function post(path: string, key: string, body: Buffer, ...headers: string[]): Buffer {
  const own = [`authorization: Bearer ${key}`, 'content-type: application/json', 'host: x', ...headers]
  const head = [`POST ${path} HTTP/1.1`, ...own, `content-length: ${body.length}`, '', '']
  return Buffer.concat([Buffer.from(head.join('\r\n')), body])
}

/** Requests that need descriptors of their own when they are the first: for a thread, and for modules. */
const FIRST_REQUESTS = {
  'a stored response': (key: string) =>
    post('/v1/responses', key, Buffer.from(JSON.stringify({ input: 'Hello' }))),
  'a compressed body': (key: string) => {
    const body = gzipSync(JSON.stringify(chatBody('Hello')))
    return post('/v1/chat/completions', key, body, 'content-encoding: gzip')
  },
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
        for (const [what, toRequest] of Object.entries(FIRST_REQUESTS)) {
          active.write(toRequest(gateway.demoKey))
          // It fails or not, but is answered.
          expect(await nextData(active), what).to.match(/^HTTP\/1.1 (200|5..) /)
        }
        for (const socket of [...sockets, active]) socket.destroy()
        await logged(gateway, AVAILABLE, workers * outage)
        for (let n = 0; n < 5 * workers; n++)
          expect((await gateway.call('POST', '/v1/chat/completions', chatBody('Hello'))).status).to.equal(200)
        const later = await openSocket(gateway.url)
        for (const [what, toRequest] of Object.entries(FIRST_REQUESTS)) {
          later.write(toRequest(gateway.demoKey))
          expect(await nextData(later), what).to.match(/^HTTP\/1.1 200 /)
        }
        later.destroy()
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
