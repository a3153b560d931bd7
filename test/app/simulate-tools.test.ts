import { Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { startModernServer, type TestServer } from '../support/mcp/servers.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy } from '../support/policies.ts'

const TOOLS = ['read', 'write'].map((name) => ({ name, inputSchema: { type: 'object' as const } }))

describe('simulated calls of tools', () => {
  let gateway: RunningGateway
  let upstream: TestServer
  let user: TestUser
  let id: number

  before(async () => {
    gateway = await startGateway()
    upstream = await startModernServer(() => {
      const server = new Server({ name: 'files', version: '1' }, { capabilities: { tools: {} } })
      server.setRequestHandler('tools/list', async () => ({ tools: TOOLS }))
      server.setRequestHandler('tools/call', async () => ({ content: [] }))
      return server
    })
    const body = { name: 'files', url: upstream.url, new_tools: 'approved' }
    id = (await asAdmin(gateway, 'POST', '/admin/tool-servers', body)).body.data.id
    await asAdmin(gateway, 'POST', `/admin/tool-servers/${id}/refresh`)
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  const READ = { server: 'files', tool: 'read', arguments: { path: '/etc/passwd' } }
  const simulate = async (toolCall: object = READ, more: object = {}) => {
    const { status, body } = await user.call('POST', '/v1/simulate', { tool_call: toolCall, ...more })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }
  const simulateFor = async (toolCall: object, more: object = {}) => {
    const request = { user_id: user.id, tool_call: toolCall, ...more }
    const { status, body } = await asAdmin(gateway, 'POST', '/admin/simulate', request)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }
  const policy = (tool: readonly object[], more: object = {}) =>
    newPolicy(gateway, { tool: tool.map(toolRuleBody), applies_to: { users: [user.id] }, ...more })

  it('show the call that would be sent, by the default of the server, and send none', async () => {
    const before = upstream.requests.length
    const { rules_position: position, ...shown } = await simulate()
    expect(shown).to.deep.equal({
      ...{ outcome: 'allowed', verdict: 'allowed', rule: null, warnings: [], rule_trace: [] },
      tool_call: { ...READ, revision: 1 },
    })
    expect(position).to.be.above(0)
    expect(upstream.requests.length).to.equal(before)
  })

  it('show the rule that decides, warnings, the trace and masked arguments', async () => {
    const warn = { name: 'careful', action: 'warn', priority: 5 }
    const ask = {
      name: 'ask',
      action: 'require_approval',
      match: { arguments: { '/path': { contains: 'etc' } } },
    }
    const { id: policyId, ruleIds } = await policy([warn, ask], {
      name: 'P',
      firewall: [firewallRule({ scope: 'tool_call', pattern: 'passwd', action: 'mask' })],
    })
    const { verdict, outcome, rule, warnings, rule_trace, tool_call } = await simulate()
    const origin = { type: 'policy', id: policyId, name: 'P' }
    expect([verdict, outcome]).to.deep.equal(['pending_approval', 'allowed'])
    expect(rule).to.deep.equal({ rule_id: ruleIds[2], name: 'ask', origin })
    expect(warnings[0].message).to.include('careful')
    expect(rule_trace.map(({ kind, action }: Record<string, string>) => `${kind} ${action}`)).to.deep.equal([
      ...['tool warn', 'tool require_approval', 'firewall mask'],
    ])
    expect(JSON.stringify(tool_call)).to.include('/etc/').and.not.include('passwd')
  })

  it('say why a call would be refused', async () => {
    await policy([{ name: 'no', match: { tool: 'write', after_reading: ['web'] } }], {
      firewall: [firewallRule({ scope: 'tool_call', pattern: 'forbidden' })],
    })
    const write = { ...READ, tool: 'write' }
    expect((await simulate(write)).verdict).to.equal('allowed')
    const denied = await simulate({ ...write, read: ['web'] })
    expect(denied).to.deep.include({ outcome: 'refused', verdict: 'denied', tool_call: null })
    expect(denied.error).to.include({ code: 'tool_denied', http_status: 403 })
    const blocked = await simulate({ ...READ, arguments: { text: 'forbidden' } })
    expect([blocked.verdict, blocked.error.code]).to.deep.equal(['blocked', 'firewall_blocked'])
    const unknown = await simulate({ ...READ, tool: 'unknown' })
    expect([unknown.verdict, unknown.error.code]).to.deep.equal(['not_served', 'tool_not_found'])
    const elsewhere = await simulate({ ...READ, server: 'elsewhere' })
    expect([elsewhere.verdict, elsewhere.error.code]).to.deep.equal(['not_served', 'tool_server_not_found'])
  })

  it('tell operators, and not users, what a policy hides', async () => {
    await policy([{ name: 'hidden', match: { tool: 'read' }, action: 'hide' }])
    const { rules_position: _, ...hidden } = await simulate()
    const { rules_position: __, ...unknown } = await simulate({ ...READ, tool: 'unknown' })
    expect(JSON.stringify(hidden).replaceAll('read', 'unknown')).to.equal(JSON.stringify(unknown))
    const shown = await simulateFor(READ)
    expect([shown.verdict, shown.rule.name]).to.deep.equal(['hidden', 'hidden'])
  })

  it('apply drafts, which change nothing', async () => {
    const draft = toolRuleBody({ name: 'draft', match: { tool: 'read' } })
    const own = await simulate(READ, { rules: { tool: [draft] } })
    expect([own.verdict, own.rule]).to.deep.equal(['denied', { rule_id: -1, name: 'draft' }])
    const { id: policyId } = await policy([{ name: 'stored', match: { tool: 'write' } }])
    const drafts = { policies: [{ policy_id: policyId, tool: [draft] }] }
    const drafted = await simulateFor(READ, { drafts })
    expect([drafted.verdict, drafted.rule.rule_id]).to.deep.equal(['denied', -1])
    expect((await simulateFor(READ)).verdict).to.equal('allowed')
  })

  it('decide as of an earlier position, by the rules and definitions of then', async () => {
    const body = { name: 'later', url: upstream.url }
    const { data } = (await asAdmin(gateway, 'POST', '/admin/tool-servers', body)).body
    const later = { server: 'later', tool: 'read' }
    const path = `/admin/tool-servers/${data.id}`
    const positions: number[] = []
    const note = async (expected: string) => {
      const { verdict, rules_position: position } = await simulate(later)
      expect(verdict).to.equal(expected)
      positions.push(position)
    }
    await asAdmin(gateway, 'POST', `${path}/refresh`)
    await note('not_served')
    await asAdmin(gateway, 'POST', `${path}/tools/read/approve`, { revision: 1 })
    await note('allowed')
    const { remove } = await policy([{ match: { server: 'later' } }])
    await note('denied')
    await remove()
    await note('allowed')
    await asAdmin(gateway, 'PATCH', path, { default: 'deny' })
    await note('denied')
    await asAdmin(gateway, 'DELETE', path)
    await note('not_served')
    const again = []
    for (const position of positions) again.push((await simulate(later, { as_of: position })).verdict)
    expect(again).to.deep.equal([...['not_served', 'allowed', 'denied', 'allowed', 'denied', 'not_served']])
    expect((await simulate(later, { as_of: positions[0] })).error.code).to.equal('tool_not_approved')
  })

  it('name what is wrong with a body', async () => {
    const refuse = async (body: object) => {
      const { status, body: answer } = await user.call('POST', '/v1/simulate', body)
      return [status, answer.error.message]
    }
    expect(await refuse({ tool_call: { server: 'files' } })).to.satisfy(
      ([status, message]: [number, string]) => status === 400 && message.includes('tool_call.tool'),
    )
    const [status, message] = await refuse({ tool_call: READ, model: 'auto' })
    expect([status, message.includes('model')]).to.deep.equal([400, true])
    const neither = await asAdmin(gateway, 'POST', '/admin/simulate', { user_id: user.id })
    expect([neither.status, neither.body.error.code]).to.deep.equal([400, 'missing_parameter'])
  })
})
