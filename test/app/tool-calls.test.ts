import { randomBytes } from 'node:crypto'
import { Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import { type Answer, AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { atUrl, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startModernServer, type TestServer } from '../support/mcp/servers.ts'
import { scrape } from '../support/metrics.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { newPolicy } from '../support/policies.ts'
import { requirePostgres } from '../support/postgres.ts'
import { itInFull } from '../support/rounds.ts'

const TOOLS = ['read', 'write'].map((name) => ({ name, inputSchema: { type: 'object' as const } }))

function createServer(): Server {
  const server = new Server({ name: 'files', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', async () => ({ tools: TOOLS }))
  server.setRequestHandler('tools/call', async () => ({ content: [{ type: 'text' as const, text: 'done' }] }))
  return server
}

describe('records of tool calls', () => {
  let gateway: RunningGateway
  let server: TestServer
  let user: TestUser
  before(async () => {
    server = await startModernServer(createServer)
    const key = randomBytes(32).toString('base64')
    const settings = `record_key: ${key}\nledger: { record_prompts: full }\n`
    gateway = await startToolGateway([atUrl('files', server.url)], settings)
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(async () => {
    await gateway.stop()
    await server.stop()
  })

  async function call(...names: readonly string[]) {
    const headers = { 'x-session-id': 'run-7' }
    const { client } = await connectClient(gateway, '/mcp/files', 'modern', { key: user.key, headers })
    for (const name of names)
      await client.callTool({ name, arguments: { path: name } }).catch(() => undefined)
    await client.close()
  }
  const list = async (query = '') => (await user.call('GET', `/v1/tool-calls${query}`)).body

  it('say what was called, by whom, in which session, and what became of it', async () => {
    await newPolicy(gateway, {
      tool: [toolRuleBody({ name: 'no writing', match: { tool: 'write' }, action: 'deny' })],
      applies_to: { users: [user.id] },
    })
    await call('read', 'write')
    const { data } = await list()
    expect(data.map(({ tool, verdict }: { tool: string; verdict: string }) => [tool, verdict])).to.deep.equal(
      [
        ['write', 'denied'],
        ['read', 'allowed'],
      ],
    )
    const [denied, allowed] = data
    expect(allowed).to.deep.include({
      user_id: user.id,
      key_id: user.keyId,
      server: 'files',
      session_id: 'run-7',
      revision: 1,
      error_code: null,
      rules: [],
      request_bytes: '{"path":"read"}'.length,
    })
    expect(allowed.result_bytes).to.be.greaterThan(0)
    expect(allowed.arguments_digest).to.match(/^[0-9a-f]{64}$/)
    expect(denied.error_code).to.equal('tool_denied')
    expect(denied.rules[0]).to.include({ kind: 'tool', name: 'no writing', action: 'deny' })
    expect(denied.rules[0].origin.type).to.equal('policy')
    const { sum } = await scrape(gateway)
    expect(sum('signalbox_tool_calls_total', { server: 'files', verdict: 'denied' })).to.equal(1)
    expect(sum('signalbox_tool_server_duration_seconds_count', { server: 'files' })).to.equal(1)
    const one = await user.call('GET', `/v1/tool-calls/${allowed.id}`)
    expect(one.body.data).to.deep.equal(allowed)
  })

  it('count for the rules that did something, and for nothing else in usage', async () => {
    await newPolicy(gateway, {
      name: 'Writers',
      tool: [
        toolRuleBody({ name: 'no writing', match: { tool: 'write' }, action: 'deny' }),
        toolRuleBody({ name: 'watched', match: { tool: '*' }, action: 'warn' }),
        toolRuleBody({ name: 'unused', match: { tool: 'nothing' }, action: 'warn' }),
      ],
      applies_to: { users: [user.id] },
    })
    await call('read', 'write', 'write')
    const [denied] = (await list()).data
    const usage = async (path: string) => (await asAdmin(`/admin/usage?user=${user.id}${path}`)).body.data
    const used = await usage('&group_by=rule&names=true')
    const hits = used.map(({ name, requests, errors, cost_usd }: Record<string, unknown>) => [
      ...[name, requests, errors, cost_usd],
    ])
    expect(hits).to.have.deep.members([
      ['no writing (Writers)', 2, 2, 0],
      ['watched (Writers)', 1, 0, 0],
    ])
    expect((await usage(''))[0]?.requests ?? 0).to.equal(0)
    const rule = `tool:${denied.rules[0].id}`
    const own = await user.call('GET', '/v1/usage?group_by=rule')
    expect(own.body.data.find((group: { rule: string }) => group.rule === rule).requests).to.equal(2)
    const ruled = (await list(`?rule=${rule}`)).data
    expect(ruled.map(({ tool }: { tool: string }) => tool)).to.deep.equal(['write', 'write'])
    expect((await list(`?rule=tool:${denied.rules[0].id}0`)).data).to.deep.equal([])
  })

  it('belong to the session that Codex names in the call itself', async () => {
    const { client } = await connectClient(gateway, '/mcp/files', 'session', { key: user.key })
    const call = async (sessionId: unknown) => {
      await client.callTool({ name: 'read', arguments: {}, _meta: { sessionId } })
      return (await list('?limit=1')).data[0].session_id
    }
    expect(await call('01a21e75-64ac')).to.equal('01a21e75-64ac')
    const ofConnection = await call(undefined)
    for (const invalid of [7, '', 'two words', 'x'.repeat(300)])
      expect(await call(invalid))
        .to.be.a('string')
        .and.equal(ofConnection)
    await client.close()
  })

  it('say that the server could not be asked for its tools', async () => {
    const down = await startToolGateway([atUrl('down', 'http://127.0.0.1:1')])
    const answer = await callToolRaw(down, down.demoKey, { server: 'down', tool: 'read' })
    expect(answer.body.error.data.code).to.equal('tool_server_unavailable')
    const [record] = (await down.call('GET', '/v1/tool-calls')).body.data
    expect(record).to.include({ tool: 'read', verdict: 'failed', error_code: 'tool_server_unavailable' })
    await down.stop()
  })

  it('are filtered, and read in pages in both orders', async () => {
    await call('read', 'read', 'write', 'read')
    const tools = ({ data }: { data: readonly { tool: string }[] }) => data.map(({ tool }) => tool)
    expect(tools(await list('?session_id=run-7&order=oldest'))).to.deep.equal([
      'read',
      'read',
      'write',
      'read',
    ])
    expect(tools(await list('?tool=write'))).to.deep.equal(['write'])
    expect(tools(await list('?verdict=denied'))).to.deep.equal([])
    expect(tools(await list('?until=2020-01-01'))).to.deep.equal([])
    for (const order of ['newest', 'oldest']) {
      const whole = await list(`?order=${order}`)
      const first = await list(`?order=${order}&limit=3`)
      const second = await list(`?order=${order}&limit=3&cursor=${first.next_cursor}`)
      expect([...first.data, ...second.data]).to.deep.equal(whole.data)
      expect(second.next_cursor).to.equal(null)
    }
  })

  itInFull('are kept in PostgreSQL', async function () {
    this.timeout(120_000)
    const database = await requirePostgres(this)
    const other = await startToolGateway([atUrl('files', server.url)], `ledger_url: ${database.url}\n`)
    const { client } = await connectClient(other, '/mcp/files', 'session')
    await client.callTool({ name: 'read', arguments: {} })
    await client.close()
    const found = (await other.call('GET', '/v1/tool-calls?server=files&since=2020-01-01')).body.data
    expect(found.map(({ tool }: { tool: string }) => tool)).to.deep.equal(['read'])
    expect(new Date(found[0].time).getTime()).to.be.greaterThan(0)
    await other.stop()
    await database.stop()
  })

  it('are shown to their user and to operators only', async () => {
    await call('read')
    const { data } = await list()
    const other = await newUser(gateway)
    expect((await other.call('GET', '/v1/tool-calls')).body.data).to.deep.equal([])
    expect((await other.call('GET', `/v1/tool-calls/${data[0].id}`)).status).to.equal(404)
    const path = `/admin/tool-calls?user=${user.id}`
    expect((await gateway.call('GET', path, undefined, AS_ADMIN)).body.data).to.deep.equal(data)
    const one = await gateway.call('GET', `/admin/tool-calls/${data[0].id}`, undefined, AS_ADMIN)
    expect(one.body.data).to.deep.equal(data[0])
    expect((await user.call('GET', '/admin/tool-calls')).status).to.equal(401)
  })

  const asAdmin = (path: string, method = 'GET') => gateway.call(method, path, undefined, AS_ADMIN)
  const newGroup = async (name: string): Promise<number> =>
    (await gateway.call('POST', '/admin/groups', { name }, AS_ADMIN)).body.data.id
  const move = (method: 'PUT' | 'DELETE', group: number) =>
    asAdmin(`/admin/groups/${group}/members/${user.id}`, method)
  const newest = async () => (await asAdmin(`/admin/audit?kind=access&limit=1`)).body.data[0]

  it('are exported as JSON lines and CSV, which is audited', async () => {
    await call('read', 'write', 'read')
    const { data } = await list()
    const path = `/admin/tool-calls?user=${user.id}&order=oldest`
    const lines = await fetch(`${gateway.url}${path}&format=jsonl`, { headers: AS_ADMIN })
    expect(lines.headers.get('content-type')).to.equal('application/jsonl; charset=utf-8')
    const rows = (await lines.text()).trimEnd().split('\n')
    expect(rows.map((row) => JSON.parse(row))).to.deep.equal(data.toReversed())
    const csv = await fetch(`${gateway.url}${path}&format=csv&limit=2`, { headers: AS_ADMIN })
    expect(csv.headers.get('content-disposition')).to.equal('attachment; filename="tool-calls.csv"')
    const [header = '', ...cells] = (await csv.text()).trimEnd().split('\r\n')
    const column = (name: string) => cells.map((line) => line.split(',')[header.split(',').indexOf(name)])
    expect(column('tool')).to.deep.equal(['read', 'write'])
    expect(column('session_id')).to.deep.equal(['run-7', 'run-7'])
    expect(column('id')).to.deep.equal([data[2].id, data[1].id])
    const { event, data: noted } = await newest()
    expect([event, noted.read, noted.path]).to.deep.equal(['read', 'export', '/admin/tool-calls'])
  })

  it('are filtered by group, within the scope of the operator', async () => {
    const inside = await newGroup('inside')
    const outside = await newGroup('outside')
    const { call: asOperator } = await newOperator(gateway, 'auditor', 'Sue', { scope: { groups: [inside] } })
    const tools = (answer: Answer) => answer.body.data.map(({ tool }: { tool: string }) => tool)
    await move('PUT', outside)
    await call('read')
    await move('PUT', inside)
    await call('write')
    expect(tools(await asAdmin(`/admin/tool-calls?group=${outside}`))).to.deep.equal(['write', 'read'])
    expect(tools(await asAdmin(`/admin/tool-calls?group=${inside}`))).to.deep.equal(['write'])
    const seen = await asOperator('GET', '/admin/tool-calls')
    expect(tools(seen)).to.deep.equal(['write'])
    expect(seen.body.data[0].group_ids).to.deep.equal([inside])
    expect(tools(await asOperator('GET', `/admin/tool-calls?group=${outside}`))).to.deep.equal([])
    const [written, read] = (await list()).data
    expect(written.group_ids).to.deep.equal([inside, outside])
    expect((await asOperator('GET', `/admin/tool-calls/${written.id}/arguments`)).status).to.equal(200)
    for (const path of ['', '/arguments'])
      expect((await asOperator('GET', `/admin/tool-calls/${read.id}${path}`)).status).to.equal(404)
  })

  it('show operators the recorded arguments, which is audited, until they are deleted', async () => {
    await call('read')
    const [{ id }] = (await list()).data
    const path = `/admin/tool-calls/${id}/arguments`
    expect((await asAdmin(path)).body.data).to.deep.equal({
      ...{ id, user_id: user.id, server: 'files', tool: 'read', arguments: { path: 'read' } },
    })
    const entry = await newest()
    expect(entry).to.include({ event: 'read', user_id: user.id })
    expect(entry.data).to.include({ read: 'prompts', operation: 'readToolCallArguments', path })
    expect(entry.actor.type).to.equal('root')
    expect((await user.call('GET', path)).status).to.equal(401)
    await asAdmin(`/admin/users/${user.id}/prompts`, 'DELETE')
    const deleted = await asAdmin(path)
    expect([deleted.status, deleted.headers.get('x-error-code')]).to.deep.equal([404, 'not_found'])
    expect((await newest()).event).to.equal('prompts_deleted')
    expect((await asAdmin(`/admin/tool-calls/${id}`)).status).to.equal(200)
  })
})
