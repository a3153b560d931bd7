import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { inputRequired, Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { atUrl, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startHttp, startModernServer, type TestServer } from '../support/mcp/servers.ts'
import { scrape } from '../support/metrics.ts'
import { waitUntil } from '../support/wait.ts'

const TOOLS = ['works', 'fails', 'quotes', 'refuses', 'asks', 'waits'].map((name) => ({
  name,
  inputSchema: { type: 'object' as const },
}))

/** Tells when a call waits at the server. */
const waits = new EventTarget()

function createServer(): Server {
  const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', async () => ({ tools: TOOLS }))
  server.setRequestHandler('tools/call', async ({ params: { name } }, { mcpReq }) => {
    if (name === 'refuses') throw new Error('no')
    if (name === 'waits') {
      const aborted = once(mcpReq.signal, 'abort')
      waits.dispatchEvent(new Event('begun'))
      await aborted
    }
    if (name === 'asks' && mcpReq.inputResponses?.who === undefined) {
      const params = { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } }
      return inputRequired({
        inputRequests: { who: { method: 'elicitation/create', params } },
      } as never) as never
    }
    const quoted = { isError: true }
    return {
      content: [{ type: 'text' as const, text: JSON.stringify(quoted) }],
      ...(name === 'quotes' && { structuredContent: quoted }),
      ...(name === 'fails' && { isError: true }),
    }
  })
  return server
}

describe('the metrics of tool calls', () => {
  let gateway: RunningGateway
  let server: TestServer
  let gone: TestServer

  before(async () => {
    server = await startModernServer(createServer)
    gone = await startHttp(() => undefined)
    await gone.stop()
    gateway = await startToolGateway([atUrl('tools', server.url), atUrl('gone', gone.url)])
  })
  after(async () => {
    await gateway.stop()
    await server.stop()
  })

  const call = (name: string, tool: string) => callToolRaw(gateway, gateway.demoKey, { server: name, tool })
  const records = async (query: string) =>
    (await gateway.call('GET', `/admin/tool-calls?order=oldest&${query}`, undefined, AS_ADMIN)).body.data

  it('tell errors of tools and of servers from calls that work', async () => {
    for (const { name } of TOOLS.slice(0, 4)) await call('tools', name)
    const found = (await records('server=tools')) as { tool: string; verdict: string; error_code: string }[]
    expect(found.map(({ tool, verdict, error_code }) => [tool, verdict, error_code])).to.deep.equal([
      ['works', 'allowed', null],
      ['fails', 'allowed', 'tool_error'],
      ['quotes', 'allowed', null],
      ['refuses', 'failed', 'tool_server_error'],
    ])
    const { sum } = await scrape(gateway)
    const total = (labels: object) => sum('signalbox_tool_calls_total', { server: 'tools', ...labels })
    expect(total({ error_code: 'tool_error' })).to.equal(1)
    expect(total({ error_code: 'tool_server_error', verdict: 'failed' })).to.equal(1)
    expect(total({ verdict: 'allowed' })).to.equal(3)
    expect(sum('signalbox_tool_server_duration_seconds_count', { server: 'tools' })).to.equal(4)
  })

  it('tell what the client did not wait for', async () => {
    const { client } = await connectClient(gateway, '/mcp/tools', 'modern')
    const controller = new AbortController()
    const begun = once(waits, 'begun')
    const result = client.callTool({ name: 'waits', arguments: {} }, { signal: controller.signal })
    result.catch(() => undefined)
    await begun
    controller.abort()
    const [record] = await waitUntil(async () => {
      const found = await records('tool=waits')
      return found.length > 0 && found
    })
    expect(record).to.include({ verdict: 'failed', error_code: 'cancelled' })
    await client.close()
  })

  it('say which servers answer, and leave calls out of their time that have not reached them', async () => {
    await call('tools', 'works')
    for (let count = 0; count < 8; count++) await call('gone', 'works')
    const { sum, samples } = await scrape(gateway)
    expect(sum('signalbox_tool_server_up', { server: 'tools' })).to.equal(1)
    const [up] = samples.filter(
      ({ name, labels }) => name === 'signalbox_tool_server_up' && labels.server === 'gone',
    )
    expect(up?.value).to.equal(0)
    expect(sum('signalbox_tool_server_breakers', { server: 'tools', state: 'closed' })).to.equal(1)
    const circuits = ['signalbox_tool_server_breakers', 'signalbox_tool_server_caller_breakers']
    const open = circuits.map((name) => sum(name, { server: 'gone', state: 'open' }))
    expect(open.reduce((total, value) => total + value)).to.be.greaterThan(0)
    expect(sum('signalbox_tool_server_duration_seconds_count', { server: 'gone' })).to.equal(0)
  })

  it('do not count the time that a client takes to answer as that of the server', async () => {
    const { client } = await connectClient(gateway, '/mcp/tools', 'session', {
      capabilities: { elicitation: { form: {} } },
    })
    let waitedMs = 0
    client.setRequestHandler('elicitation/create', async () => {
      const start = performance.now()
      await setTimeout(200)
      waitedMs = performance.now() - start
      return { action: 'accept', content: {} }
    })
    await client.callTool({ name: 'asks', arguments: {} })
    await client.close()
    const [{ duration_ms, upstream_ms }] = await records('tool=asks')
    expect(waitedMs).to.be.greaterThan(0)
    expect(upstream_ms).to.be.greaterThan(0)
    expect(duration_ms - upstream_ms).to.be.at.least(Math.floor(waitedMs))
  })

  it('have no series from what callers write', async () => {
    await call('tools', 'works')
    const before = (await scrape(gateway)).series
    for (const name of ['invented', 'made_up']) {
      await call(name, 'works')
      await call('tools', name)
    }
    const added = [...(await scrape(gateway)).series].filter((each) => /invented|made_up/.test(each))
    expect(before.size).to.be.greaterThan(0)
    expect(added).to.deep.equal([])
  })
})
