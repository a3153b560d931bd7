import { Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import { firewallRuleBody, toolRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { atUrl, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import { startModernServer, type TestServer } from '../support/mcp/servers.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { type RunningPostgres, requirePostgres } from '../support/postgres.ts'
import { sample } from '../support/rounds.ts'

const TOOLS = ['read', 'write'].map((name) => ({ name, inputSchema: { type: 'object' as const } }))

function createServer(): Server {
  const server = new Server({ name: 'files', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', async () => ({ tools: TOOLS }))
  server.setRequestHandler('tools/call', async () => ({ content: [{ type: 'text' as const, text: 'done' }] }))
  return server
}

for (const engine of sample(['SQLite', 'PostgreSQL'], 1))
  describe(`sessions of agents on ${engine}`, () => testSessions(engine))

function testSessions(engine: string): void {
  let database: RunningPostgres | undefined
  let gateway: RunningGateway
  let server: TestServer
  let user: TestUser

  before(async function () {
    this.timeout(120_000)
    if (engine === 'PostgreSQL') database = await requirePostgres(this)
    server = await startModernServer(createServer)
    const settings = database === undefined ? '' : `ledger_url: ${database.url}\n`
    gateway = await startToolGateway([atUrl('files', server.url)], settings)
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(async () => {
    await gateway?.stop()
    await server?.stop()
    await database?.stop()
  })

  const BODY = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }

  async function chat(headers: Record<string, string> = {}, of: TestUser = user): Promise<string> {
    const answer = await of.call('POST', '/v1/chat/completions', BODY, headers)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.headers.get('x-request-id') ?? ''
  }

  async function callTool(name: string, headers: Record<string, string> = {}, of: TestUser = user) {
    const { client } = await connectClient(gateway, '/mcp/files', 'modern', { key: of.key, headers })
    await client.callTool({ name, arguments: { path: name } }).catch(() => undefined)
    await client.close()
  }

  const read = async (path: string, of: TestUser = user) => (await of.call('GET', path)).body
  const asAdmin = async (path: string) => (await gateway.call('GET', path, undefined, AS_ADMIN)).body

  it('are the same for requests to models and calls of tools, whichever header names them', async () => {
    const names = ['x-session-id', 'x-claude-code-session-id', 'session_id', 'session-id']
    for (const name of names) {
      const headers = { [name]: `run of ${name}`.replaceAll(' ', '-') }
      const id = await chat(headers)
      await callTool('read', headers)
      const session = `run-of-${name}`
      const requests = (await read(`/v1/requests?session_id=${session}`)).data
      expect(requests.map((each: { x_request_id: string }) => each.x_request_id)).to.deep.equal([id])
      expect(requests[0].session_id).to.equal(session)
      expect((await read(`/v1/requests/${id}`)).data.session_id).to.equal(session)
      const calls = (await read(`/v1/tool-calls?session_id=${session}`)).data
      expect(calls.map((each: { tool: string }) => each.tool)).to.deep.equal(['read'])
    }
  })

  it('are none for requests that name none, or name what is no id', async () => {
    const long = 'x'.repeat(200)
    for (const value of ['', 'two words', `${long}y`]) await chat({ 'x-session-id': value })
    await chat()
    const { data } = await read('/v1/requests')
    expect(data.map((each: { session_id: unknown }) => each.session_id)).to.deep.equal([
      null,
      null,
      null,
      null,
    ])
    await chat({ 'x-session-id': long })
    expect((await read(`/v1/requests?session_id=${long}`)).data).to.have.length(1)
    expect((await user.call('GET', `/v1/requests?session_id=${long}y`)).status).to.equal(400)
  })

  it('are in the export, and filter what operators see', async () => {
    const other = await newUser(gateway)
    const id = await chat({ 'x-session-id': 'run-7' })
    const otherId = await chat({ 'x-session-id': 'run-7' }, other)
    await chat({ 'x-session-id': 'run-8' })
    const own = await read('/v1/requests?session_id=run-7')
    expect(own.data.map((each: { x_request_id: string }) => each.x_request_id)).to.deep.equal([id])
    const path = `/admin/requests?session_id=run-7`
    const users = [user.id, other.id]
    const all = (await asAdmin(path)).data.filter((each: { user_id: number }) => users.includes(each.user_id))
    expect(all.map((each: { x_request_id: string }) => each.x_request_id)).to.deep.equal([otherId, id])
    expect((await asAdmin(`${path}&user=${other.id}`)).data).to.have.length(1)
    const csv = await fetch(`${gateway.url}${path}&user=${user.id}&format=csv`, { headers: AS_ADMIN })
    const [header = '', line = ''] = (await csv.text()).split('\r\n')
    expect(line.split(',')[header.split(',').indexOf('session_id')]).to.equal('run-7')
  })

  describe('as a whole', () => {
    const run = { 'x-session-id': 'run-7' }
    type Step = { kind: string; id: string; tool?: string; verdict?: string; status?: number }

    /** Two requests of which the second is blocked, a call that is made and one that is denied. */
    async function act(of: TestUser = user): Promise<readonly string[]> {
      const rule = firewallRuleBody({ pattern: 'secret', action: 'block' })
      expect((await of.call('POST', '/v1/firewall-rules', rule)).status).to.equal(201)
      const denial = toolRuleBody({ match: { tool: 'write' } })
      expect((await of.call('POST', '/v1/tool-rules', denial)).status).to.equal(201)
      const first = await chat(run, of)
      await callTool('read', run, of)
      await callTool('write', run, of)
      const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'a secret' }] }
      const refused = await of.call('POST', '/v1/chat/completions', body, run)
      expect(refused.status).to.be.within(400, 499)
      return [first, refused.headers.get('x-request-id') ?? '']
    }

    it('say what happened, in order, and what it was in all', async () => {
      const [first, refused] = await act()
      const { data, next_cursor } = await read('/v1/sessions/run-7')
      expect(next_cursor).to.equal(null)
      const steps: readonly Step[] = data.steps
      expect(steps.map(({ kind, tool, verdict, status }) => [kind, tool ?? status, verdict])).to.deep.equal([
        ['request', 200, undefined],
        ['tool_call', 'read', 'allowed'],
        ['tool_call', 'write', 'denied'],
        ['request', steps.at(-1)?.status, undefined],
      ])
      expect([steps[0]?.id, steps.at(-1)?.id]).to.deep.equal([first, refused])
      for (const { kind, id } of steps) {
        const one = (await read(`/v1/${kind === 'request' ? 'requests' : 'tool-calls'}/${id}`)).data
        expect(one.session_id).to.equal('run-7')
      }
      const record = (await read(`/v1/requests/${first}`)).data
      const { steps: _, started_at, last_active_at, ...sums } = data
      expect(sums).to.deep.equal({
        session_id: 'run-7',
        user_id: user.id,
        ...{ requests: 2, failed_requests: 1, blocked_requests: 1, tool_calls: 2, refused_tool_calls: 1 },
        tokens: record.tokens,
        cost_usd: record.cost_usd,
        unknown_costs: 0,
      })
      expect(record.tokens.input).to.be.greaterThan(0)
      expect(started_at).to.equal(record.time)
      expect(last_active_at).to.equal((await read(`/v1/requests/${refused}`)).data.time)
      expect((await read('/v1/sessions')).data).to.deep.equal([{ started_at, last_active_at, ...sums }])
    })

    it('are read in pages', async () => {
      await act()
      await chat({ 'x-session-id': 'run-8' })
      const whole = (await read('/v1/sessions/run-7')).data
      const steps: Step[] = []
      let cursor: string | null = ''
      for (let pages = 0; cursor !== null && pages < 10; pages++) {
        const next = cursor === '' ? '' : `&cursor=${cursor}`
        const page: { data: { steps: Step[] }; next_cursor: string | null } = await read(
          `/v1/sessions/run-7?limit=1${next}`,
        )
        expect(page.data).to.deep.include({ requests: 2, tool_calls: 2 })
        expect(page.data.steps).to.have.length(1)
        steps.push(...page.data.steps)
        cursor = page.next_cursor
      }
      expect(steps).to.deep.equal(whole.steps)
      const all = (await read('/v1/sessions')).data
      expect(all.map((each: { session_id: string }) => each.session_id)).to.deep.equal(['run-8', 'run-7'])
      const first = await read('/v1/sessions?limit=1')
      const second = await read(`/v1/sessions?limit=1&cursor=${first.next_cursor}`)
      expect([...first.data, ...second.data]).to.deep.equal(all)
      expect(second.next_cursor).to.equal(null)
      expect((await read('/v1/sessions?until=2020-01-01')).data).to.deep.equal([])
      expect((await read('/v1/sessions?since=2020-01-01')).data).to.deep.equal(all)
      for (const path of ['/v1/sessions', '/v1/sessions/run-7']) {
        const answer = await user.call('GET', `${path}?cursor=bm90aGluZw`)
        expect(answer.status).to.equal(400)
      }
    })

    it('are of one user, also if another one uses the same name', async () => {
      const other = await newUser(gateway)
      await chat(run)
      await callTool('read', run, other)
      expect((await read('/v1/sessions/run-7')).data).to.include({ requests: 1, tool_calls: 0 })
      expect((await read('/v1/sessions/run-7', other)).data).to.include({ requests: 0, tool_calls: 1 })
      const own = 'only/of:the=first'
      await chat({ 'x-session-id': own })
      expect((await read(`/v1/sessions/${encodeURIComponent(own)}`)).data.requests).to.equal(1)
      const hidden = await other.call('GET', `/v1/sessions/${encodeURIComponent(own)}`)
      expect([hidden.status, hidden.headers.get('x-error-code')]).to.deep.equal([404, 'not_found'])

      const ambiguous = await gateway.call('GET', '/admin/sessions/run-7', undefined, AS_ADMIN)
      expect([ambiguous.status, ambiguous.body.error.param]).to.deep.equal([400, 'user'])
      const found = await asAdmin(`/admin/sessions/run-7?user=${other.id}`)
      expect(found.data).to.include({ user_id: other.id, tool_calls: 1 })
      expect((await asAdmin(`/admin/sessions/${encodeURIComponent(own)}`)).data.user_id).to.equal(user.id)
      const listed = (await asAdmin(`/admin/sessions?user=${user.id}`)).data
      expect(listed.map((each: { session_id: string }) => each.session_id)).to.deep.equal([own, 'run-7'])
      expect((await user.call('GET', '/admin/sessions')).status).to.equal(401)
    })

    it('show operators with a scope what happened while the user was in their groups', async () => {
      const created = await gateway.call('POST', '/admin/groups', { name: `of ${user.id}` }, AS_ADMIN)
      const group: number = created.body.data.id
      const operator = await newOperator(gateway, 'auditor', 'Sue', { scope: { groups: [group] } })
      const own = { 'x-session-id': `run-of-${user.id}` }
      await chat(own)
      await callTool('read', own)
      const path = `/admin/sessions/run-of-${user.id}`
      expect((await operator.call('GET', '/admin/sessions')).body.data).to.deep.equal([])
      expect((await operator.call('GET', path)).status).to.equal(404)
      await gateway.call('PUT', `/admin/groups/${group}/members/${user.id}`, undefined, AS_ADMIN)
      await callTool('write', own)
      const seen = (await operator.call('GET', path)).body.data
      expect(seen).to.include({ requests: 0, tool_calls: 1, cost_usd: 0 })
      expect(seen.steps.map(({ tool }: Step) => tool)).to.deep.equal(['write'])
      await chat(own)
      const { steps, ...sums } = (await operator.call('GET', path)).body.data
      expect(sums).to.include({ requests: 1, tool_calls: 1 })
      expect(steps.map(({ kind }: Step) => kind)).to.deep.equal(['tool_call', 'request'])
      expect((await operator.call('GET', '/admin/sessions')).body.data).to.deep.equal([sums])
      expect((await asAdmin(path)).data).to.include({ requests: 2, tool_calls: 2 })
    })

    it('stay when their user is deleted, for those who may see the records', async () => {
      await act()
      await gateway.call('DELETE', `/admin/users/${user.id}`, undefined, AS_ADMIN)
      const path = `/admin/sessions/run-7?user=${user.id}`
      expect((await asAdmin(path)).data).to.include({ requests: 2, tool_calls: 2 })
    })
  })
}
