import { expect } from 'chai'
import type { Answer, RunningGateway } from '../support/gateway.ts'
import { createHold, type Hold } from '../support/hold.ts'
import { atUrl, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startHttp, type TestServer } from '../support/mcp/servers.ts'
import { scrape } from '../support/metrics.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { waitUntil } from '../support/wait.ts'

const LONG_NAME = 'n'.repeat(128)

/** What the server does with calls: `held` answers later, `streamed` begins a result first. */
type Mode = 'answer' | 'held' | 'streamed' | 'failing' | { readonly status429: object }

describe('limits of tool servers', () => {
  let gateway: RunningGateway
  let server: TestServer
  let user: TestUser
  let mode: Mode
  let hold: Hold
  /** Calls that the server has received, and those whose connection the gateway has closed. */
  let received: number
  let closed: number

  before(async () => {
    server = await startHttp(async (_, response, body) => {
      const { id, method, params } = JSON.parse(body)
      const reply = (result: object) => JSON.stringify({ jsonrpc: '2.0', id, result })
      const json = { 'content-type': 'application/json' }
      if (method !== 'tools/call') {
        const tools = ['tool', LONG_NAME].map((name) => ({ name, inputSchema: { type: 'object' } }))
        const isDiscovery = method === 'server/discover'
        const result = isDiscovery
          ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
          : { resultType: 'complete', tools }
        response.writeHead(200, json).end(reply(result))
        return
      }
      received++
      response.once('close', () => {
        if (!response.writableFinished) closed++
      })
      if (mode === 'failing') {
        response.writeHead(500).end()
        return
      }
      if (typeof mode === 'object') {
        const body = JSON.stringify({ ...mode.status429, ...('jsonrpc' in mode.status429 && { id }) })
        response.writeHead(429, { ...json, 'retry-after': '17' }).end(body)
        return
      }
      const text = reply({
        resultType: 'complete',
        content: [{ type: 'text', text: params.arguments?.text ?? params.name }],
      })
      if (mode === 'streamed') {
        response.writeHead(200, json)
        response.write(`${text.slice(0, -3)}${' '.repeat(100_000)}`)
        await hold.released
        response.end(text.slice(-3))
        return
      }
      if (mode === 'held') await hold.released
      response.writeHead(200, json).end(text)
    })
    const limited = { maxConcurrent: 2 }
    gateway = await startToolGateway(
      [
        { ...atUrl('two', server.url), ...limited },
        { ...atUrl('hasty', server.url), timeoutMs: 2000 },
        ...['other', 'breaking', 'again', 'busy'].map((name) => atUrl(name, server.url)),
      ],
      'breaker: { min_requests: 3, open_ms: 2000 }\n',
    )
  })
  beforeEach(async () => {
    mode = 'answer'
    hold = createHold()
    received = 0
    closed = 0
    user = await newUser(gateway)
  })
  afterEach(() => hold.release())
  after(async () => {
    await gateway.stop()
    await server.stop()
  })

  const call = (name: string, { key } = user) => callToolRaw(gateway, key, { server: name, tool: 'tool' })
  const outcome = ({ body }: Answer) => body.error?.data.code ?? body.result.content[0].text
  const records = async () => (await user.call('GET', '/v1/tool-calls')).body.data

  for (const held of ['held', 'streamed'] as const)
    it(`max_concurrent: refuses calls while as many are ${held}, at this server only`, async () => {
      expect(outcome(await call('two'))).to.equal('tool')
      mode = held
      const calls = [call('two'), call('two')]
      await waitUntil(() => received === 3)
      const refused = await call('two')
      expect(refused.body.error.data).to.deep.equal({ code: 'tool_server_unavailable', retry_after: 1 })
      expect(refused.body.error.message).to.contain('2 calls at once')
      expect(received).to.equal(3)
      mode = 'answer'
      expect(outcome(await call('other'))).to.equal('tool')
      hold.release()
      expect((await Promise.all(calls)).map(outcome)).to.deep.equal(['tool', 'tool'])
      expect(outcome(await call('two'))).to.equal('tool')
      const answer = await user.call('GET', '/v1/tool-calls?verdict=failed')
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      const { data } = answer.body
      expect(data).to.have.length(1)
      expect(data[0]).to.include({ server: 'two', error_code: 'tool_server_unavailable', upstream_ms: 0 })
    })

  it('max_concurrent: frees the place of a client that has disconnected', async () => {
    expect(outcome(await call('two'))).to.equal('tool')
    mode = 'held'
    const clients = [new AbortController(), new AbortController()]
    const params = { name: 'tool', arguments: {}, _meta: META }
    const calls = clients.map(({ signal }) =>
      fetch(`${gateway.url}/mcp/two`, {
        method: 'POST',
        headers: { ...HEADERS, authorization: `Bearer ${user.key}` },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
        signal,
      }).catch(() => undefined),
    )
    await waitUntil(() => received === 3)
    expect(outcome(await call('two'))).to.equal('tool_server_unavailable')
    for (const client of clients) client.abort()
    await Promise.all(calls)
    await waitUntil(() => closed === 2)
    mode = 'answer'
    expect(outcome(await call('two'))).to.equal('tool')
  })

  for (const era of ['modern', 'session'] as const)
    it(`timeout_ms: ends a call of a ${era} client, and says so to the server`, async () => {
      const { client } = await connectClient(gateway, '/mcp/hasty', era, { key: user.key })
      await client.listTools()
      mode = 'held'
      const error = await client.callTool({ name: 'tool', arguments: {} }).then(
        () => expect.fail(),
        (thrown) => thrown,
      )
      expect(error.data).to.include({ code: 'tool_call_timeout' })
      expect(error.message).to.contain('hasty').and.contain('2 s')
      await waitUntil(() => closed === 1)
      mode = 'answer'
      const { content } = await client.callTool({ name: 'tool', arguments: {} })
      expect(content).to.deep.equal([{ type: 'text', text: 'tool' }])
      await client.close()
      const { data } = (await user.call('GET', '/v1/tool-calls?verdict=failed')).body
      expect(data.map(({ error_code }: { error_code: string }) => error_code)).to.deep.equal([
        'tool_call_timeout',
      ])
      expect(data[0].upstream_ms).to.be.greaterThan(0)
    })

  it('a circuit opens for the caller whose calls fail, lets one probe pass, and closes', async () => {
    expect(outcome(await call('breaking'))).to.equal('tool')
    mode = 'failing'
    for (const _ of [1, 2, 3]) {
      const { body } = await call('breaking')
      expect(body.error.message).to.contain('status 500')
    }
    const refused = await call('breaking')
    expect(refused.body.error.data.code).to.equal('tool_server_unavailable')
    expect(refused.body.error.data.retry_after).to.be.within(1, 2)
    expect(refused.body.error.message).to.contain('circuit open')
    expect(received).to.equal(4)
    const [last] = await records()
    expect(last).to.include({ verdict: 'failed', error_code: 'tool_server_unavailable', upstream_ms: 0 })
    const { sum } = await scrape(gateway)
    expect(sum('signalbox_tool_calls_total', { server: 'breaking' })).to.equal(5)
    expect(sum('signalbox_tool_server_duration_seconds_count', { server: 'breaking' })).to.equal(4)
    mode = 'answer'
    expect(outcome(await call('breaking', await newUser(gateway)))).to.equal('tool')
    // Half open: the first call is the probe, and the others wait for it.
    mode = 'held'
    const before = received
    let probe: Promise<Answer> | undefined
    await waitUntil(async () => {
      probe = call('breaking')
      await Promise.race([probe, waitUntil(() => received > before)])
      return received > before
    })
    expect((await call('breaking')).body.error.message).to.contain('circuit open')
    expect(received).to.equal(before + 1)
    hold.release()
    expect(outcome(await (probe as Promise<Answer>))).to.equal('tool')
    expect(outcome(await call('breaking'))).to.equal('tool')
  })

  for (const status429 of [
    { error: 'slow' },
    { error: { code: 'slow', message: 'slow' } },
    { result: 'slow' },
  ])
    it(`status 429 with ${JSON.stringify(status429)} is not sent again, and says when to try`, async () => {
      expect(outcome(await call('busy'))).to.equal('tool')
      mode = { status429 }
      const { message, data } = (await call('busy')).body.error
      expect(message).to.contain('busy').and.contain('status 429').and.contain('17 s').and.not.contain('slow')
      expect(data).to.deep.equal({ code: 'tool_server_unavailable', retry_after: 17 })
      expect(received).to.equal(2)
    })

  it('status 429 with a JSON-RPC error is passed on as the error of the server', async () => {
    mode = { status429: { jsonrpc: '2.0', error: { code: -32_000, message: 'slow' } } }
    const { body } = await call('busy')
    expect(body.error).to.deep.equal({ code: -32_000, message: 'slow' })
    expect(received).to.equal(1)
  })

  it('a circuit opens for everybody when calls of several callers fail', async () => {
    const users = await Promise.all([1, 2, 3].map(() => newUser(gateway)))
    mode = 'failing'
    for (const one of users) await call('again', one)
    const refused = await call('again')
    expect(refused.body.error.message).to.contain('circuit open')
  })

  it('an id of a session may be used once at a time, and again afterwards', async () => {
    const { headers } = await gateway.call('POST', '/mcp/other', initialize, bearer(user))
    const session = { ...bearer(user), 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
    const send = (id: unknown, text: string) => {
      const params = { name: 'tool', arguments: { text } }
      return gateway.call('POST', '/mcp/other', { jsonrpc: '2.0', id, method: 'tools/call', params }, session)
    }
    mode = 'held'
    const first = send(7, 'first')
    await waitUntil(() => received === 1)
    const second = await send(7, 'second')
    expect([second.status, second.body.error.code, second.body.id]).to.deep.equal([400, -32_600, 7])
    const text = send('7', 'text')
    await waitUntil(() => received === 2)
    hold.release()
    expect([outcome(await first), outcome(await text)]).to.deep.equal(['first', 'text'])
    expect(outcome(await send(7, 'third'))).to.equal('third')
  })

  it('equal ids of clients without sessions are requests of their own', async () => {
    mode = 'held'
    const texts = ['one', 'two']
    const calls = texts.map((text) =>
      callToolRaw(gateway, user.key, { server: 'other', tool: 'tool', arguments: { text } }),
    )
    await waitUntil(() => received === 2)
    hold.release()
    const answers = await Promise.all(calls)
    expect(answers.map(outcome)).to.deep.equal(texts)
    expect(answers.map(({ body }) => body.id)).to.deep.equal([1, 1])
  })

  for (const era of ['modern', 'session'] as const)
    it(`names of 128 characters are listed and called at /mcp by ${era} clients`, async () => {
      const { client } = await connectClient(gateway, '/mcp', era, { key: user.key })
      const name = `other__${LONG_NAME}`
      expect((await client.listTools()).tools.map((tool) => tool.name)).to.include(name)
      const { content } = await client.callTool({ name, arguments: {} })
      expect(content).to.deep.equal([{ type: 'text', text: LONG_NAME }])
      expect((await records())[0]).to.include({ server: 'other', tool: LONG_NAME })
      await client.close()
    })
})

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

const HEADERS = {
  'content-type': 'application/json',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'tool',
}

const bearer = ({ key }: TestUser) => ({ authorization: `Bearer ${key}` })

const initialize = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
