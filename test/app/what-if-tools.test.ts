import { randomBytes } from 'node:crypto'
import { Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startModernServer, type TestServer } from '../support/mcp/servers.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy } from '../support/policies.ts'
import { withSettings } from '../support/settings.ts'

const TOOLS = ['read', 'write'].map((name) => ({ name, inputSchema: { type: 'object' as const } }))

describe('recorded calls of tools', () => {
  let gateway: RunningGateway
  let upstream: TestServer
  let user: TestUser

  before(async () => {
    const settings = await withSettings('ledger: { record_prompts: full }\n')
    gateway = await startGateway({ ...settings, RECORD_KEY: randomBytes(32).toString('base64') })
    upstream = await startModernServer(() => {
      const server = new Server({ name: 'files', version: '1' }, { capabilities: { tools: {} } })
      server.setRequestHandler('tools/list', async () => ({ tools: TOOLS }))
      server.setRequestHandler('tools/call', async () => ({
        content: [{ type: 'text' as const, text: 'ok' }],
      }))
      return server
    })
    for (const name of ['files', 'web'])
      await asAdmin(gateway, 'POST', '/admin/tool-servers', {
        name,
        url: upstream.url,
        new_tools: 'approved',
      })
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  const call = async (server: string, tool: string, path: string) => {
    const { headers } = await callToolRaw(gateway, user.key, { server, tool, arguments: { path } })
    return headers.get('x-request-id') as string
  }
  const policy = (tool: readonly object[], more: object = {}) =>
    newPolicy(gateway, { tool: tool.map(toolRuleBody), applies_to: { users: [user.id] }, ...more })
  const draftPolicy = (tool_rules: readonly object[], more: object = {}) => ({
    ...{ name: 'Draft', is_enabled: true, priority: 5, applies_to: { everyone: true }, ...more },
    tool_rules: tool_rules.map(toolRuleBody),
  })
  const whatIf = async (file: object, query = '') => {
    const path = `/admin/what-if?user=${user.id}${query}`
    const { status, body } = await asAdmin(gateway, 'POST', path, { file })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }
  const changesIn = ({ effects }: { effects: Record<string, number> }) =>
    Object.fromEntries(Object.entries(effects).filter(([, count]) => count > 0))

  it('are evaluated with drafts: what is denied, allowed and needs approval, by rule, with examples', async () => {
    const { remove } = await policy([{ name: 'no web', match: { server: 'web' } }])
    const read = await call('files', 'read', '/tmp/x')
    await call('files', 'write', '/tmp/x')
    await call('files', 'write', '/etc/passwd')
    await call('web', 'read', '/')
    await remove()
    const file = {
      policies: [
        draftPolicy([
          {
            name: 'ask',
            match: { tool: 'write', arguments: { '/path': { contains: 'etc' } } },
            action: 'require_approval',
          },
          { name: 'no reading', match: { tool: 'read', server: 'files' } },
        ]),
      ],
    }
    const { tool_calls: report, limitations } = await whatIf(file)
    expect(report).to.deep.include({ calls: 4, evaluated: 4, not_evaluated: [], is_truncated: false })
    expect(changesIn(report)).to.deep.equal({ newly_denied: 1, newly_needing_approval: 1, unchanged: 2 })
    const counts = { newly_denied: 0, newly_allowed: 0, newly_needing_approval: 0 }
    const shown = report.rules.map(({ origin: _, id, ...rule }: { origin: object; id: number }) => {
      expect(id).to.be.below(0)
      return rule
    })
    expect(shown).to.have.deep.members([
      { kind: 'tool', name: 'ask', ...counts, newly_needing_approval: 1 },
      { kind: 'tool', name: 'no reading', ...counts, newly_denied: 1 },
    ])
    const example = report.examples.find(({ x_request_id: id }: { x_request_id: string }) => id === read)
    expect(example).to.deep.include({ server: 'files', tool: 'read', effects: ['newly_denied'] })
    expect(example.before).to.deep.equal({ verdict: 'allowed', rule: null, arguments: { path: '/tmp/x' } })
    expect([example.after.verdict, example.after.error.code]).to.deep.equal(['denied', 'tool_denied'])
    // The call that was denied then is allowed by today's rules.
    expect(report.reproduced).to.deep.equal({ same: 3, different: [{ reason: 'rules_changed', calls: 1 }] })
    expect(limitations.map(({ code }: { code: string }) => code)).to.not.include('no_requests')
  })

  it('are evaluated with the rules of today, and by removed, masking and blocking rules', async () => {
    await policy([{ name: 'no writing', match: { tool: 'write' } }], { name: 'Old' })
    await call('files', 'write', 'a private file')
    await call('files', 'read', 'a private file')
    await call('files', 'read', 'forbidden')
    const firewall_rules = [
      firewallRule({ name: 'mask', scope: 'tool_call', pattern: 'private', action: 'mask' }),
      firewallRule({ name: 'block', scope: 'tool_call', pattern: 'forbidden' }),
    ]
    const removed = draftPolicy([], { name: 'Old', applies_to: { users: [user.id] } })
    const { tool_calls: same } = await whatIf({})
    expect(changesIn(same)).to.deep.equal({ unchanged: 3 })
    expect(same.reproduced).to.deep.equal({ same: 3, different: [] })
    const { tool_calls: report } = await whatIf({ policies: [removed, draftPolicy([], { firewall_rules })] })
    expect(changesIn(report)).to.deep.equal({ newly_denied: 1, newly_allowed: 1, masked: 1 })
    const byRule = report.rules.map((rule: Record<string, unknown>) => [
      ...[rule.kind, rule.name, rule.newly_denied, rule.newly_allowed],
    ])
    expect(byRule).to.have.deep.members([
      ['firewall', 'block', 1, 0],
      ['tool', 'no writing', 0, 1],
    ])
  })

  it('of which some cannot be decided again are counted, with the reason', async () => {
    const { body } = await asAdmin(gateway, 'POST', '/admin/tool-servers', {
      ...{ name: 'gone', url: upstream.url, new_tools: 'approved' },
    })
    await call('gone', 'read', '/')
    await call('files', 'read', '/')
    await call('files', 'read', '/')
    await asAdmin(gateway, 'DELETE', `/admin/tool-servers/${body.data.id}`)
    const { tool_calls: report, limitations } = await whatIf({})
    expect(report.not_evaluated).to.deep.equal([{ reason: 'server_removed', calls: 1 }])
    const messages = limitations.map(({ message }: { message: string }) => message).join(' ')
    expect(messages).to.include('1 call of tools not decided again: there is no such tool server any more.')
    const { tool_calls: one } = await whatIf({}, '&limit=1')
    expect(one).to.deep.include({ calls: 1, evaluated: 1, is_truncated: true })
    const { tool_calls: none } = await whatIf({}, '&model=gpt-4o')
    expect(none.calls).to.equal(0)
  })

  it('are decided again by their id, with the rules of then', async () => {
    const { remove } = await policy([{ name: 'no web', match: { server: 'web', after_reading: ['files'] } }])
    const allowed = await call('web', 'read', '/')
    await call('files', 'read', '/')
    const denied = await call('web', 'read', '/x')
    await remove()
    const simulate = async (body: object) => (await user.call('POST', '/v1/simulate', body)).body.data
    const again = await simulate({ tool_call: {}, request_id: denied })
    expect(again.recorded).to.deep.equal({ verdict: 'denied', is_same: true, has_same_arguments: true })
    expect([again.verdict, again.rule.name]).to.deep.equal(['denied', 'no web'])
    const passed = await simulate({ tool_call: {}, request_id: allowed })
    expect(passed.tool_call).to.deep.include({ server: 'web', tool: 'read', arguments: { path: '/' } })
    const draft = { request_id: denied, tool_call: {}, rules: { tool: [toolRuleBody({ action: 'warn' })] } }
    const drafted = await simulate(draft)
    expect([drafted.verdict, drafted.recorded.is_same]).to.deep.equal(['allowed', false])

    const admin = (more: object) =>
      asAdmin(gateway, 'POST', '/admin/simulate', { user_id: user.id, request_id: denied, ...more })
    const shown = (await admin({ tool_call: {} })).body.data
    expect([shown.verdict, shown.tool_call, shown.recorded.is_same]).to.deep.equal(['denied', null, true])
    const drafts = { tool: [toolRuleBody({ match: { arguments: { '/path': { contains: 'x' } } } })] }
    const refused = await admin({ tool_call: {}, drafts })
    expect([refused.status, refused.body.error.param]).to.deep.equal([400, 'tool_call.arguments'])
    const stranger = await newUser(gateway)
    const unknown = await stranger.call('POST', '/v1/simulate', { tool_call: {}, request_id: denied })
    expect([unknown.status, unknown.body.error.param]).to.deep.equal([400, 'tool_call.server'])
  })
})
