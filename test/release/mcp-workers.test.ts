import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import { type Answer, AS_ADMIN } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { createHold, type Hold } from '../support/hold.ts'
import { atUrl } from '../support/mcp/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startHttp, type TestServer } from '../support/mcp/servers.ts'
import { STUB_CATALOG } from '../support/mcp/stub-catalog.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { BUILT_IN, installAll, listPlugins } from '../support/plugins.ts'
import { newPolicy } from '../support/policies.ts'
import { waitUntil } from '../support/wait.ts'
import { type Connection, connectToEach } from '../support/workers.ts'

const LIMIT = 5

describe('tool calls at two workers', function () {
  this.timeout(120_000)
  let server: TestServer
  let gateway: GatewayProcess
  let first: Connection
  let second: Connection
  let user: TestUser
  let hold: Hold
  /** Calls of the tool `held` that wait. */
  let waiting: string[]
  let cancelled: unknown[]

  before(async () => {
    server = await startHttp(async ({ headers }, response, body) => {
      const { id, method, params } = JSON.parse(body === '' ? '{}' : body)
      if (method === 'server/discover' || id === undefined) {
        if (method === 'notifications/cancelled') cancelled.push(params.requestId)
        response.writeHead(id === undefined ? 202 : 400).end()
        return
      }
      const tools = ['tool', 'held'].map((name) => ({ name, inputSchema: { type: 'object' } }))
      const session = headers['mcp-session-id'] ?? `session ${server.requests.length}`
      const results: Record<string, () => object> = {
        initialize: () => ({
          ...{ protocolVersion: '2025-11-25', capabilities: { tools: {} } },
          serverInfo: { name: 'test', version: '1' },
        }),
        'tools/list': () => ({ tools }),
        'tools/call': () => ({
          content: [{ type: 'text', text: `${params.arguments.text ?? ''}@${session}` }],
        }),
      }
      if (params?.name === 'held') {
        waiting.push(id)
        await hold.released
      }
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method]?.() ?? {} }))
    })
    const folder = await installAll({ 'stub-catalog': STUB_CATALOG })
    const servers = ['web', 'wiki', 'mail', 'post', 'files'].map((name) => atUrl(name, server.url))
    const CONFIG = await listPlugins(
      folder,
      [...BUILT_IN, { use: 'stub-catalog', options: { servers } }],
      'rate_limits: { requests_per_minute: { free: null, paid: null }, ' +
        `tool_calls_per_minute: { free: ${LIMIT} } }\n`,
    )
    gateway = await startGatewayProcess({ CONFIG, WORKERS: '2' }, { cwd: folder })
    ;[first, second] = [...(await connectToEach(gateway, 2)).values()] as [Connection, Connection]
  })
  beforeEach(async () => {
    hold = createHold()
    waiting = []
    cancelled = []
    user = await newUser(gateway)
    await onBoth(`/admin/users/${user.id}`, ({ status }) => status === 200)
  })
  afterEach(() => hold.release())
  after(async () => {
    first.close()
    second.close()
    await gateway.stop()
    await server.stop()
  })

  /** Resolves when each worker answers so to an operator. */
  async function onBoth(path: string, holds: (answer: Answer) => boolean): Promise<void> {
    for (const worker of [first, second])
      await waitUntil(async () => holds(await worker.call('GET', path, undefined, AS_ADMIN)))
  }

  async function policy(...tool: readonly object[]): Promise<void> {
    const { id } = await newPolicy(gateway, {
      tool: tool.map((one) => toolRuleBody(one)),
      applies_to: { users: [user.id] },
    })
    await onBoth(`/admin/policies/${id}`, ({ status }) => status === 200)
  }

  const call = (worker: Connection, name: string, args: object = {}, { key } = user) =>
    callToolRaw(worker, key, { server: name, tool: 'tool', arguments: args })
  const codeOf = ({ body }: Answer) => body.error?.data.code ?? 'done'

  /** Begins a session at one worker. */
  async function begin(worker: Connection, path: string) {
    const bearer = { authorization: `Bearer ${user.key}` }
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    }
    const message = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
    const { headers } = await worker.call('POST', path, message, bearer)
    const session = { ...bearer, 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
    const send = (to: Connection, content: object, method = 'POST') =>
      to.call(method, path, { jsonrpc: '2.0', ...content }, session)
    return {
      send,
      call: (to: Connection, name: string, args: object = {}, id = 1) =>
        send(to, { id, method: 'tools/call', params: { name, arguments: args } }),
    }
  }

  it('a session is known to both, with one session of its own at the server, until it ends', async () => {
    const session = await begin(first, '/mcp/web')
    expect((await session.send(second, { method: 'notifications/initialized' })).status).to.equal(202)
    const texts: string[] = []
    for (const worker of [second, first, second])
      texts.push((await session.call(worker, 'tool', { text: 'x' })).body.result.content[0].text)
    expect(texts[0]).to.match(/^x@session \d+$/)
    expect(new Set(texts)).to.have.property('size', 1)
    const held = session.call(first, 'held', {}, 7)
    await waitUntil(() => waiting.length === 1)
    await session.send(second, { method: 'notifications/cancelled', params: { requestId: 7 } })
    await waitUntil(() => cancelled.length === 1)
    expect(cancelled).to.deep.equal(waiting)
    hold.release()
    expect((await held).body).to.equal('')
    expect((await session.send(second, {}, 'DELETE')).status).to.equal(204)
    expect((await session.call(first, 'tool')).status).to.equal(404)
  })

  it('an id that is in flight at one may be used at the other, and each call gets its answer', async () => {
    const session = await begin(first, '/mcp/web')
    const calls = [first, second].map((worker, index) =>
      session.call(worker, 'held', { text: `call ${index}` }, 7),
    )
    await waitUntil(() => waiting.length === 2)
    hold.release()
    const answers = await Promise.all(calls)
    expect(answers.map(({ body }) => body.id)).to.deep.equal([7, 7])
    for (const [index, { body }] of answers.entries())
      expect(body.result.content[0].text).to.match(new RegExp(`^call ${index}@`))
  })

  it('after_reading holds at both, also for what both have read at the same time', async () => {
    await policy(
      { name: 'after the web', match: { server: 'mail', after_reading: ['web'] } },
      { name: 'after the wiki', match: { server: 'post', after_reading: ['wiki'] } },
    )
    const session = await begin(first, '/mcp')
    const stateless = { call: (worker: Connection, name: string) => call(worker, name.split('__')[0] ?? '') }
    for (const client of [session, stateless]) {
      for (const name of ['mail__tool', 'post__tool'])
        for (const worker of [first, second]) expect(codeOf(await client.call(worker, name))).to.equal('done')
      const read = await Promise.all([client.call(first, 'web__tool'), client.call(second, 'wiki__tool')])
      expect(read.map(codeOf)).to.deep.equal(['done', 'done'])
      for (const name of ['mail__tool', 'post__tool'])
        for (const worker of [first, second])
          expect(codeOf(await client.call(worker, name))).to.equal('tool_denied')
    }
  })

  it('an approval is used by one call, whichever worker gets it', async () => {
    await policy({ match: { server: 'files' }, action: 'require_approval' })
    const asked = (await call(first, 'files', { n: 1 })).body.error.data
    expect(asked.code).to.equal('approval_required')
    const again = (await call(second, 'files', { n: 1 })).body.error.data
    expect(again.approval_id).to.equal(asked.approval_id)
    const path = `/admin/approvals/${asked.approval_id}`
    await gateway.call('POST', `${path}/grant`, undefined, AS_ADMIN)
    await onBoth(path, ({ body }) => body.data.status === 'granted')
    expect(codeOf(await call(second, 'files', { n: 2 }))).to.equal('approval_required')
    const answers = await Promise.all([first, second].map((worker) => call(worker, 'files', { n: 1 })))
    expect(answers.map(codeOf).sort()).to.deep.equal(['approval_required', 'done'])
    const other = answers.find((answer) => codeOf(answer) !== 'done')
    expect(other?.body.error.data.approval_id).to.not.equal(asked.approval_id)
  })

  it('the limit of tool calls is exact', async () => {
    const free = await newUser(gateway, 'free')
    await onBoth(`/admin/users/${free.id}`, ({ status }) => status === 200)
    const calls = Array.from({ length: 20 }, (_, index) => call(index % 2 ? first : second, 'web', {}, free))
    const codes = (await Promise.all(calls)).map(codeOf)
    const count = (code: string) => codes.filter((one) => one === code).length
    expect([count('done'), count('rate_limit_exceeded')]).to.deep.equal([LIMIT, 20 - LIMIT])
  })
})
