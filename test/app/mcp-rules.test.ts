import type { Client } from '@modelcontextprotocol/client'
import { Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { atUrl, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import { startModernServer, type TestServer } from '../support/mcp/servers.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { firewallRule, newPolicy } from '../support/policies.ts'

const TOOLS = ['read', 'write'].map((name) => ({ name, inputSchema: { type: 'object' as const } }))

function createServer(): Server {
  const server = new Server({ name: 'files', version: '1' }, { capabilities: { tools: {}, prompts: {} } })
  server.setRequestHandler('tools/list', async () => ({ tools: TOOLS }))
  server.setRequestHandler('tools/call', async ({ params }) => ({
    content: [
      { type: 'text' as const, text: `${params.name}${'!'.repeat(Number(params.arguments?.length ?? 0))}` },
    ],
  }))
  server.setRequestHandler('prompts/list', async () => ({ prompts: [{ name: 'plan' }] }))
  server.setRequestHandler('prompts/get', async () => ({ messages: [] }))
  return server
}

describe('rules of the gateway for tools', () => {
  let gateway: RunningGateway
  let server: TestServer
  let user: TestUser
  let client: Client

  before(async () => {
    server = await startModernServer(createServer)
    gateway = await startToolGateway(
      [
        atUrl('files', server.url),
        atUrl('web', server.url),
        { ...atUrl('closed', server.url), default: 'deny' },
      ],
      'mcp: { limits: { max_inspected_bytes: 2000 } }\n',
    )
  })
  beforeEach(async () => {
    user = await newUser(gateway)
    client = (await connectClient(gateway, '/mcp', 'modern', { key: user.key })).client
  })
  afterEach(() => client.close())
  after(async () => {
    await gateway.stop()
    await server.stop()
  })

  const rule = (...rules: readonly object[]) =>
    newPolicy(gateway, { tool: rules.map((one) => toolRuleBody(one)), applies_to: { users: [user.id] } })
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    try {
      const { content } = await client.callTool({ name, arguments: args })
      return (content as { text: string }[])[0]?.text
    } catch (error) {
      return (error as { data?: { code?: string } }).data ?? error
    }
  }
  const list = async () => (await client.listTools()).tools.map(({ name }) => name)

  it('keep denied and hidden tools out of lists, and refuse their calls', async () => {
    await rule(
      { name: 'no writing', match: { server: 'files', tool: 'write' }, action: 'deny' },
      { name: 'no web', match: { server: 'web' }, action: 'hide' },
    )
    expect(await list()).to.deep.equal(['files__read'])
    expect(await call('files__read')).to.equal('read')
    expect(await call('files__write')).to.include({ code: 'tool_denied', rule: 'no writing' })
    expect(await call('web__read')).to.deep.equal(await call('web__nothing'))
  })

  it('open servers that deny by default', async () => {
    expect(await call('closed__read')).to.include({ code: 'tool_denied' })
    await rule({ name: 'reading', match: { server: 'closed', tool: 'read' }, action: 'allow' })
    expect(await call('closed__read')).to.equal('read')
    expect(await call('closed__write')).to.include({ code: 'tool_denied' })
    expect(await list())
      .to.include('closed__read')
      .and.not.include('closed__write')
  })

  it('decide by arguments, and by what was read before', async () => {
    await rule(
      { name: 'etc', match: { tool: 'read', arguments: { '/path': { contains: '/etc/' } } }, action: 'deny' },
      { name: 'taint', match: { tool: 'write', after_reading: ['web'] }, action: 'deny' },
    )
    expect(await call('files__read', { path: '/etc/passwd' })).to.include({ rule: 'etc' })
    expect(await call('files__read', { path: '/srv/a' })).to.equal('read')
    expect(await call('files__write')).to.equal('write')
    expect(await call('web__read')).to.equal('read')
    expect(await call('files__write')).to.include({ rule: 'taint' })
  })

  it('of the firewall mask and block arguments and results', async () => {
    const firewall = [
      firewallRule({ scope: 'tool_call', pattern: 'forbidden' }),
      firewallRule({ scope: 'tool_call', pattern: 'private', action: 'mask' }),
      firewallRule({ scope: 'tool_result', pattern: 'write', action: 'mask' }),
    ]
    await newPolicy(gateway, { firewall, applies_to: { users: [user.id] } })
    server.requests.length = 0
    expect(await call('files__read', { text: 'forbidden' })).to.include({ code: 'firewall_blocked' })
    expect(server.requests.filter(({ body }) => body.includes('tools/call'))).to.be.empty
    expect(await call('files__read', { text: 'a private text' })).to.equal('read')
    expect(server.requests.at(-1)?.body).to.not.include('private')
    expect(await call('files__write'))
      .to.be.a('string')
      .and.not.include('write')
    expect(await call('files__read', { length: 3000 })).to.include({ code: 'tool_result_too_large' })
  })

  it('are about prompts, too', async () => {
    await rule({ name: 'no prompts', match: { server: 'files', tool: 'prompt:*' }, action: 'hide' })
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).to.deep.equal(['web__plan'])
  })

  it('let a call with an approval pass once, with the same arguments', async () => {
    await rule({ name: 'ask', match: { server: 'files', tool: 'write' }, action: 'require_approval' })
    const asked = (await call('files__write', { path: 'a' })) as { code: string; approval_id: string }
    expect(asked.code).to.equal('approval_required')
    const path = `/admin/approvals/${asked.approval_id}/grant`
    expect((await gateway.call('POST', path, undefined, AS_ADMIN)).status).to.equal(200)
    expect(await call('files__write', { path: 'b' })).to.include({ code: 'approval_required' })
    expect(await call('files__write', { path: 'a' })).to.equal('write')
    expect(await call('files__write', { path: 'a' })).to.include({ code: 'approval_required' })
  })
})
