import { once } from 'node:events'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { logged } from '../support/gateway-log.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { openSocket, readToEnd } from '../support/raw-http.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'
import { isAlive, workerPids } from '../support/workers.ts'

const CONNECTIONS = 20

const REQUEST = 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'

/** Sends one request on each of many new connections; what comes back until each is closed. */
async function askOften(url: string): Promise<string[]> {
  return Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = await openSocket(url)
      socket.write(REQUEST)
      return readToEnd(socket)
    }),
  )
}

describe('workers that die', function () {
  this.timeout(40_000)
  let gateway: GatewayProcess

  async function start(timeouts: string, WORKERS = '2'): Promise<Map<number, number>> {
    gateway = await startGatewayProcess({ ...(await withSettings(`${UNLIMITED}${timeouts}`)), WORKERS })
    return workerPids(gateway, Number(WORKERS))
  }

  afterEach(async () => {
    if (gateway.process.exitCode === null && gateway.process.signalCode === null) await gateway.stop()
  })

  for (let round = 0; round < 3; round++)
    it(`leave the connections that they were given to others (${round})`, async () => {
      const pids = await start('timeouts: { heartbeat_ms: 6000 }\n')
      const pid = pids.get(1 + (round % 2)) ?? 0
      process.kill(pid, 'SIGSTOP')
      const answers = askOften(gateway.url)
      await openSocket(gateway.url).then((socket) => socket.destroy())
      process.kill(pid, 'SIGKILL')
      for (const text of await answers) expect(text).to.match(/^HTTP\/1.1 200 /)
    })

  it('leave no connection open when all of them die, and are answered for until others serve', async () => {
    const pids = await start('timeouts: { heartbeat_ms: 6000 }\n')
    for (const pid of pids.values()) process.kill(pid, 'SIGSTOP')
    const given = askOften(gateway.url)
    await openSocket(gateway.url).then((socket) => socket.destroy())
    for (const pid of pids.values()) process.kill(pid, 'SIGKILL')
    await logged(gateway, 'no worker serves; answering with 503')
    for (const path of ['/v1/chat/completions', '/v1/messages']) {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        body: JSON.stringify(chatBody('Hi')),
      })
      if (response.status === 401) continue // A worker serves again.
      expect(response.status).to.be.oneOf([503, 529])
      expect(response.headers.get('retry-after')).to.equal('1')
      expect(response.headers.get('x-error-code')).to.equal('no_worker')
      const body = (await response.json()) as { type?: string; error: { message: string } }
      expect(body.error.message).to.match(/starting/)
      expect(body.type).to.equal(path === '/v1/messages' ? 'error' : undefined)
    }
    for (const text of await given) expect(text).to.match(/^$|^HTTP\/1.1 (200|503) /)
    expect((await workerPids(gateway, 4)).size).to.equal(2)
    for (const text of await askOften(gateway.url)) expect(text).to.match(/^HTTP\/1.1 200 /)
    const exits = await logged(gateway, 'worker exited; restarting', 2)
    expect(exits.map(({ delayMs }) => delayMs)).to.deep.equal([0, 0])
  })

  it('end with a primary that is frozen, so that the program is started again', async () => {
    const pids = await start('timeouts: { heartbeat_ms: 300 }\n')
    const ended = once(gateway.process, 'exit')
    gateway.process.kill('SIGSTOP')
    expect(await ended).to.deep.equal([null, 'SIGKILL'])
    await waitUntil(() => ![...pids.values()].some(isAlive))
    expect(gateway.stderr()).to.contain('the primary process does not respond; killing it')
  })
})
