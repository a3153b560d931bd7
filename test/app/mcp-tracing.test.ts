import { expect } from 'chai'
import type { RunningGateway } from '../support/gateway.ts'
import { asProgram, atUrl, startToolGateway } from '../support/mcp/gateway.ts'
import { startHttp, type TestServer } from '../support/mcp/servers.ts'
import { type CollectedSpan, type SpanCollector, startSpanCollector } from '../support/span-collector.ts'
import { waitUntil } from '../support/wait.ts'

const CALLER_SPAN = '00f067aa0ba902b7'
const SECRET = 'the secret word Xyzzy'
const SESSION = 'session-of-the-server'

const newTraceId = (() => {
  let count = 0
  return () => (++count).toString(16).padStart(32, 'b')
})()
const traceparent = (traceId: string, flags = '01') => `00-${traceId}-${CALLER_SPAN}-${flags}`

/** What a server answers. `era`: with or without sessions. */
const REPLY = `
function reply(era, { id, method, params }) {
  const result = (fields) => ({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...fields } })
  const error = (code, message) => ({ jsonrpc: '2.0', id, error: { code, message } })
  if (method === 'server/discover' && era === 'modern')
    return result({ supportedVersions: ['2026-07-28'], capabilities: { tools: {}, prompts: {} } })
  if (method === 'initialize' && era === 'session')
    return result({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } })
  if (method === 'tools/list')
    return result({ tools: ['read', 'fails', 'refuses'].map((name) => ({ name, inputSchema: { type: 'object' } })) })
  if (method === 'prompts/get')
    return params.name === 'greeting' ? result({ messages: [] }) : error(-32602, 'Unknown prompt')
  if (method !== 'tools/call') return error(-32601, 'Method not found')
  if (params.name === 'refuses') return error(-32050, ${JSON.stringify(SECRET)})
  const text = JSON.stringify({ meta: params._meta ?? null, secret: ${JSON.stringify(SECRET)} })
  return result({ content: [{ type: 'text', text }], isError: params.name === 'fails' })
}`

const reply = new Function(`${REPLY}; return reply`)() as (era: string, message: object) => object

const PROGRAM = `${REPLY}
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  if (message.id !== undefined) process.stdout.write(JSON.stringify(reply('session', message)) + '\\n')
})`

const startServer = (era: string): Promise<TestServer> =>
  startHttp((_, response, body) => {
    const message = body === '' ? {} : JSON.parse(body)
    if (message.id === undefined) return response.writeHead(body === '' ? 405 : 202).end()
    const session = era === 'session' ? { 'mcp-session-id': SESSION } : {}
    response.writeHead(200, { 'content-type': 'application/json', ...session })
    return response.end(JSON.stringify(reply(era, message)))
  })

describe('tracing of tool calls', function () {
  this.timeout(60_000)
  let collector: SpanCollector
  let gateway: RunningGateway
  let untraced: RunningGateway
  let modern: TestServer
  let session: TestServer

  before(async () => {
    collector = await startSpanCollector()
    modern = await startServer('modern')
    session = await startServer('session')
    const options = { endpoint: collector.url, export_interval_ms: 20, sample_ratio: 0 }
    const servers = [
      atUrl('modern', modern.url),
      atUrl('session', session.url),
      asProgram('program', [process.execPath, '-e', PROGRAM]),
    ]
    gateway = await startToolGateway(servers, '', [{ use: 'tracing', options }])
    untraced = await startToolGateway(servers)
  })
  after(async () => {
    await Promise.all([gateway.stop(), untraced.stop(), modern.stop(), session.stop()])
    collector.close()
  })

  interface Sent {
    readonly method?: string
    readonly params?: object
    readonly meta?: object
    readonly headers?: Readonly<Record<string, string>>
    readonly through?: RunningGateway
  }

  /** Sends a request of the revision without sessions. */
  async function send(server: string, name: string, sent: Sent = {}) {
    const { method = 'tools/call', params = { arguments: { text: SECRET } }, through = gateway } = sent
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      ...sent.meta,
    }
    const body = { jsonrpc: '2.0', id: 'call-7', method, params: { name, ...params, _meta } }
    return through.call('POST', `/mcp/${server}`, body, {
      authorization: `Bearer ${through.demoKey}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': name,
      ...sent.headers,
    })
  }

  async function spansOf(traceId: string) {
    const spans = await collector.trace(traceId)
    const [root] = spans.filter(({ kind }) => kind === 2)
    const calls = spans.filter(({ kind }) => kind === 3)
    const call = calls.find(({ attributes }) => attributes['mcp.method.name'] !== 'tools/list')
    const text = JSON.stringify(spans, (_, value) => (typeof value === 'bigint' ? '' : value))
    expect(text).not.to.contain('Xyzzy')
    return { root: root as CollectedSpan, call: call as CollectedSpan, calls }
  }

  async function traced(server: string, name: string, sent: Sent = {}) {
    const traceId = newTraceId()
    const headers = { traceparent: traceparent(traceId), ...sent.headers }
    const answer = await send(server, name, { ...sent, headers })
    return { traceId, answer, ...(await spansOf(traceId)) }
  }

  const metaOf = (body: { result: { content: [{ text: string }] } }) =>
    JSON.parse(body.result.content[0].text).meta
  const lastCallTo = ({ requests }: TestServer) =>
    requests.findLast(({ body }) => body.includes('"tools/call"'))

  it('has a span of the request and one of the call, as the conventions for MCP say', async () => {
    const { traceId, answer, root, call } = await traced('modern', 'read', {
      headers: { tracestate: 'vendor=1' },
    })
    expect(root).to.include({ name: 'tools/call read', parentId: CALLER_SPAN, isError: false })
    expect(root.attributes).to.include({
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2026-07-28',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'read',
      'jsonrpc.request.id': 'call-7',
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'signalbox.tool.server': 'modern',
      'signalbox.tool.verdict': 'allowed',
      'signalbox.request.id': answer.headers.get('x-request-id'),
    })
    expect(root.attributes['signalbox.rules.position']).to.be.a('number')
    expect(call).to.include({ name: 'tools/call read', parentId: root.spanId, isError: false })
    expect(call.attributes).to.include({
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2026-07-28',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'read',
      'network.transport': 'tcp',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(modern.url).port),
      'signalbox.tool.server': 'modern',
    })
    expect(call.start >= root.start && call.end <= root.end).to.equal(true)
    const sent = lastCallTo(modern)
    expect(sent?.headers).to.include({
      traceparent: `00-${traceId}-${call.spanId}-01`,
      tracestate: 'vendor=1',
    })
    const { id } = JSON.parse(sent?.body ?? '{}')
    expect(call.attributes['jsonrpc.request.id']).to.equal(id)
    expect(metaOf(answer.body)).to.include({
      traceparent: `00-${traceId}-${call.spanId}-01`,
      tracestate: 'vendor=1',
    })
  })

  it('continues the trace of the message before that of the HTTP request, and links that', async () => {
    const [outer, inner] = [newTraceId(), newTraceId()]
    await send('modern', 'read', {
      headers: { traceparent: traceparent(outer) },
      meta: { traceparent: traceparent(inner), tracestate: 'inner=1' },
    })
    const { root, call } = await spansOf(inner)
    expect(root).to.deep.include({ parentId: CALLER_SPAN, links: [`${outer}/${CALLER_SPAN}`] })
    expect(lastCallTo(modern)?.headers).to.include({
      traceparent: `00-${inner}-${call.spanId}-01`,
      tracestate: 'inner=1',
    })
    const traceId = newTraceId()
    await send('modern', 'read', {
      headers: { traceparent: traceparent(traceId) },
      meta: { traceparent: 'made up', tracestate: 'made up' },
    })
    expect((await spansOf(traceId)).root.parentId).to.equal(CALLER_SPAN)
    expect(JSON.parse(lastCallTo(modern)?.body ?? '{}').params._meta).not.to.have.property('tracestate')
  })

  it('passes the trace on to servers with sessions and to programs', async () => {
    const toSession = await traced('session', 'read')
    const expected = `00-${toSession.traceId}-${toSession.call.spanId}-01`
    expect(lastCallTo(session)?.headers.traceparent).to.equal(expected)
    expect(metaOf(toSession.answer.body)).to.deep.equal({ traceparent: expected })
    expect(toSession.call.attributes['mcp.protocol.version']).to.equal('2025-11-25')
    expect(JSON.stringify([toSession.call.attributes, toSession.root.attributes])).not.to.contain(SESSION)

    const toProgram = await traced('program', 'read')
    expect(metaOf(toProgram.answer.body)).to.deep.equal({
      traceparent: `00-${toProgram.traceId}-${toProgram.call.spanId}-01`,
    })
    expect(toProgram.call.attributes).to.include({ 'network.transport': 'pipe' })
    expect(toProgram.call.attributes).not.to.have.property('server.address')
  })

  it('traces clients with sessions', async () => {
    const authorization = `Bearer ${gateway.demoKey}`
    const [opening, calling] = [newTraceId(), newTraceId()]
    const ask = (traceId: string, method: string, params: object, headers = {}) =>
      gateway.call(
        'POST',
        '/mcp/session',
        { jsonrpc: '2.0', id: 1, method, params },
        { authorization, traceparent: traceparent(traceId), ...headers },
      )
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    }
    const opened = await ask(opening, 'initialize', params)
    const id = opened.headers.get('mcp-session-id') ?? ''
    const first = (await spansOf(opening)).root
    expect(first).to.include({ name: 'initialize', isError: false })
    await ask(calling, 'tools/call', { name: 'read', arguments: {} }, { 'mcp-session-id': id })
    const { root } = await spansOf(calling)
    for (const { attributes } of [first, root])
      expect(attributes).to.include({ 'mcp.session.id': id, 'mcp.protocol.version': '2025-06-18' })
    expect(root.attributes['jsonrpc.request.id']).to.equal('1')
  })

  it('names errors by their codes, and nothing that the caller made up', async () => {
    const failed = await traced('modern', 'fails')
    expect(failed.root).to.include({ isError: true })
    expect(failed.root.attributes['error.type']).to.equal('tool_error')

    const refused = await traced('modern', 'refuses')
    for (const { isError, attributes } of [refused.root, refused.call]) {
      expect(isError).to.equal(true)
      expect(attributes).to.include({ 'error.type': '-32050', 'rpc.response.status_code': '-32050' })
    }
    const unknown = await traced('modern', 'Xyzzy')
    expect(unknown.root).to.include({ name: 'tools/call', isError: true })
    expect(unknown.root.attributes).to.include({
      'error.type': 'tool_not_found',
      'signalbox.tool.verdict': 'not_served',
    })
    expect(unknown.call).to.equal(undefined)

    const method = await traced('modern', 'read', { method: 'tools/Xyzzy' })
    expect(method.root).to.include({ name: '_OTHER', isError: true })
    expect(method.root.attributes['rpc.response.status_code']).to.equal('-32601')

    const prompts = [
      await traced('modern', 'greeting', { method: 'prompts/get' }),
      await traced('modern', 'Xyzzy', { method: 'prompts/get' }),
    ]
    expect(prompts.map(({ root }) => root.name)).to.deep.equal(['prompts/get greeting', 'prompts/get'])
  })

  it('passes on what is not sampled, without spans', async () => {
    const before = collector.spans().length
    const [unsampled, sampled] = [newTraceId(), newTraceId()]
    await send('modern', 'read', { headers: { traceparent: traceparent(unsampled, '00') } })
    expect(lastCallTo(modern)?.headers.traceparent).to.match(new RegExp(`^00-${unsampled}-[0-9a-f]{16}-00$`))
    await send('modern', 'read')
    expect(lastCallTo(modern)?.headers.traceparent).to.match(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    await send('modern', 'read', { headers: { traceparent: traceparent(sampled) } })
    await collector.trace(sampled)
    const added = collector.spans().slice(before)
    expect(new Set(added.map(({ traceId }) => traceId))).to.deep.equal(new Set([sampled]))
  })

  it('leaves messages as they are where nothing is traced', async () => {
    const traceId = newTraceId()
    const headers = { traceparent: traceparent(traceId) }
    const meta = { traceparent: traceparent(traceId), tracestate: 'a=1' }
    await send('modern', 'read', { headers, meta, through: untraced })
    const sent = lastCallTo(modern)
    expect(sent?.headers).not.to.have.property('traceparent')
    expect(JSON.parse(sent?.body ?? '{}').params._meta).to.include(meta)
  })

  it('ends the span of a client that disconnects', async () => {
    const traceId = newTraceId()
    const controller = new AbortController()
    const hanging = await startHttp((_, response, body) => {
      const message = JSON.parse(body || '{}')
      if (message.method === 'tools/call') return controller.abort()
      response.writeHead(200, { 'content-type': 'application/json' })
      return response.end(JSON.stringify(reply('modern', message)))
    })
    const options = { endpoint: collector.url, export_interval_ms: 20, sample_ratio: 0 }
    const other = await startToolGateway([atUrl('hanging', hanging.url)], '', [{ use: 'tracing', options }])
    const params = { name: 'read', arguments: {}, _meta: { ...META, traceparent: traceparent(traceId) } }
    await fetch(`${other.url}/mcp/hanging`, {
      method: 'POST',
      signal: controller.signal,
      headers: {
        authorization: `Bearer ${other.demoKey}`,
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'read',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    }).catch(() => undefined)
    await waitUntil(() => collector.spans().some((span) => span.traceId === traceId))
    const { root, call } = await spansOf(traceId)
    for (const { attributes } of [root, call]) expect(attributes['error.type']).to.equal('cancelled')
    await other.stop()
    await hanging.stop()
  })
})

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
