import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { operationsOf } from '../support/openapi.ts'
import { sendRaw } from '../support/raw-http.ts'

const LENGTH = 18_000_000

/** Paths that the OpenAPI document does not list. */
const OTHER_PATHS = [
  '/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21',
  '/openai/v1/responses?api-version=preview',
  '/v1/audio/transcriptions',
  '/v1/files',
  '/v1/nothing',
  '/admin/nothing',
]

describe('a body without a key', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  /** Announces a body. The gateway asks for it with 100 (Continue) before it reads it. */
  const announce = (url: string, method: string, path: string, headers = '') =>
    sendRaw(
      url,
      `${method} ${path} HTTP/1.1\r\nHost: gateway\r\nContent-Length: ${LENGTH}\r\n` +
        `Expect: 100-continue\r\n${headers}\r\n`,
    )

  async function expectUnread(url: string, method: string, path: string, headers?: string): Promise<void> {
    const response = await announce(url, method, path, headers)
    expect(response, `${method} ${path}`).to.match(/^HTTP\/1\.1 40[14] /)
  }

  it('is read by no endpoint', async () => {
    const { body: document } = await gateway.call('GET', '/openapi.json')
    const changes = operationsOf(document).filter(({ operation }) => operation.requestBody !== undefined)
    expect(changes.length).to.be.greaterThan(40)
    for (const { method, path } of changes) {
      const url = path === '/route' ? gateway.routeUrl : gateway.url
      await expectUnread(url, method, path.replaceAll(/\{\w+\}/g, '1'))
    }
  })

  it('is read at no other path, whatever its type', async () => {
    for (const path of OTHER_PATHS)
      for (const type of ['application/json', 'multipart/form-data; boundary=a'])
        await expectUnread(gateway.url, 'POST', path, `Content-Type: ${type}\r\n`)
  })

  it('is read for no other key, however it is sent', async () => {
    const wrong = 'Authorization: Bearer sk-wrong\r\n'
    for (const path of ['/v1/chat/completions', '/v1/messages', '/admin/users'])
      await expectUnread(gateway.url, 'POST', path, `${wrong}Content-Encoding: gzip\r\n`)
    await expectUnread(gateway.routeUrl, 'POST', '/route', wrong)
  })

  it('is read for the key of a user', async () => {
    const key = `Authorization: Bearer ${gateway.demoKey}\r\n`
    const head = 'HTTP/1.1 100 Continue\r\n'
    const text = '{"model":"sandbox/echo","messages":[{"role":"user","content":"Hello"}]}'
    const response = await sendRaw(
      gateway.url,
      `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n${key}` +
        `Content-Length: ${text.length}\r\nExpect: 100-continue\r\n\r\n${text}`,
    )
    expect(response.startsWith(head), response).to.equal(true)
  })

  it('is taken by no WebSocket connection', async () => {
    const response = await sendRaw(
      gateway.url,
      'GET /v1/responses HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    expect(response).to.match(/^HTTP\/1\.1 401 /)
  })
})
