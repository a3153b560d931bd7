import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'

/** The headers that each provider receives besides `COMMON`. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  openai: ['authorization'],
  anthropic: ['anthropic-version', 'x-api-key'],
  gemini: ['x-goog-api-key'],
  mistral: ['authorization'],
  deepseek: ['authorization'],
}
const COMMON = ['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host']

/** Model names that could change the path, the query or the headers of a request. */
const NASTY = [
  '../../v1/files',
  '..',
  '.',
  '..%2f..%2ffiles',
  'a/b',
  'a?alt=json&key=stolen',
  'a#fragment',
  'a%2fb',
  'a%00b',
  'a;b=c',
  'a\\..\\b',
  'a:streamGenerateContent',
  '//evil.example/a',
  'http://evil.example/a',
  '@evil.example',
]

/** Texts that cannot be a model name. */
const NO_NAMES = ['a b', 'a\r\nX-Injected: yes', 'a\u0000b', 'ä€😀', 'a\ud800b', 'a'.repeat(300)]

describe('requests to providers', () => {
  const received: IncomingMessage[] = []
  let provider: Server
  let gateway: RunningGateway
  before(async () => {
    provider = createServer((request, response) => {
      received.push(request)
      request.resume()
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end('{"error":{"message":"no"}}')
    }).listen(0, '127.0.0.1')
    await once(provider, 'listening')
    const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
    const variables = Object.keys(NAMES).flatMap((id) => [
      [`${id.toUpperCase()}_API_KEY`, `key-of-${id}`],
      [`${id.toUpperCase()}_BASE_URL`, `${url}/base/${id}`],
    ])
    gateway = await startGateway(Object.fromEntries(variables))
  })
  after(async () => {
    await gateway.stop()
    provider.close()
  })

  /** Sends a chat completion; `sent` is the provider's request, undefined if there was none. */
  async function forward(model: string, headers: Record<string, string> = {}, stream = false) {
    received.length = 0
    const body = { model, stream, messages: [{ role: 'user', content: 'Hello' }] }
    const { status, body: answer } = await gateway.call('POST', '/v1/chat/completions', body, headers)
    return { status, answer, sent: received.at(-1) }
  }

  it('contain no headers of the client', async () => {
    const ours = {
      cookie: 'session=secret',
      'proxy-authorization': 'Basic secret',
      'x-api-key': 'secret',
      'x-goog-api-key': 'secret',
      'anthropic-version': '1999-01-01',
      'openai-organization': 'secret',
      'x-forwarded-for': '192.0.2.1',
      forwarded: 'for=192.0.2.1',
      via: '1.1 somewhere',
      te: 'trailers',
      'x-request-id': 'mine',
      'x-http-method-override': 'DELETE',
      origin: 'https://page.example',
      referer: 'https://page.example/a',
      'user-agent': 'someone',
    }
    for (const [id, own] of Object.entries(NAMES)) {
      const { sent } = await forward(`${id}:some-model`, ours)
      expect(Object.keys(sent?.headers ?? {}).sort(), id).to.deep.equal([...COMMON, ...own].sort())
      expect(sent?.headers.accept, id).to.equal('application/json')
      expect(sent?.headers['accept-encoding'], id).to.equal('identity')
      expect(JSON.stringify(sent?.rawHeaders), id).not.to.match(/secret|192\.0\.2\.1|tr_/)
      expect(JSON.stringify(sent?.rawHeaders), id).to.contain(`key-of-${id}`)
    }
  })

  for (const name of NASTY) {
    it(`keep their path with the model name ${JSON.stringify(name)}`, async () => {
      for (const id of Object.keys(NAMES)) {
        for (const stream of [false, true]) {
          const { sent } = await forward(`${id}:${name}`, {}, stream)
          expect(sent?.headers, id).not.to.have.property('x-injected')
          const { pathname, search, hash, host } = new URL(sent?.url ?? '', 'http://provider')
          expect(host).to.equal('provider')
          expect(pathname, id).to.match(new RegExp(`^/base/${id}/`))
          expect(hash).to.equal('')
          if (id !== 'gemini') {
            expect(pathname + search).to.match(/^[\w/-]+$/)
            continue
          }
          const method = stream ? 'streamGenerateContent' : 'generateContent'
          expect(search).to.equal(stream ? '?alt=sse' : '')
          const [, segment = ''] = pathname.match(/^\/base\/gemini\/v1beta\/models\/([^/]+)$/) ?? []
          expect(decodeURIComponent(segment)).to.equal(`${name}:${method}`)
        }
      }
    })
  }

  for (const name of NO_NAMES) {
    it(`are not sent with the model name ${JSON.stringify(name).slice(0, 40)}`, async () => {
      for (const id of Object.keys(NAMES)) {
        const { status, answer, sent } = await forward(`${id}:${name}`)
        expect(status, id).to.equal(400)
        expect(answer.error.param, id).to.equal('model')
        expect(sent, id).to.equal(undefined)
      }
    })

    it(`cannot get from a rule the model name ${JSON.stringify(name).slice(0, 40)}`, async () => {
      const rule = {
        ...{ name: 'nasty', is_enabled: true, priority: 0, match_json: {} },
        action_json: { set_provider: 'gemini', set_model: name },
      }
      const { status, body } = await gateway.call('POST', '/v1/routing-rules', rule)
      expect(status).to.equal(422)
      expect(body.error.errors).to.have.property('action_json')
    })
  }
})
