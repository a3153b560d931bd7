import type { Client } from '@modelcontextprotocol/client'
import { Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { atUrl, type ClientEra, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startModernServer, type TestServer } from '../support/mcp/servers.ts'
import { scrape } from '../support/metrics.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newPolicy } from '../support/policies.ts'
import { requireRedis } from '../support/redis.ts'
import { PATIENT_WITH_REDIS } from '../support/settings.ts'

function createServer(): Server {
  const server = new Server({ name: 'files', version: '1' }, { capabilities: { tools: {}, prompts: {} } })
  const tools = ['read', 'write'].map((name) => ({ name, inputSchema: { type: 'object' as const } }))
  server.setRequestHandler('tools/list', async () => ({ tools }))
  server.setRequestHandler('tools/call', async () => ({ content: [{ type: 'text' as const, text: 'done' }] }))
  server.setRequestHandler('prompts/list', async () => ({ prompts: [{ name: 'plan' }] }))
  server.setRequestHandler('prompts/get', async () => ({ messages: [] }))
  return server
}

const limits = (more = '') =>
  'rate_limits: { requests_per_minute: { free: null, paid: null }, ' +
  `tool_calls_per_minute: { free: 2, paid: 1000 }${more} }\n`

describe('the limit of tool calls per minute', () => {
  let gateway: RunningGateway
  let server: TestServer
  let user: TestUser
  before(async () => {
    server = await startModernServer(createServer)
    gateway = await startToolGateway([atUrl('files', server.url)], limits())
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(async () => {
    await gateway.stop()
    await server.stop()
  })

  const setLimit = (change: object, { id } = user) =>
    gateway.call('PATCH', `/admin/users/${id}`, change, AS_ADMIN)
  const policy = (...tool: readonly object[]) =>
    newPolicy(gateway, { tool: tool.map((one) => toolRuleBody(one)), applies_to: { users: [user.id] } })
  const connect = async (era: ClientEra, { key } = user) =>
    (await connectClient(gateway, '/mcp/files', era, { key })).client
  async function call(client: Client, name = 'read') {
    try {
      await client.callTool({ name, arguments: {} })
      return 'done'
    } catch (error) {
      return (error as { data?: { code?: string; retry_after?: number } }).data ?? error
    }
  }
  const refused = (answer: unknown) => {
    expect(answer).to.include({ code: 'rate_limit_exceeded' })
    expect(answer).property('retry_after').to.be.a('number').within(1, 60)
  }

  for (const era of ['modern', 'session'] as const)
    it(`is that of the plan, and an error of the call for ${era} clients`, async () => {
      user = await newUser(gateway, 'free')
      const client = await connect(era)
      await client.listTools()
      const calls = () => server.requests.filter(({ body }) => body.includes('tools/call')).length
      const before = calls()
      expect([await call(client), await call(client)]).to.deep.equal(['done', 'done'])
      refused(await call(client))
      expect(calls() - before).to.equal(2)
      // Lists are no calls.
      expect((await client.listTools()).tools).to.have.length(2)
      await client.close()
    })

  it('answers with status 200 and the code, as errors of calls are', async () => {
    await setLimit({ tool_calls_per_minute: 1 })
    const request = () => callToolRaw(gateway, user.key, { server: 'files', tool: 'read' })
    expect((await request()).body.result).to.be.an('object')
    const { status, headers, body } = await request()
    expect([status, headers.get('x-error-code')]).to.deep.equal([200, 'rate_limit_exceeded'])
    expect(body.error.code).to.equal(-32_000)
    expect(body.error.message).to.contain('1 tool call per minute')
  })

  it('may be one of the user, which is shown, changed at once and reset to that of the plan', async () => {
    const client = await connect('modern')
    const { body } = await setLimit({ tool_calls_per_minute: 1 })
    expect(body.data).to.include({ tool_calls_per_minute: 1 })
    expect(await call(client)).to.equal('done')
    refused(await call(client))
    await setLimit({ tool_calls_per_minute: 3 })
    expect(await call(client)).to.equal('done')
    await setLimit({ tool_calls_per_minute: null })
    for (const _ of [1, 2, 3]) expect(await call(client)).to.equal('done')
    expect((await setLimit({ plan: 'free' })).body.data).to.not.have.property('tool_calls_per_minute')
    refused(await call(client))
    for (const wrong of [0, 1.5, '7'])
      expect((await setLimit({ tool_calls_per_minute: wrong })).status).to.equal(400)
    await client.close()
  })

  it('counts calls of each user, and prompts too, but none that a rule refuses', async () => {
    await policy({ match: { tool: 'write' }, action: 'deny' })
    await setLimit({ tool_calls_per_minute: 2 })
    const client = await connect('modern')
    for (const _ of [1, 2, 3]) expect(await call(client, 'write')).to.include({ code: 'tool_denied' })
    expect(await call(client, 'none')).to.include({ code: 'tool_not_found' })
    expect(await call(client)).to.equal('done')
    await client.getPrompt({ name: 'plan' })
    refused(await call(client))
    // Rules decide first, as they do about other calls.
    expect(await call(client, 'write')).to.include({ code: 'tool_denied' })
    const other = await connect('modern', await newUser(gateway))
    expect(await call(other)).to.equal('done')
    await Promise.all([client.close(), other.close()])
  })

  it('comes before approvals: none is asked for, and none is used up', async () => {
    await policy({ match: { tool: 'write' }, action: 'require_approval' })
    await setLimit({ tool_calls_per_minute: 2 })
    const client = await connect('modern')
    const asked = (await call(client, 'write')) as { code: string; approval_id: string }
    expect(asked.code).to.equal('approval_required')
    const path = `/admin/approvals/${asked.approval_id}`
    await gateway.call('POST', `${path}/grant`, undefined, AS_ADMIN)
    expect(await call(client)).to.equal('done')
    refused(await call(client, 'write'))
    expect((await gateway.call('GET', path, undefined, AS_ADMIN)).body.data.status).to.equal('granted')
    const { data } = (await user.call('GET', '/v1/approvals')).body
    expect(data).to.have.length(1)
    await client.close()
  })

  it('is seen in records and metrics', async () => {
    await policy({ match: { tool: 'write' }, action: 'require_approval' })
    await setLimit({ tool_calls_per_minute: 1 })
    const before = await scrape(gateway)
    const client = await connect('modern')
    await call(client)
    await call(client, 'write')
    await client.close()
    const { data } = (await user.call('GET', '/v1/tool-calls?verdict=failed')).body
    expect(data).to.have.length(1)
    expect(data[0]).to.include({ tool: 'write', error_code: 'rate_limit_exceeded', result_bytes: 0 })
    const after = await scrape(gateway)
    const more = (name: string, labels: Record<string, string>) =>
      after.sum(name, labels) - before.sum(name, labels)
    const name = 'signalbox_tool_call_limit_outcomes_total'
    expect(more(name, { plan: 'paid', outcome: 'allowed' })).to.equal(1)
    expect(more(name, { plan: 'paid', outcome: 'refused' })).to.equal(1)
    expect(more('signalbox_tool_calls_total', { server: 'files', verdict: 'failed' })).to.equal(1)
  })

  it('is in the history of the user and at most that of the plan for operators with a scope', async () => {
    await setLimit({ tool_calls_per_minute: 5 })
    const { data } = (await gateway.call('GET', `/admin/users/${user.id}/history`, undefined, AS_ADMIN)).body
    expect(data.at(-1)).to.include({ event: 'limit_changed' })
    const group = await gateway.call('POST', '/admin/groups', { name: `Team ${user.id}` }, AS_ADMIN)
    const { id } = group.body.data
    await gateway.call('PUT', `/admin/groups/${id}/members/${user.id}`, undefined, AS_ADMIN)
    const operator = { name: `Lead ${user.id}`, role: 'admin', scope: { groups: [id] } }
    const { key } = (await gateway.call('POST', '/admin/operators', operator, AS_ADMIN)).body.data
    const headers = { authorization: `Bearer ${key}` }
    const asLead = async (limit: number) =>
      (await gateway.call('PATCH', `/admin/users/${user.id}`, { tool_calls_per_minute: limit }, headers))
        .status
    expect([await asLead(1000), await asLead(1001)]).to.deep.equal([200, 403])
  })

  it('holds over gateways that share Redis, and calls are refused without it', async function () {
    const redis = await requireRedis(this)
    const start = () =>
      startToolGateway(
        [atUrl('files', server.url)],
        `${limits(`, ${PATIENT_WITH_REDIS}`)}redis_url: ${redis.url}\n`,
      )
    const gateways = [await start(), await start()] as const
    // Users of different data folders have the same ids.
    const users = await Promise.all(gateways.map((one) => newUser(one, 'free')))
    const results = await Promise.all(
      Array.from({ length: 8 }, async (_, number) => {
        const [at, { key }] = [gateways[number % 2], users[number % 2]] as [RunningGateway, TestUser]
        const { body } = await callToolRaw(at, key, { server: 'files', tool: 'read' })
        return body.error?.data.code ?? 'done'
      }),
    )
    expect(results.filter((result) => result === 'done')).to.have.length(2)
    expect(results.filter((result) => result === 'rate_limit_exceeded')).to.have.length(6)
    // What the session has read is unknown as well then, and rules may depend on it.
    await redis.kill()
    const [{ key }] = users as [TestUser, TestUser]
    const lost = await callToolRaw(gateways[0], key, { server: 'files', tool: 'read' })
    expect([lost.status, lost.body.error.data]).to.deep.equal([
      503,
      { code: 'mcp_state_unavailable', retry_after: 1 },
    ])
    await Promise.all(gateways.map((one) => one.stop()))
    await redis.stop()
  })
})
