import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { waitForLines } from '../support/gateway-log.ts'
import { scrape } from '../support/metrics.ts'
import { providersAt } from '../support/providers.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { type CollectedSpan, type SpanCollector, startSpanCollector } from '../support/span-collector.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER_SPAN = '00f067aa0ba902b7'
const SECRET = 'the secret word Xyzzy'

const traceparent = (traceId = TRACE_ID, isSampled = true) =>
  `00-${traceId}-${CALLER_SPAN}-0${isSampled ? 1 : 0}`

const newTraceId = (() => {
  let count = 0
  return () => (++count).toString(16).padStart(32, 'a')
})()

describe('tracing', function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  let collector: SpanCollector
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 1000 })
    collector = await startSpanCollector()
    gateway = await startTraced({ endpoint: collector.url, sample_ratio: 0 })
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
    collector?.close()
  })

  async function startTraced(options: object): Promise<RunningGateway> {
    const add = [{ use: 'tracing', before: 'auth', options: { export_interval_ms: 20, ...options } }]
    const settings = `${UNLIMITED}log_level: info\nplugins: { add: ${JSON.stringify(add)} }\n`
    return startGateway({ ...providersAt(sandbox), ...(await withSettings(settings)) })
  }

  const chat = (body: object, headers: Record<string, string>) =>
    gateway.call('POST', '/v1/chat/completions', chatBody('Hello', body), {
      authorization: `Bearer ${gateway.demoKey}`,
      ...headers,
    })

  async function tracedChat(body: object) {
    const traceId = newTraceId()
    const answer = await chat(body, { traceparent: traceparent(traceId) })
    return { traceId, answer, spans: await collector.trace(traceId) }
  }

  const named = (spans: readonly CollectedSpan[], name: string) => spans.filter((span) => span.name === name)

  it('sends a span per request, with its phases and calls, without text of the request', async () => {
    const { answer, spans } = await tracedChat({
      model: 'gpt-4o',
      temperature: 0.5,
      messages: [{ role: 'user', content: SECRET }],
    })
    expect(answer.status).to.equal(200)
    const [root] = named(spans, 'POST /v1/chat/completions')
    expect(root).to.include({ kind: 2, parentId: CALLER_SPAN, isError: false })
    expect(root?.attributes).to.include({
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': answer.body.usage.prompt_tokens,
      'gen_ai.usage.output_tokens': answer.body.usage.completion_tokens,
      'signalbox.request.id': answer.headers.get('x-request-id'),
      'signalbox.cost_usd': answer.body.signalbox.cost_usd,
    })
    expect(root?.attributes['gen_ai.response.finish_reasons']).to.deep.equal(['stop'])
    const children = spans.filter(({ parentId }) => parentId === root?.spanId)
    expect(children.map(({ name, kind }) => `${name} ${kind}`)).to.have.members([
      'signalbox.admit 1',
      'signalbox.decide 1',
      'signalbox.reply 1',
      'signalbox.send 1',
      'chat gpt-4o 3',
    ])
    expect(named(spans, 'chat gpt-4o')[0]?.attributes).to.include({
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.usage.input_tokens': answer.body.usage.prompt_tokens,
    })
    expect(root?.resource).to.include({ 'service.name': 'signalbox' })
    for (const { start, end } of children) {
      expect(start <= end, 'a child ends after it begins').to.equal(true)
      expect(root !== undefined && start >= root.start && end <= root.end, 'within the request').to.equal(
        true,
      )
    }
    expect(JSON.stringify(spans, (_, value) => (typeof value === 'bigint' ? '' : value))).not.to.contain(
      'Xyzzy',
    )
  })

  it('passes the trace on to the provider, as the call that it made', async () => {
    const arrives = sandbox.next()
    const { traceId, spans } = await tracedChat({ model: 'gpt-4o' })
    const [call] = named(spans, 'chat gpt-4o')
    expect((await arrives).headers.traceparent).to.equal(`00-${traceId}-${call?.spanId}-01`)
  })

  it('names the trace in the log line and in the record of the request', async () => {
    const { traceId, answer } = await tracedChat({ model: 'gpt-4o' })
    const requestId = answer.headers.get('x-request-id')
    const [line] = await waitForLines(
      gateway,
      (each) => each.msg === 'request' && each.requestId === requestId,
    )
    expect(line?.traceId).to.equal(traceId)
    const record = await gateway.call('GET', `/v1/requests/${requestId}`)
    expect(record.body.data.trace_id).to.equal(traceId)
  })

  it('has a span for every call, also for those that failed', async () => {
    const { answer, spans } = await tracedChat({
      model: 'auto:cost',
      messages: [{ role: 'user', content: 'Hello [[sandbox: status=503 times=1]]' }],
    })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    const calls = spans.filter(({ kind }) => kind === 3).toSorted((a, b) => (a.start < b.start ? -1 : 1))
    expect(calls.map(({ isError }) => isError)).to.deep.equal([true, false])
    expect(calls[0]?.attributes['error.type']).to.be.a('string')
    expect(calls[1]?.attributes).to.have.property('gen_ai.usage.output_tokens')
  })

  it('records refused requests, streams and requests without a valid key', async () => {
    const rule = firewallRuleBody({ name: 'no traces', pattern: 'untraceable', action: 'block' })
    expect((await gateway.call('POST', '/v1/firewall-rules', rule)).status).to.equal(201)
    const refused = await tracedChat({ messages: [{ role: 'user', content: 'untraceable' }] })
    const [root] = named(refused.spans, 'POST /v1/chat/completions')
    expect(root?.attributes).to.include({
      'http.response.status_code': 403,
      'error.type': 'firewall_blocked',
    })
    expect(root?.attributes['signalbox.rules.applied']).to.have.lengthOf(1)
    expect(named(refused.spans, 'signalbox.reply')).to.have.lengthOf(0)

    const stream = newTraceId()
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.demoKey}`,
        'content-type': 'application/json',
        traceparent: traceparent(stream),
      },
      body: JSON.stringify(chatBody('Hello', { model: 'claude-sonnet-4-5', stream: true })),
    })
    await response.text()
    const spans = await collector.trace(stream)
    const [call] = spans.filter(({ kind }) => kind === 3)
    const [sent] = named(spans, 'signalbox.send')
    expect(call?.attributes['gen_ai.provider.name']).to.equal('anthropic')
    expect(call !== undefined && sent !== undefined && call.end >= sent.start).to.equal(true)

    const stranger = newTraceId()
    const headers = { authorization: 'Bearer tr_wrong', traceparent: traceparent(stranger) }
    expect((await chat({}, headers)).status).to.equal(401)
    const [unknown] = named(await collector.trace(stranger), 'POST /v1/chat/completions')
    expect(unknown?.attributes).to.include({ 'http.response.status_code': 401 })
  })

  it('does not record what the caller or the ratio leaves out, and still passes the trace on', async () => {
    const before = collector.spans().length
    for (const headers of [{ traceparent: traceparent(newTraceId(), false) }, {}]) {
      const arrives = sandbox.next()
      const answer = await chat({ model: 'gpt-4o' }, headers)
      const record = await gateway.call('GET', `/v1/requests/${answer.headers.get('x-request-id')}`)
      const sent = (await arrives).headers.traceparent
      expect(sent).to.match(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
      expect(record.body.data.trace_id).to.equal(sent?.slice(3, 35))
      if (headers.traceparent) expect(sent).to.contain(headers.traceparent.slice(3, 35))
    }
    await tracedChat({ model: 'gpt-4o' })
    expect(
      new Set(
        collector
          .spans()
          .slice(before)
          .map(({ traceId }) => traceId),
      ).size,
    ).to.equal(1)
  })

  it('serves, counts and logs while the collector is away, and sends what waits when it stops', async () => {
    const other = await startTraced({ endpoint: collector.url, sample_ratio: 1, service_name: 'edge' })
    try {
      collector.answerWith(400)
      expect((await other.call('POST', '/v1/chat/completions', chatBody('Hello'))).status).to.equal(200)
      await waitForLines(other, ({ msg }) => msg === 'spans could not be sent to the collector')
      const metrics = await scrape(other)
      expect(metrics.sum('signalbox_trace_spans_total', { outcome: 'failed' })).to.be.at.least(1)
    } finally {
      collector.answerWith(200)
    }
    const answer = await other.call('POST', '/v1/chat/completions', chatBody('Hello'))
    await other.stop()
    const id = answer.headers.get('x-request-id')
    const root = collector.spans().find(({ attributes }) => attributes['signalbox.request.id'] === id)
    expect(root?.resource).to.include({ 'service.name': 'edge' })
  })

  it('refuses an endpoint with a password, and a ratio above 1', async () => {
    for (const options of [{ endpoint: 'http://me:secret@collector:4318' }, { sample_ratio: 2 }]) {
      const error = await startTraced(options).then(
        () => undefined,
        (thrown: Error) => thrown,
      )
      expect(error?.message).to.contain('tracing')
      expect(error?.message).not.to.contain('secret')
    }
  })
})
