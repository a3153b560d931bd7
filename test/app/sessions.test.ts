import { Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { atUrl, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import { startModernServer, type TestServer } from '../support/mcp/servers.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { type RunningPostgres, requirePostgres } from '../support/postgres.ts'

const TOOLS = ['read', 'write'].map((name) => ({ name, inputSchema: { type: 'object' as const } }))

function createServer(): Server {
  const server = new Server({ name: 'files', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', async () => ({ tools: TOOLS }))
  server.setRequestHandler('tools/call', async () => ({ content: [{ type: 'text' as const, text: 'done' }] }))
  return server
}

for (const engine of ['SQLite', 'PostgreSQL'])
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
}
