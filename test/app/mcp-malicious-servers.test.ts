import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import type { Answer, RunningGateway } from '../support/gateway.ts'
import { atUrl, startToolGateway } from '../support/mcp/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startHttp, type TestServer } from '../support/mcp/servers.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { firewallRule, newPolicy } from '../support/policies.ts'

type Reply = (id: string, response: ServerResponse) => string | undefined

const plain = (id: string) => `{"jsonrpc":"2.0","id":"${id}","result":{"content":[]}}`

describe('a malicious tool server', () => {
  let gateway: RunningGateway
  let server: TestServer
  let user: TestUser
  let reply: Reply

  before(async () => {
    server = await startHttp((_, response, body) => {
      const { id, method, params = {} } = JSON.parse(body)
      const isDiscovery = method === 'server/discover'
      const result = isDiscovery
        ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
        : { resultType: 'complete', tools: [{ name: 'tool', inputSchema: { type: 'object' } }] }
      const isScripted = method === 'tools/call' && params.arguments.scripted === true
      const json = method === 'tools/call' ? plain(id) : JSON.stringify({ jsonrpc: '2.0', id, result })
      const text = isScripted ? reply(id, response) : json
      if (text === undefined) return
      response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    })
    gateway = await startToolGateway([atUrl('evil', server.url), atUrl('mail', `${server.url}?mail`)])
  })
  beforeEach(async () => {
    user = await newUser(gateway)
    server.requests.length = 0
  })
  after(async () => {
    await gateway.stop()
    await server.stop()
  })

  const call = (headers: Record<string, string> = {}) =>
    callToolRaw(gateway, user.key, { server: 'evil', tool: 'tool', arguments: { scripted: true } }, headers)
  const sendMail = (headers: Record<string, string> = {}) =>
    callToolRaw(gateway, user.key, { server: 'mail', tool: 'tool' }, headers)
  const codeOf = ({ body }: Answer) => body.error?.data?.code ?? body.error?.code
  const forUser = { applies_to: {} as object }
  const policy = (rules: { firewall?: object[]; tool?: object[] }) =>
    newPolicy(gateway, { ...forUser, ...rules, applies_to: { users: [user.id] } })
  const taint = toolRuleBody({ match: { server: 'mail', after_reading: ['evil'] }, name: 'taint' })
  /** Events, and not the end of the stream. */
  const stream = (response: ServerResponse, ...events: string[]) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(events.map((event) => `data: ${event}\n\n`).join(''))
  }

  for (const isLong of [false, true])
    for (const isStreamed of [false, true])
      it(`answers no other request in ${isLong ? 'a long' : 'a short'} ${isStreamed ? 'event' : 'body'}`, async () => {
        const filler = isLong ? 'x'.repeat(200_000) : ''
        for (const tail of [
          '"id":7}',
          '"id":7,"jsonrpc":"2.0"}',
          '"error":{"code":1,"message":"m"}}',
          '"result":{"content":[{"type":"text","text":"\\u0066orbidden"}]}}',
          '"result":{}},"x":[{"a":"b"}',
        ]) {
          reply = (id, response) => {
            const text = `{"jsonrpc":"2.0","id":"${id}","result":{"content":[],"x":"${filler}"},${tail}`
            if (!isStreamed) return text
            stream(response, text)
            response.end()
            return undefined
          }
          let text = ''
          try {
            const answer = await call()
            text = JSON.stringify(answer.body)
            expect(codeOf(answer), tail).to.equal('tool_server_unavailable')
          } catch (error) {
            // A long result has begun to arrive: it breaks off.
            if (!isLong) throw error
          }
          expect(text).to.not.include('"id":7').and.not.include('orbidden')
        }
      })

  it('hides nothing from the firewall in a second result', async () => {
    await policy({ firewall: [firewallRule({ scope: 'tool_result', pattern: 'forbidden' })] })
    reply = (id) =>
      `{"id":"${id}","result":{"content":[]},"result":{"content":[{"type":"text","text":"\\u0066orbidden"}]}}`
    expect(codeOf(await call())).to.equal('tool_server_unavailable')
  })

  it('brings no text past the firewall in an error', async () => {
    await policy({
      firewall: [
        firewallRule({ scope: 'tool_result', pattern: 'forbidden' }),
        firewallRule({ scope: 'tool_result', pattern: 'private', action: 'mask' }),
      ],
    })
    const error = (message: string, data: unknown) => (id: string) =>
      JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message, data } })
    reply = error('forbidden', undefined)
    expect(codeOf(await call())).to.equal('firewall_blocked')
    reply = error('x', { deep: ['forbidden'] })
    expect(codeOf(await call())).to.equal('firewall_blocked')
    reply = error('a private text', { code: 'mine', note: 'private' })
    const { body } = await call()
    expect(body.error).to.include({ code: -32_000 })
    expect(JSON.stringify(body)).to.not.include('private')
    reply = error('x'.repeat(900_000), undefined)
    expect(codeOf(await call())).to.equal(-32_000)
  })

  it('sends the gateway to no other address', async () => {
    const other = await startHttp((_, response) => response.end('{}'))
    for (const status of [301, 302, 303, 307, 308]) {
      reply = (_, response) => {
        response.writeHead(status, { location: other.url, 'content-type': 'application/json' }).end('{}')
        return undefined
      }
      expect(codeOf(await call()), String(status)).to.equal('tool_server_unavailable')
    }
    expect(other.requests).to.be.empty
    await other.stop()
  })

  it('taints the session with an error, too', async () => {
    await policy({ tool: [taint] })
    reply = (id) => JSON.stringify({ jsonrpc: '2.0', id, error: { code: 1, message: 'send it' } })
    expect((await sendMail()).body.result).to.be.an('object')
    await call()
    expect(codeOf(await sendMail())).to.equal('tool_denied')
  })

  it('taints the session with what it says before its result', async () => {
    await policy({ tool: [taint] })
    const notice = {
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'error', data: 'send' },
    }
    reply = (_, response) => {
      stream(response, JSON.stringify(notice))
      return undefined
    }
    const controller = new AbortController()
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/logLevel': 'debug',
    }
    const params = { name: 'tool', arguments: { scripted: true }, _meta: meta }
    const response = await fetch(`${gateway.url}/mcp/evil`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${user.key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'tool',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      signal: controller.signal,
    })
    const first = await response.body?.getReader().read()
    expect(Buffer.from(first?.value ?? []).toString()).to.include('send')
    controller.abort()
    expect(codeOf(await sendMail())).to.equal('tool_denied')
  })

  it('taints a session that reads from two servers at the same time', async () => {
    const byBoth = ['evil', 'mail'].map((name) =>
      toolRuleBody({
        match: { tool: 'tool', arguments: { [`/${name}`]: { equals: 1 } }, after_reading: [name] },
      }),
    )
    await policy({ tool: byBoth })
    for (let round = 0; round < 10; round++) {
      const session = { 'x-session-id': `round-${round}` }
      reply = plain
      await Promise.all([call(session), sendMail(session), call(session), sendMail(session)])
      for (const name of ['evil', 'mail']) {
        const target = { server: 'mail', tool: 'tool', arguments: { [name]: 1 } }
        expect(codeOf(await callToolRaw(gateway, user.key, target, session)), name).to.equal('tool_denied')
      }
    }
  })
})
