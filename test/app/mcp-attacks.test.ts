import { expect } from 'chai'
import type { Answer, RunningGateway } from '../support/gateway.ts'
import { atUrl, startToolGateway } from '../support/mcp/gateway.ts'
import { startHttp, type TestServer } from '../support/mcp/servers.ts'
import { newUser } from '../support/new-user.ts'
import { itInFull } from '../support/rounds.ts'

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const VERSION = { 'mcp-protocol-version': '2026-07-28' }

const modern = (id: unknown, method: string, params: object = {}) => ({
  ...{ jsonrpc: '2.0', id, method },
  params: { ...params, _meta: META },
})

const initialize = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

/** Answers requests of the revision without sessions, as the test wants the tool to. */
async function startScripted(
  call: (id: string, params: { arguments?: object }) => string,
): Promise<TestServer> {
  return startHttp((_, response, body) => {
    const { id, method, params } = JSON.parse(body)
    const tools = [{ name: 'tool', inputSchema: { type: 'object' } }]
    const result =
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
        : { resultType: 'complete', tools }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(method === 'tools/call' ? call(id, params) : JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
}

const text = (id: string, content: string) =>
  `{"jsonrpc":"2.0","id":"${id}","result":{"content":[{"type":"text","text":"${content}"}]}}`

describe('attacks on the gateway for tools', () => {
  let gateway: RunningGateway
  let server: TestServer
  let answer: (id: string, params: { arguments?: object }) => string

  before(async () => {
    server = await startScripted((id, params) => answer(id, params))
    gateway = await startToolGateway(
      [
        atUrl('tools', server.url),
        atUrl('gone', 'http://127.0.0.1:9/mcp'),
        atUrl('own', server.url, { type: 'passthrough' }),
        atUrl('private', 'http://169.254.169.254/latest'),
      ],
      'cors: { origins: [https://app.example.com] }\n',
    )
  })
  beforeEach(() => {
    server.requests.length = 0
    answer = (id) => text(id, 'done')
  })
  after(async () => {
    await gateway.stop()
    await server.stop()
  })

  const post = (body: unknown, headers: Record<string, string> = {}, path = '/mcp/tools') =>
    gateway.call('POST', path, body, headers)
  const call = (id: unknown = 1, args: object = {}, headers: Record<string, string> = {}, path?: string) => {
    const name = path === '/mcp' ? 'tools__tool' : 'tool'
    const body = modern(id, 'tools/call', { name, arguments: args })
    return post(body, { ...VERSION, 'mcp-method': 'tools/call', 'mcp-name': name, ...headers }, path)
  }
  const errorOf = ({ status, body }: Answer) => [status, body.error?.code, body.error?.data?.code]

  it('refuses what is not one message', async () => {
    for (const [body, code] of [
      ['{', -32_700],
      [[modern(1, 'tools/list')], -32_600],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}', -32_600],
      ['{"jsonrpc":"2.0","id":{},"method":"tools/list"}', -32_600],
      ['{"id":1,"method":"tools/list"}', -32_600],
      [`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":${'['.repeat(300)}${']'.repeat(300)}}}`, -32_600],
    ] as const)
      expect(errorOf(await post(body)), JSON.stringify(body).slice(0, 60)).to.include.members([400, code])
  })

  it('refuses other content types, web pages, and bodies that the headers do not describe', async () => {
    const list = modern(1, 'tools/list')
    expect((await post(list, { 'content-type': 'text/plain' })).status).to.equal(415)
    expect((await post(list, { origin: 'https://evil.example.com' })).status).to.equal(403)
    const allowed = { origin: 'https://app.example.com', ...VERSION, 'mcp-method': 'tools/list' }
    expect((await post(list, allowed)).status).to.equal(200)
    expect(errorOf(await call(1, {}, { 'mcp-name': 'other' }))).to.include.members([400, -32_020])
    expect((await call(1, {}, { 'mcp-name': '=?base64?dG9vbA==?=' })).status).to.equal(200)
    const unpadded = await call(1, {}, { 'mcp-name': '=?base64?dG9vbA?=' })
    expect(errorOf(unpadded)).to.include.members([400, -32_020])
    expect(errorOf(await call(1, {}, { 'mcp-method': 'tools/list' }))).to.include.members([400, -32_020])
    const later = {
      ...list,
      params: { _meta: { ...META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } },
    }
    const { status, body } = await post(later, { 'mcp-protocol-version': '2099-01-01' })
    expect([status, body.error.code]).to.deep.equal([400, -32_022])
    expect(body.error.data.supported).to.include('2026-07-28')
  })

  it('does not tell a hidden server from an unknown one, and answers 401 without a key', async () => {
    expect(errorOf(await call(1, {}, {}, '/mcp/unknown'))).to.deep.equal([
      404,
      -32_000,
      'tool_server_not_found',
    ])
    expect((await call(1, {}, { authorization: 'Bearer tr_nobody' })).status).to.equal(401)
  })

  it('keeps sessions to their caller and their path', async () => {
    const opened = await post(initialize)
    const id = opened.headers.get('mcp-session-id') ?? ''
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const session = { 'mcp-session-id': id }
    expect((await post(ping, session)).body).to.deep.equal({ jsonrpc: '2.0', id: 1, result: {} })
    const { key } = await newUser(gateway)
    const other = { ...session, authorization: `Bearer ${key}` }
    const lost = [404, -32_001, 'mcp_session_not_found']
    expect(errorOf(await post(ping, other))).to.deep.equal(lost)
    expect(errorOf(await gateway.call('DELETE', '/mcp/tools', undefined, other))).to.deep.equal(lost)
    expect(errorOf(await post(ping, session, '/mcp'))).to.deep.equal(lost)
    expect((await gateway.call('DELETE', '/mcp/tools', undefined, session)).status).to.equal(204)
    expect(errorOf(await post(ping, session))).to.deep.equal(lost)
  })

  it('sends no headers of the caller to servers, and credentials only where they belong', async () => {
    const smuggled = {
      'x-forwarded-for': '10.0.0.1',
      cookie: 'a=b',
      'mcp-session-id': 'theirs',
      'x-own': 'c',
    }
    await call(1, {}, { ...smuggled, 'x-mcp-authorization': 'Bearer secret', 'mcp-param-x': 'd' })
    for (const { headers } of server.requests) {
      for (const name of [...Object.keys(smuggled), 'authorization', 'x-mcp-authorization', 'mcp-param-x'])
        expect(headers, name).to.not.have.property(name)
    }
    await call(1, {}, { 'x-mcp-authorization': 'Bearer secret' }, '/mcp/own')
    expect(server.requests.at(-1)?.headers.authorization).to.equal('Bearer secret')
  })

  it('passes on arguments and results as they were written', async () => {
    const args = '{"big":12345678901234567890,"text":"\\u00e9","none":null}'
    const { _meta } = modern(1, '').params
    const params = `{"name":"tool","arguments":${args},"_meta":${JSON.stringify(_meta)}}`
    answer = (id) =>
      `{"result":{"n":1.0,"x":98765432109876543210,"content":[]}, "jsonrpc":"2.0","id":"${id}"}`
    const { text: received } = await gateway
      .call('POST', '/mcp/tools', `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":${params}}`, {
        ...VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': 'tool',
      })
      .then(({ body }) => ({ text: JSON.stringify(body) }))
    expect(server.requests.at(-1)?.body).to.include(`"arguments":${args}`)
    expect(received).to.include('"id":"a"')
  })

  it('answers with the id of the client, whatever a result holds', async () => {
    for (const id of ['sb-1', 7, '']) {
      answer = (own) => text(own, `,\\"id\\":\\"${own}\\"}`)
      const { body } = await call(id)
      expect(body.id).to.equal(id)
      expect(body.result.content[0].text).to.match(/^,"id":"sb-/)
    }
  })

  it('refuses a response to another request, and one that breaks off', async () => {
    for (const broken of [
      text('sb-0000000000000000000000', 'x').replace('sb-', 'xx-'),
      '{"jsonrpc":"2.0",',
      'x',
    ]) {
      answer = () => broken
      expect(errorOf(await call())[2], broken).to.equal('tool_server_unavailable')
    }
  })

  itInFull('passes on a result of many megabytes', async () => {
    const megabytes = 'x'.repeat(64 * 1024 * 1024)
    answer = (id) => text(id, megabytes)
    const { body } = await call()
    expect(body.result.content[0].text.length).to.equal(megabytes.length)
  })

  it('does not connect to private addresses', async () => {
    expect(errorOf(await call(1, {}, {}, '/mcp/private'))[2]).to.equal('tool_server_unavailable')
  })

  it('lists the tools of the other servers while one is away', async () => {
    const { body } = await post(modern(1, 'tools/list'), { ...VERSION, 'mcp-method': 'tools/list' }, '/mcp')
    expect(body.result.tools.map(({ name }: { name: string }) => name)).to.deep.equal([
      'tools__tool',
      'own__tool',
    ])
    expect(body.result._meta['dev.signalbox/unavailableServers']).to.have.members(['gone', 'private'])
  })
})
