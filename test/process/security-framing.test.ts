import { expect } from 'chai'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { sendRaw, splitAnswers } from '../support/raw-http.ts'

/** A request whose body is read before the response; KEY is replaced later. */
const POST =
  'POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nAuthorization: Bearer KEY\r\n'
const GET = 'GET /healthz HTTP/1.1\r\nHost: gateway\r\n'
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`

/** Requests whose end proxies and servers may see at different places. */
const REFUSED: Readonly<Record<string, string>> = {
  'Content-Length and Transfer-Encoding': `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'Transfer-Encoding and Content-Length': `${POST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
  'two lengths': `${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
  'the same length twice': `${POST}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
  'a list of lengths': `${POST}Content-Length: 5, 5\r\n\r\nhello`,
  'a length with a sign': `${POST}Content-Length: +5\r\n\r\nhello`,
  'a negative length': `${POST}Content-Length: -5\r\n\r\nhello`,
  'a hexadecimal length': `${POST}Content-Length: 0x5\r\n\r\nhello`,
  'an empty length': `${POST}Content-Length: \r\n\r\nhello`,
  'a length beyond any number': `${POST}Content-Length: 99999999999999999999\r\n\r\nhello`,
  'a space before the colon of a length': `${POST}Content-Length : 5\r\n\r\nhello`,
  identity: `${POST}Transfer-Encoding: identity\r\n\r\nhello`,
  'chunked, identity': `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
  'identity, chunked': `${POST}Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n`,
  'gzip, chunked': `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
  'chunked twice': `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'identity, then chunked in a second header': `${POST}Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  xchunked: `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
  '"chunked" in quotes': `${POST}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`,
  'chunked after a vertical tab': `${POST}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`,
  'chunked on a folded line': `${POST}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`,
  'a space before the colon of an encoding': `${POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
  'chunks in HTTP/1.0': 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a folded header': `${GET}X-A: a\r\n b\r\n\r\n`,
  'a header folded with a tab': `${GET}X-A: a\r\n\tb\r\n\r\n`,
  'a space before the first header': `GET /healthz HTTP/1.1\r\n Host: gateway\r\n\r\n`,
  'a bare LF after the request line': `GET /healthz HTTP/1.1\nHost: gateway\r\n\r\n`,
  'a bare LF after a header': `GET /healthz HTTP/1.1\r\nHost: gateway\nX-A: b\r\n\r\n`,
  'a bare LF at the end of the head': `${GET}\n`,
  'a bare CR': `GET /healthz HTTP/1.1\r\nHost: gateway\rX-A: b\r\n\r\n`,
  'a NUL in a header': `${GET}X-A: a\0b\r\n\r\n`,
  'a space in the name of a header': `${GET}X A: b\r\n\r\n`,
  'a header without a name': `${GET}: b\r\n\r\n`,
  'a chunk extension that ends in a bare LF': `${CHUNKED}5;a=b\nhello\r\n0\r\n\r\n`,
  'a chunk size that ends in a bare LF': `${CHUNKED}5\nhello\r\n0\r\n\r\n`,
  'a chunk that ends in a bare LF': `${CHUNKED}5\r\nhello\n0\r\n\r\n`,
  'a chunk longer than its size': `${CHUNKED}5\r\nhello, world\r\n0\r\n\r\n`,
  'a chunk size with 0x': `${CHUNKED}0x5\r\nhello\r\n0\r\n\r\n`,
  'a negative chunk size': `${CHUNKED}-5\r\nhello\r\n0\r\n\r\n`,
  'a chunk size beyond any number': `${CHUNKED}fffffffffffffffff\r\nhello\r\n0\r\n\r\n`,
  'a space after a chunk size': `${CHUNKED}5 \r\nhello\r\n0\r\n\r\n`,
  'a length in a trailer': `${CHUNKED}0\r\nContent-Length: 44\r\n\r\n`,
  'no Host': 'GET /healthz HTTP/1.1\r\n\r\n',
  'a space in the Host': 'GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n',
  'two Hosts': `${GET}Host: elsewhere\r\n\r\n`,
  'HTTP/0.9': 'GET /healthz\r\n\r\n',
  'HTTP/1.2': 'GET /healthz HTTP/1.2\r\nHost: gateway\r\n\r\n',
  'RTSP/1.0': 'GET /healthz RTSP/1.0\r\n\r\n',
  'RTSP/1.0 with a Host': 'OPTIONS /healthz RTSP/1.0\r\nHost: gateway\r\nConnection: keep-alive\r\n\r\n',
  'ICE/1.0': 'SOURCE /healthz ICE/1.0\r\n\r\n',
  'HTTP/2 with prior knowledge': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a space in the path': 'GET /healthz /readyz HTTP/1.1\r\nHost: gateway\r\n\r\n',
  'an unknown method': 'SMUGGLE /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n',
}

/** Would be served if the request before it were accepted. */
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: gateway\r\n\r\n'

describe('a request that proxies and servers may interpret differently', () => {
  let gateway: GatewayProcess
  before(async () => {
    // Options of Node must not make the parser lenient.
    gateway = await startGatewayProcess({
      NODE_OPTIONS: '--insecure-http-parser --max-http-header-size=99999',
    })
  })
  after(() => gateway.stop())

  const send = (bytes: string) => sendRaw(gateway.url, bytes.replace('KEY', gateway.demoKey))

  for (const [fault, bytes] of Object.entries(REFUSED)) {
    it(`is refused, and nothing after it is served: ${fault}`, async () => {
      const answers = splitAnswers(await send(bytes + SMUGGLED))
      expect(answers.map(({ status }) => status)).to.deep.equal([400])
      const [{ headers, body }] = answers as [(typeof answers)[0]]
      const { error } = JSON.parse(body)
      expect(error).to.include({ type: 'invalid_request_error', http_status: 400 })
      expect(error.message).to.match(/^The request is not valid HTTP: .+\.$/)
      expect(headers.get('x-request-id')).to.match(/^req_[0-9A-Za-z]{24}$/)
      expect(headers.get('x-content-type-options')).to.equal('nosniff')
      expect(headers.get('connection')).to.equal('close')
      expect(gateway.stderr()).not.to.contain('/smuggled')
    })
  }

  it('is refused on the direct-routing address', async () => {
    const [answer] = splitAnswers(await sendRaw(gateway.routeUrl, `${GET}Host: elsewhere\r\n\r\n`))
    expect(answer?.status).to.equal(400)
  })

  it('is refused behind the response of an earlier request, which was executed', async () => {
    const body = JSON.stringify({ messages: [{ role: 'user', content: '[[sandbox:first-byte=300]]' }] })
    const text = await send(
      `${POST}Content-Length: ${body.length}\r\n\r\n${body}${GET}Host: elsewhere\r\n\r\n`,
    )
    expect(splitAnswers(text).map(({ status }) => status)).to.deep.equal([200, 400])
  })

  it('is refused with 431 when its headers are too large or too many', async () => {
    const large = `${GET}X-A: ${'a'.repeat(17_000)}\r\n\r\n`
    const many = `${GET}${'X-A: b\r\n'.repeat(100)}\r\n`
    for (const bytes of [large, many]) {
      const [answer] = splitAnswers(await send(bytes))
      expect(answer?.status).to.equal(431)
      expect(JSON.parse(answer?.body ?? '').error).to.include({ http_status: 431 })
    }
  })

  it('may have the version 1.0 of HTTP', async () => {
    const [answer] = splitAnswers(await send('GET /healthz HTTP/1.0\r\n\r\n'))
    expect(answer?.status).to.equal(200)
  })

  it('gets 405 for CONNECT, and nothing after it is served', async () => {
    const [answer] = splitAnswers(await send(`CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${SMUGGLED}`))
    expect(answer?.status).to.equal(405)
    expect(answer?.headers.get('x-error-code')).to.equal('method_not_allowed')
    expect(gateway.stderr()).not.to.contain('/smuggled')
  })

  it('may be chunked, with extensions and trailers that are ignored', async () => {
    const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] })
    const answers = await send(
      `${POST}Connection: close\r\nTransfer-Encoding: CHUNKED\r\n\r\n` +
        `${body.length.toString(16)};name="value"\r\n${body}\r\n0\r\nAuthorization: Bearer other\r\n\r\n`,
    )
    const [answer] = splitAnswers(answers)
    expect(answer?.status).to.equal(200)
    expect(answer?.body).to.contain('Hello')
  })

  it('gets one response each when requests are pipelined', async () => {
    const text = await send(`${GET}\r\n${GET}Connection: close\r\n\r\n`)
    expect(splitAnswers(text).map(({ status }) => status)).to.deep.equal([200, 200])
  })
})
