import { once } from 'node:events'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { startEndlessProvider } from '../support/endless-provider.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { peakMemory } from '../support/memory.ts'
import { openSocket, readToEnd, splitAnswers } from '../support/raw-http.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const SETTINGS = `${UNLIMITED}timeouts: { headers_ms: 700, request_ms: 1500, keep_alive_ms: 400, write_timeout_ms: 500 }
`

const ask = (content: string, more: object = {}) => ({
  model: 'gpt-4o',
  messages: [{ role: 'user', content }],
  ...more,
})

/** The head of a chat completion; what is left out of the body never comes. */
const head = ({ demoKey }: RunningGateway, length: number, more = '') =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${demoKey}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${length}\r\n${more}\r\n`

describe('a client that is slow', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway(await withSettings(SETTINGS))
  })
  after(() => gateway.stop())

  const expectTimeout = (text: string) => {
    const [answer] = splitAnswers(text)
    expect(answer?.status).to.equal(408)
    expect(answer?.headers.get('connection')).to.equal('close')
    const { error } = JSON.parse(answer?.body ?? '')
    expect(error).to.include({ type: 'invalid_request_error', http_status: 408 })
  }

  it('to send its headers gets 408', async () => {
    const socket = await openSocket(gateway.url)
    socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nX-A: ')
    const drip = setInterval(() => socket.write('a'), 100)
    expectTimeout(await readToEnd(socket))
    clearInterval(drip)
  })

  it('to send its body gets 408, however steadily it goes on', async () => {
    const socket = await openSocket(gateway.url)
    socket.write(`${head(gateway, 100_000)}{`)
    const drip = setInterval(() => socket.write(' '), 50)
    expectTimeout(await readToEnd(socket))
    clearInterval(drip)
  })

  it('to send a body that nobody asked for is cut after its answer', async () => {
    const socket = await openSocket(gateway.url)
    socket.write('POST /no/such/path HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100000\r\n\r\n')
    const drip = setInterval(() => socket.write(' '), 50)
    const [first, ...more] = splitAnswers(await readToEnd(socket))
    clearInterval(drip)
    expect(first?.status).to.equal(404)
    expect(more.every(({ status }) => status === 408)).to.equal(true)
  })

  it('to say anything at all is let go', async () => {
    await readToEnd(await openSocket(gateway.url))
  })

  it('to ask again is let go', async () => {
    const socket = await openSocket(gateway.url)
    socket.write('GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n')
    expect(splitAnswers(await readToEnd(socket)).map(({ status }) => status)).to.deep.equal([200])
  })

  it('may wait for its answer longer than for anything else', async () => {
    const { status } = await gateway.call('POST', '/v1/chat/completions', ask('[[sandbox:first-byte=3000]]'))
    expect(status).to.equal(200)
  })

  it('may have a stream that lasts longer than a request may', async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask('A slow one [[sandbox:token-delay=150]]', { stream: true })),
    })
    const started = performance.now()
    expect(await response.text()).to.contain('[DONE]')
    expect(performance.now() - started).to.be.greaterThan(2500)
  })

  it('takes no memory for what it only announced', async () => {
    const before = peakMemory(gateway.process)
    const sockets: Socket[] = []
    for (let count = 0; count < 100; count++) {
      const socket = await openSocket(gateway.url)
      socket.write(`${head(gateway, 20_000_000)}{"model":`)
      sockets.push(socket)
    }
    for (const text of await Promise.all(sockets.map(readToEnd))) expectTimeout(text)
    const after = peakMemory(gateway.process)
    if (before !== undefined && after !== undefined) expect(after - before).to.be.lessThan(60)
  })
})

describe('a client that does not read its stream', () => {
  it('makes the gateway and the provider wait, and is cut', async () => {
    const provider = await startEndlessProvider()
    const gateway = await startGateway({
      ...(await withSettings(`${UNLIMITED}timeouts: { write_timeout_ms: 1500 }\n`)),
      OPENAI_API_KEY: 'provider-key',
      OPENAI_BASE_URL: provider.url,
    })
    await gateway.call('GET', '/v1/models')
    const before = peakMemory(gateway.process)
    const body = JSON.stringify(ask('Go on', { stream: true }))
    const socket = await openSocket(gateway.url)
    socket.pause()
    socket.write(head(gateway, body.length) + body)
    await provider.left

    // What the kernel's buffers on both ways take, and not more: unread, it would be hundreds of megabytes by now.
    expect(provider.sent() / 2 ** 20).to.be.within(0.1, 40)
    const after = peakMemory(gateway.process)
    if (before !== undefined && after !== undefined) expect(after - before).to.be.lessThan(60)
    expect((await gateway.call('GET', '/healthz')).status).to.equal(200)
    socket.destroy()
    await gateway.stop()
    provider.close()
  })

  it('goes on when it reads again in time', async () => {
    const provider = await startEndlessProvider()
    const gateway = await startGateway({
      OPENAI_API_KEY: 'provider-key',
      OPENAI_BASE_URL: provider.url,
    })
    const body = JSON.stringify(ask('Go on', { stream: true }))
    const socket = await openSocket(gateway.url)
    socket.write(head(gateway, body.length) + body)
    let received = 0
    const readUntil = async (bytes: number) => {
      while (received < bytes) {
        const [piece] = await once(socket, 'data')
        received += piece.length
      }
      socket.pause()
    }
    await readUntil(1_000_000)
    let sent = 0
    while (provider.sent() > sent) {
      sent = provider.sent()
      await gateway.call('GET', '/healthz')
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    socket.resume()
    await readUntil(sent + 10_000_000)
    socket.destroy()
    await provider.left
    await gateway.stop()
    provider.close()
  })
})

describe('a body', () => {
  it('that unfolds beyond the limit is refused before it is there', async () => {
    const gateway = await startGateway(await withSettings(`${UNLIMITED}limits: { body_bytes: 1000000 }\n`))
    const before = peakMemory(gateway.process)
    const bomb = gzipSync(Buffer.alloc(300 * 2 ** 20, ' '))
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.demoKey}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: bomb,
    })
    expect(response.status).to.equal(413)
    const after = peakMemory(gateway.process)
    if (before !== undefined && after !== undefined) expect(after - before).to.be.lessThan(60)
    await gateway.stop()
  })

  it('over the limit leaves its connection ready for the next request', async () => {
    const gateway = await startGateway(await withSettings(`${UNLIMITED}limits: { body_bytes: 1000000 }\n`))
    const socket = await openSocket(gateway.url)
    const chunk = `${(100_000).toString(16)}\r\n${' '.repeat(100_000)}\r\n`
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${gateway.demoKey}\r\n` +
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(50)}0\r\n\r\n` +
        'GET /healthz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n',
    )
    expect(splitAnswers(await readToEnd(socket)).map(({ status }) => status)).to.deep.equal([413, 200])
    await gateway.stop()
  })
})

describe('connections', () => {
  it('over the limit are dropped, which the log says once, and others go on', async () => {
    const gateway = await startGateway(await withSettings(`${UNLIMITED}limits: { connections: 5 }\n`))
    const held: Socket[] = []
    for (let count = 0; count < 5; count++) held.push(await openSocket(gateway.url))
    for (let count = 0; count < 3; count++)
      expect(await readToEnd(await openSocket(gateway.url))).to.equal('')
    held[0]?.write('GET /healthz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n')
    const [answer] = splitAnswers(await readToEnd(held[0] as Socket))
    expect(answer?.status).to.equal(200)
    expect((await gateway.call('GET', '/healthz')).status).to.equal(200)
    for (const socket of held) socket.destroy()
    await gateway.stop()
    expect(gateway.stderr().match(/connection limit reached; dropping new connections/g)).to.have.length(1)
  })
})
