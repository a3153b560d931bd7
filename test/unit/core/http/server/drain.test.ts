import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import { type Listener, listen } from '../../../../../core/http/server/hardened-server.ts'
import { stopTimers } from '../../../../support/timers.ts'
import { waitUntil } from '../../../../support/wait.ts'

const LARGE = 'x'.repeat(20_000_000)

describe('draining a server', () => {
  let listener: Listener
  let agent: Agent
  let release: () => void
  let isHeld: boolean

  beforeEach(async () => {
    isHeld = false
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const app = new Koa()
    app.use(async (ctx) => {
      isHeld = ctx.path === '/held'
      if (isHeld) await released
      ctx.body = ctx.path === '/large' ? LARGE : 'served'
    })
    listener = await listen(app, '127.0.0.1', 0)
    agent = new Agent({ keepAlive: true, maxSockets: 1 })
  })
  afterEach(async () => {
    agent.destroy()
    await listener.stop(0)
  })

  async function fetchPath(path = '/') {
    const [response]: IncomingMessage[] = await once(get(listener.url + path, { agent }), 'response')
    const { statusCode, headers, socket } = response!
    response!.resume()
    await once(response!, 'end')
    return { statusCode, headers, socket }
  }

  it('serves one more request on a keep-alive connection, with connection: close', async () => {
    const first = await fetchPath()
    expect(first.headers.connection).to.equal('keep-alive')
    const drained = listener.stop(10_000, 10_000)
    const second = await fetchPath()
    expect(second.statusCode).to.equal(200)
    expect(second.socket).to.equal(first.socket)
    expect(second.headers.connection).to.equal('close')
    await drained
  })

  it('closes an idle connection after the linger time', async () => {
    const { socket } = await fetchPath()
    const startedAt = performance.now()
    const drained = listener.stop(10_000, 200)
    await once(socket, 'close')
    expect(performance.now() - startedAt).to.be.at.least(190)
    await drained
  })

  it('does not cut off a response that a slow client is still receiving', async () => {
    const socket = connect(Number(new URL(listener.url).port), '127.0.0.1')
    socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(socket, 'readable')
    const drained = listener.stop(10_000)
    let receivedBytes = 0
    // Reads nothing during several sweeps.
    await new Promise((resolve) => setTimeout(resolve, 200))
    for await (const chunk of socket) receivedBytes += chunk.length
    expect(receivedBytes).to.be.above(LARGE.length)
    await drained
  })

  it('destroys connections whose request has not finished within the grace time', async () => {
    const held = fetchPath('/held').then(
      () => 'answered',
      (error) => error.code,
    )
    await roundTrip(listener)
    await listener.stop(100)
    expect(await held).to.equal('ECONNRESET')
  })

  const timings = {
    'longer than the linger time': { graceMs: 3003, lingerMs: 2003, endsMs: 4000 },
    'longer than the grace time, which starts after the linger time': {
      graceMs: 1003,
      lingerMs: 2004,
      endsMs: 2050,
    },
  }
  for (const [name, { graceMs, lingerMs, endsMs }] of Object.entries(timings)) {
    it(`serves a request that arrives while draining and takes ${name}`, async () => {
      await fetchPath()
      const timers = stopTimers(lingerMs, graceMs, lingerMs + graceMs)
      try {
        const drained = listener.stop(graceMs, lingerMs)
        const held = fetchPath('/held')
        await waitUntil(() => isHeld)
        timers.pass(endsMs)
        release()
        expect((await held).statusCode).to.equal(200)
        await drained
      } finally {
        timers.restore()
      }
    })
  }

  it('shortens the times when it is called again', async () => {
    const { socket } = await fetchPath()
    const drained = listener.stop(60_000, 60_000)
    await listener.stop(0)
    await drained
    if (!socket.destroyed) await once(socket, 'close')
  })
})

/** Once this resolves, the server has received everything that was sent to it before. */
async function roundTrip({ url }: Listener): Promise<void> {
  const [response] = await once(get(url, { agent: false }), 'response')
  response.resume()
  await once(response, 'end')
}
