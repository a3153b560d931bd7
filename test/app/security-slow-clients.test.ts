import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { startEndlessProvider } from '../support/endless-provider.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { openSocket, readToEnd, splitAnswers } from '../support/raw-http.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { expectTimeout, chatHead as head, withShortTimeouts } from '../support/slow-client.ts'
import { post } from '../support/streams.ts'

describe('a client that is slow', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway(await withSettings(withShortTimeouts()))
  })
  after(() => gateway.stop())

  it('to send its headers gets 408', async () => {
    const socket = await openSocket(gateway.url)
    socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nX-A: ')
    const drip = setInterval(() => socket.write('a'), 100)
    expectTimeout(await readToEnd(socket))
    clearInterval(drip)
  })

  it('to send its body gets 408, even if it sends steadily', async () => {
    const socket = await openSocket(gateway.url)
    socket.write(`${head(gateway, 100_000)}{`)
    const drip = setInterval(() => socket.write(' '), 50)
    expectTimeout(await readToEnd(socket))
    clearInterval(drip)
  })

  it('to send an unwanted body is disconnected after the response', async () => {
    const socket = await openSocket(gateway.url)
    socket.write('POST /no/such/path HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100000\r\n\r\n')
    const drip = setInterval(() => socket.write(' '), 50)
    const [first, ...more] = splitAnswers(await readToEnd(socket))
    clearInterval(drip)
    expect(first?.status).to.equal(404)
    expect(more.every(({ status }) => status === 408)).to.equal(true)
  })

  it('to send anything at all is disconnected', async () => {
    await readToEnd(await openSocket(gateway.url))
  })

  it('to send its next request is disconnected', async () => {
    const socket = await openSocket(gateway.url)
    socket.write('GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n')
    expect(splitAnswers(await readToEnd(socket)).map(({ status }) => status)).to.deep.equal([200])
  })

  it('may receive a stream that takes longer than the request timeout', async () => {
    const body = chatBody('A slow one [[sandbox:token-delay=150]]', { stream: true })
    const response = await post(gateway, '/v1/chat/completions', body)
    const started = performance.now()
    expect(await response.text()).to.contain('[DONE]')
    expect(performance.now() - started).to.be.greaterThan(2500)
  })

  it('may wait for its response longer than the other timeouts', async () => {
    const { status } = await gateway.call(
      'POST',
      '/v1/chat/completions',
      chatBody('[[sandbox:first-byte=3000]]'),
    )
    expect(status).to.equal(200)
  })
})

describe('a client that does not read its stream', () => {
  it('receives the rest of its stream when it resumes in time', async () => {
    const provider = await startEndlessProvider()
    const gateway = await startGateway({
      OPENAI_API_KEY: 'provider-key',
      OPENAI_BASE_URL: provider.url,
    })
    const body = JSON.stringify(chatBody('Go on', { stream: true }))
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
  it('over the limit closes the connection, and requests behind it are not served', async () => {
    const gateway = await startGateway(await withSettings(`${UNLIMITED}limits: { body_bytes: 1000000 }\n`))
    const socket = await openSocket(gateway.url)
    const chunk = `${(100_000).toString(16)}\r\n${' '.repeat(100_000)}\r\n`
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${gateway.demoKey}\r\n` +
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(50)}0\r\n\r\n` +
        'GET /healthz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n',
    )
    expect(splitAnswers(await readToEnd(socket)).map(({ status }) => status)).to.deep.equal([413])
    await gateway.stop()
  })
})

describe('connections', () => {
  it('over the limit are dropped, which is logged once, and others continue', async () => {
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
