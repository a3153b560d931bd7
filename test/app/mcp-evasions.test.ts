import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import { type Answer, AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { atUrl, startToolGateway } from '../support/mcp/gateway.ts'
import { startHttp, type TestServer } from '../support/mcp/servers.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { firewallRule, newPolicy } from '../support/policies.ts'

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

const RESULTS: Readonly<Record<string, object>> = {
  'server/discover': {
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
  },
  'tools/list': { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [] },
  'prompts/list': { prompts: [{ name: 'plan' }] },
  'resources/list': { resources: [{ uri: 'file:///srv/a', name: 'a' }] },
  'resources/read': { contents: [] },
  'completion/complete': { completion: { values: ['a private text'] } },
}

describe('callers who try to get around rules for tools', () => {
  let gateway: RunningGateway
  let server: TestServer
  let user: TestUser

  before(async () => {
    server = await startHttp((_, response, body) => {
      const { id, method } = JSON.parse(body)
      const result = { resultType: 'complete', ...RESULTS[method] }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    gateway = await startToolGateway([
      atUrl('files', server.url),
      atUrl('web', `${server.url}?web`),
      { ...atUrl('closed', `${server.url}?closed`), default: 'deny' },
    ])
  })
  beforeEach(async () => {
    user = await newUser(gateway)
    server.requests.length = 0
  })
  after(async () => {
    await gateway.stop()
    await server.stop()
  })

  const policy = (rules: { firewall?: object[]; tool?: object[] }) =>
    newPolicy(gateway, { ...rules, applies_to: { users: [user.id] } })

  /** `params` as JSON text, without the braces. */
  function send(method: string, params: string, path = '/mcp/files', headers: Record<string, string> = {}) {
    const { name, uri, _meta } = JSON.parse(`{${params}}`)
    const named = method === 'tools/call' || method === 'prompts/get' ? name : uri
    const meta = JSON.stringify({ ..._meta, ...META })
    const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params},"_meta":${meta}}}`
    const once = _meta === undefined ? body : body.replace(`,"_meta":${JSON.stringify(_meta)}`, '')
    return gateway.call('POST', path, once, {
      authorization: `Bearer ${user.key}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(named !== undefined && { 'mcp-name': `=?base64?${Buffer.from(named).toString('base64')}?=` }),
      ...headers,
    })
  }
  const call = (args: string, path?: string) => send('tools/call', `"name":"tool","arguments":${args}`, path)
  const read = (uri: string, path?: string) => send('resources/read', `"uri":${JSON.stringify(uri)}`, path)
  const complete = (value: string, path?: string, ref = '{"type":"ref/prompt","name":"plan"}') =>
    send('completion/complete', `"ref":${ref},"argument":{"name":"topic","value":"${value}"}`, path)
  const codeOf = ({ body }: Answer) => body.error?.data?.code ?? body.error?.code ?? 'passed'
  const sent = (method: string) => server.requests.filter(({ body }) => body.includes(`"${method}"`))

  it('complete no arguments of prompts and resources that they may not use', async () => {
    expect(codeOf(await complete('a', '/mcp/closed'))).to.equal('tool_denied')
    await policy({
      tool: [
        toolRuleBody({ match: { server: 'files', tool: 'prompt:plan' }, action: 'hide' }),
        toolRuleBody({ match: { server: 'web', tool: 'prompt:*', after_reading: ['files'] } }),
        toolRuleBody({ match: { tool: 'resource:*' } }),
      ],
    })
    expect(codeOf(await complete('a'))).to.equal('tool_not_found')
    const ref = '{"type":"ref/resource","uri":"file:///srv/{name}"}'
    expect(codeOf(await complete('a', '/mcp/web', ref))).to.equal('tool_denied')
    expect(codeOf(await complete('a', '/mcp/web'))).to.equal('passed')
    await call('{}')
    expect(codeOf(await complete('a', '/mcp/web'))).to.equal('tool_denied')
    expect(sent('completion/complete')).to.have.length(1)
  })

  it('complete nothing that needs an approval, and ask for none', async () => {
    await policy({ tool: [toolRuleBody({ match: { tool: 'prompt:plan' }, action: 'require_approval' })] })
    const { error } = (await complete('a')).body
    expect(error.data).to.deep.equal({ code: 'approval_required' })
    const { body } = await user.call('GET', '/v1/approvals')
    expect(body.data).to.deep.equal([])
  })

  it('send nothing past the firewall beside the arguments', async () => {
    await policy({
      firewall: [
        firewallRule({ scope: 'tool_call', pattern: 'forbidden' }),
        firewallRule({ scope: 'tool_call', pattern: 'private', action: 'mask' }),
        firewallRule({ scope: 'tool_result', pattern: 'private', action: 'mask' }),
      ],
    })
    for (const part of [
      '"_meta":{"note":"forbidden"}',
      '"_meta":{"forbidden":1}',
      '"_meta":{"io.modelcontextprotocol/other":"forbidden"}',
      '"requestState":"forbidden"',
      '"inputResponses":{"a":{"content":{"b":"f\\u006frbidden"}}}',
      '"other":["forbidden"]',
    ])
      expect(codeOf(await send('tools/call', `"name":"tool","arguments":{},${part}`)), part).to.equal(
        'firewall_blocked',
      )
    expect(codeOf(await read('https://a.example/?key=forbidden'))).to.equal('firewall_blocked')
    expect(codeOf(await complete('forbidden'))).to.equal('firewall_blocked')
    for (const method of ['tools/call', 'resources/read', 'completion/complete'])
      expect(sent(method), method).to.be.empty
    const masked = await complete('a private text')
    expect(JSON.stringify(masked.body)).to.include('"values":').and.not.include('private')
    await send('tools/call', '"name":"tool","arguments":{"a":1},"_meta":{"private":"b","kept":"c"}')
    const { params } = JSON.parse(sent('tools/call').at(-1)?.body ?? '')
    expect(params).to.deep.include({ name: 'tool', arguments: { a: 1 } })
    expect(params._meta).to.include({ kept: 'c' }).and.not.have.property('private')
    expect(sent('completion/complete').at(-1)?.body).to.not.include('private')
  })

  it('read no resource by another form of its address', async () => {
    await policy({
      tool: [
        toolRuleBody({ match: { server: 'files', tool: 'resource:file:///etc/*' } }),
        toolRuleBody({ match: { server: 'closed', tool: 'resource:file:///srv/*' }, action: 'allow' }),
        toolRuleBody({ match: { server: 'web', tool: 'resource:https://internal.example/*' } }),
      ],
    })
    for (const uri of [
      'file:///etc/passwd',
      'FILE:///etc/passwd',
      'file://localhost/etc/passwd',
      'file:/etc/passwd',
      'file:///srv/../etc/passwd',
      'file:///srv/%2e%2e/etc/passwd',
      'file:///srv/..%2Fetc/passwd',
      'file:///srv/..%252Fetc/passwd',
      'file:///%65tc/passwd',
      'file:////etc/passwd',
      'file:///etc//passwd',
      'file:///./etc/passwd',
      'file:\\\\\\etc\\passwd',
      ' file:///etc/passwd',
      'file:///e\ttc/passwd',
    ])
      expect(codeOf(await read(uri)), uri).to.equal('tool_denied')
    for (const uri of [
      'file:///srv/../etc/passwd',
      'file:///srv/%2e%2e%2fetc/passwd',
      'file:///srv/a/../../etc/p',
    ])
      expect(codeOf(await read(uri, '/mcp/closed')), uri).to.equal('tool_denied')
    for (const uri of [
      'HTTPS://INTERNAL.example/a',
      'https://internal.example:443/a',
      'https://x@internal.example/a',
    ])
      expect(codeOf(await read(uri, '/mcp/web')), uri).to.equal('tool_denied')
    expect(codeOf(await read('file:///srv/a%20b', '/mcp/closed'))).to.equal('passed')
    expect(codeOf(await read('file:///srv/a'))).to.equal('passed')
    expect(codeOf(await read('urn:isbn:1'))).to.equal('passed')
  })

  it('use no approval and no rule for a number that is nearly the same', async () => {
    await policy({
      tool: [
        toolRuleBody({
          match: { server: 'files', tool: 'tool' },
          action: 'require_approval',
        }),
        toolRuleBody({
          match: { server: 'closed', arguments: { '/to': { equals: 9007199254740992 } } },
          action: 'allow',
        }),
        toolRuleBody({
          match: { server: 'web', arguments: { '/to': { contains: '12345678901234567891' } } },
        }),
        toolRuleBody({ match: { server: 'web', arguments: { '/to': { equals: 9007199254740992 } } } }),
      ],
    })
    const asked = await call('{"to":9007199254740992}')
    const id = asked.body.error.data.approval_id
    expect((await gateway.call('POST', `/admin/approvals/${id}/grant`, {}, AS_ADMIN)).status).to.equal(200)
    for (const other of ['9007199254740993', '9007199254740992.5', '"9007199254740992"'])
      expect(codeOf(await call(`{"to":${other}}`)), other).to.equal('approval_required')
    expect(codeOf(await call('{"to":9007199254740992.0}'))).to.equal('passed')

    expect(codeOf(await call('{"to":9007199254740992}', '/mcp/closed'))).to.equal('passed')
    expect(codeOf(await call('{"to":9007199254740993}', '/mcp/closed'))).to.equal('tool_denied')
    expect(codeOf(await call('{"to":12345678901234567891}', '/mcp/web'))).to.equal('tool_denied')
    expect(codeOf(await call('{"to":[12345678901234567891]}', '/mcp/web'))).to.equal('tool_denied')
    expect(codeOf(await call('{"to":9007199254740993}', '/mcp/web'))).to.equal('tool_denied')
    expect(codeOf(await call('{"to":1e3}', '/mcp/web'))).to.equal('passed')
  })

  it('forget nothing that they have read by another name for their session', async () => {
    await policy({ tool: [toolRuleBody({ match: { server: 'files', after_reading: ['web'] } })] })
    const authorization = `Bearer ${user.key}`
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    }
    const opened = await gateway.call(
      ...(['POST', '/mcp', { jsonrpc: '2.0', id: 0, method: 'initialize', params }] as const),
      { authorization },
    )
    const session = { authorization, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
    const callAs = (server: string, name: string) => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
      const body = { ...message, params: { name: `${server}__tool`, arguments: {} } }
      return gateway.call('POST', '/mcp', body, { ...session, 'x-session-id': name })
    }
    expect(codeOf(await callAs('files', 'a'))).to.equal('passed')
    expect(codeOf(await callAs('web', 'a'))).to.equal('passed')
    expect(codeOf(await callAs('files', 'a'))).to.equal('tool_denied')
    expect(codeOf(await callAs('files', 'b'))).to.equal('tool_denied')
  })
})
