import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import { type Listener, listen } from '../../../../../core/http/server/listen.ts'

const LARGE = 'x'.repeat(20_000_000)

describe('a server that drains', () => {
  let listener: Listener
  let agent: Agent
  let release: () => void

  beforeEach(async () => {
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const app = new Koa()
    app.use(async (ctx) => {
      if (ctx.path === '/held') await released
      ctx.body = ctx.path === '/large' ? LARGE : 'served'
    })
    listener = await listen(app, '127.0.0.1', 0)
    agent = new Agent({ keepAlive: true, maxSockets: 1 })
  })
  afterEach(async () => {
    agent.destroy()
    await listener.stop(0)
  })

  async function ask(path = '/') {
    const [response]: IncomingMessage[] = await once(get(listener.url + path, { agent }), 'response')
    const { statusCode, headers, socket } = response!
    response!.resume()
    await once(response!, 'end')
    return { statusCode, headers, socket }
  }

  it('answers once more on a connection that is kept alive, and says that it is the last answer', async () => {
    const first = await ask()
    expect(first.headers.connection).to.equal('keep-alive')
    const drained = listener.stop(10_000, 10_000)
    const second = await ask()
    expect(second.statusCode).to.equal(200)
    expect(second.socket).to.equal(first.socket)
    expect(second.headers.connection).to.equal('close')
    await drained
  })

  it('closes a connection on which nothing is asked, after the time it is given', async () => {
    const { socket } = await ask()
    const begun = performance.now()
    const drained = listener.stop(10_000, 200)
    await once(socket, 'close')
    expect(performance.now() - begun).to.be.within(190, 3000)
    await drained
  })

  it('does not cut an answer that a slow client is still taking', async () => {
    const socket = connect(Number(new URL(listener.url).port), '127.0.0.1')
    socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(socket, 'readable')
    const drained = listener.stop(10_000)
    let taken = 0
    // Several sweeps long, nothing is taken.
    await new Promise((resolve) => setTimeout(resolve, 200))
    for await (const piece of socket) taken += piece.length
    expect(taken).to.be.above(LARGE.length)
    await drained
  })

  it('cuts what has not ended in the time it is given', async () => {
    const held = ask('/held').then(
      () => 'answered',
      (error) => error.code,
    )
    await answersFrom(listener)
    await listener.stop(100)
    expect(await held).to.equal('ECONNRESET')
  })

  const meanwhile = {
    'longer than it lingers': { graceMs: 2000, lingerMs: 300, endsMs: 600 },
    'longer than the time for what is running, which counts from when it lingers no more': {
      graceMs: 100,
      lingerMs: 5000,
      endsMs: 500,
    },
  }
  for (const [name, { graceMs, lingerMs, endsMs }] of Object.entries(meanwhile)) {
    it(`answers what was asked meanwhile and takes ${name}`, async () => {
      await ask()
      const drained = listener.stop(graceMs, lingerMs)
      const held = ask('/held')
      setTimeout(release, endsMs)
      expect((await held).statusCode).to.equal(200)
      await drained
    })
  }

  it('may be told to hurry', async () => {
    const { socket } = await ask()
    const drained = listener.stop(60_000, 60_000)
    await listener.stop(0)
    await drained
    if (!socket.destroyed) await once(socket, 'close')
  })
})

/** What was sent to the server before this has arrived there. */
async function answersFrom({ url }: Listener): Promise<void> {
  const [response] = await once(get(url, { agent: false }), 'response')
  response.resume()
  await once(response, 'end')
}
