import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import type { ClientConnection } from '../../core/contract/index.ts'
import { USAGE_WAIT_MS } from '../../plugins/rate-limit/index.ts'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { createHold } from '../support/hold.ts'
import { scrapeUntil } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import {
  block,
  type Clockwork,
  clockworkPackages,
  expectOwnTime,
  ownTimeOf,
  pause,
  timed,
  untilWaiting,
} from '../support/own-time.ts'
import { readBlocks } from '../support/pages.ts'
import { installAll } from '../support/plugins.ts'
import { openResponseSocket } from '../support/response-socket.ts'
import {
  chunk,
  completion,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'
import { writeSettings } from '../support/settings-file.ts'

const CHAT = '/v1/chat/completions'
const WHOLE: Script = { body: completion({ content: 'Hi' }) }
const STREAM: Script = { chunks: [chunk({ content: 'Hi' }), chunk({}, 'stop')] }

const TELEGRAM: Script = {
  headers: { 'content-type': 'text/event-stream' },
  body:
    'event: begin\ndata: {"number":"T1","station":"morse-1"}\n\n' +
    'event: end\ndata: {"heard":3,"said":4}\n\n',
}

const MODEL = {
  ...{ id: 'morse-1', provider: 'post', context: 1000, max_output: 100, quality: 50, latency_ms: 100 },
  price: { input: 1, output: 2 },
  capabilities: { tools: false, images: false, json: 'none' },
}

describe("the gateway's own time", () => {
  let provider: ScriptedProvider
  let guardrail: ScriptedProvider
  let gateway: RunningGateway
  /** With a guardrail: a gateway with one asks no provider to count tokens. */
  let guarded: RunningGateway
  let authorization: string

  before(async () => {
    provider = await startScriptedProvider()
    guardrail = await startScriptedProvider()
    const telegraph = (await readBlocks('docs/plugins.md', 'js')).find((code) => code.includes("'telegraph'"))
    const pluginFolder = await installAll(clockworkPackages(telegraph ?? ''))
    const settings = (...plugins: object[]) =>
      dump({
        plugins: { add: [{ use: 'clockwork', before: 'firewall' }, ...plugins] },
        providers: {
          openai: { base_url: provider.url },
          anthropic: { base_url: provider.url.replace('/v1', '') },
          post: { format: 'slow-telegraph', base_url: provider.url },
        },
        models: [MODEL],
        rate_limits: {
          requests_per_minute: { free: null, paid: null },
          max_concurrent: { free: 1, paid: null },
        },
      })
    const keys = { OPENAI_API_KEY: 'sk-1', ANTHROPIC_API_KEY: 'sk-2', POST_API_KEY: 'sk-3' }
    const start = async (...plugins: object[]) =>
      startGateway({ CONFIG: await writeSettings(settings(...plugins)), ...keys }, { pluginFolder })
    gateway = await start({ use: 'cache', before: 'dispatch' })
    const options = { url: guardrail.url, phases: ['request'] }
    guarded = await start({ use: 'guardrail-webhook', after: 'firewall', options })
    authorization = `Bearer ${gateway.demoKey}`
  })
  after(async () => {
    await gateway?.stop()
    await guarded?.stop()
    provider?.close()
    guardrail?.close()
  })
  beforeEach(() => {
    guardrail.play({ body: { action: 'allow' } })
    provider.play(WHOLE)
  })
  afterEach(() => {
    globalThis.clockwork = undefined
  })

  const ask = (body: object, headers: Record<string, string> = {}, path = CHAT) =>
    gateway.call('POST', path, body, { authorization, ...headers })

  async function askStream(body: object, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(gateway.url + CHAT, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...body, stream: true }),
    })
    await response.text()
    return response
  }

  /** Sets what a plugin does while it decides: it blocks. Returns for how long it did. */
  function blockDecisions(more: Clockwork = {}): () => number {
    let blockedMs = 0
    globalThis.clockwork = {
      ...more,
      decide(exchange) {
        blockedMs += block()
        more.decide?.(exchange)
      },
    }
    return () => blockedMs
  }

  /** Lets a server keep the gateway waiting before it answers. Returns for how long it did. */
  function holdAnswers(server: ScriptedProvider, script: Script): () => number {
    let waitedMs = 0
    const hold = createHold()
    const onRequest = () => {
      void pause().then((ms) => {
        waitedMs += ms
        hold.release()
      })
    }
    server.play({ ...script, onRequest, until: hold.released })
    return () => waitedMs
  }

  for (const [what, script] of [
    ['a whole reply', WHOLE],
    ['a stream', STREAM],
    ['an error', { status: 400, body: { error: { message: 'No.', code: 'no' } } }],
  ] as const)
    it(`includes what plugins do, and leaves out the wait for ${what}`, async () => {
      const blockedMs = blockDecisions()
      const waitedMs = holdAnswers(provider, script)
      const call = script === STREAM ? askStream : ask
      const { answer, totalMs } = await timed(() => call(chatBody(what)))
      expect(answer.status).to.equal(script === WHOLE || script === STREAM ? 200 : 400)
      expect(provider.counts.requests).to.be.above(0)
      expectOwnTime(ownTimeOf(answer), { totalMs, blockedMs: blockedMs(), waitedMs: waitedMs() })
    })

  it('leaves out the waits between the events of a stream that a plugin reads', async () => {
    let client: ClientConnection | undefined
    let batches = 0
    let waitedMs = 0
    const hold = createHold()
    globalThis.clockwork = {
      decide: (exchange) => {
        client = exchange.client
      },
      batch() {
        if (++batches !== 1 || client === undefined) return
        const wait = untilWaiting(client).then(() => pause())
        void wait.then((ms) => {
          waitedMs = ms
          hold.release()
        })
      },
    }
    let chunks = 0
    provider.play({ ...STREAM, beforeChunk: () => (++chunks === 2 ? hold.released : undefined) })
    const { answer, totalMs } = await timed(() => askStream(chatBody('Collect'), { 'x-collect': 'yes' }))
    expect(answer.status).to.equal(200)
    expect(waitedMs).to.be.above(0)
    expectOwnTime(ownTimeOf(answer), { totalMs, waitedMs })
  })

  it('includes the time in which a provider’s first events are parsed', async () => {
    provider.play(TELEGRAM)
    let blockedMs = 0
    globalThis.clockwork = {
      read() {
        if (blockedMs === 0) blockedMs = block()
      },
    }
    const { answer, totalMs } = await timed(() => askStream({ ...chatBody('Read'), model: 'morse-1' }))
    expect(answer.status).to.equal(200)
    expectOwnTime(ownTimeOf(answer), { totalMs, blockedMs })
  })

  it('includes signing a request, and leaves out the wait for credentials', async () => {
    provider.play(TELEGRAM)
    const body = { ...chatBody('Sign'), model: 'morse-1' }
    let blockedMs = 0
    globalThis.clockwork = {
      async authorize() {
        await undefined
        blockedMs = block()
        return {}
      },
    }
    const signed = await timed(() => askStream(body))
    expect(signed.answer.status).to.equal(200)
    expectOwnTime(ownTimeOf(signed.answer), { totalMs: signed.totalMs, blockedMs })

    let waitedMs = 0
    let client: ClientConnection | undefined
    globalThis.clockwork = {
      decide: (exchange) => {
        client = exchange.client
      },
      async authorize() {
        await untilWaiting(client as ClientConnection)
        waitedMs = await pause()
        return {}
      },
    }
    const fetched = await timed(() => askStream(body))
    expect(fetched.answer.status).to.equal(200)
    expectOwnTime(ownTimeOf(fetched.answer), { totalMs: fetched.totalMs, waitedMs })
  })

  it('leaves out failed calls and the delay before a retry', async () => {
    const waitedMs = holdAnswers(provider, { status: 503, body: {} })
    const { answer, totalMs } = await timed(() => ask(chatBody('Fail')))
    expect(answer.status).to.be.at.least(500)
    // A fixed model is retried after 100 ms; timers may be early by one.
    expectOwnTime(ownTimeOf(answer), { totalMs, waitedMs: waitedMs() + 99 })
  })

  for (const encoding of ['identity', 'gzip'])
    it(`leaves out a body that arrives slowly (${encoding})`, async () => {
      const json = JSON.stringify(chatBody(`Slow ${encoding}`))
      const body = encoding === 'gzip' ? gzipSync(json) : Buffer.from(json)
      let client: ClientConnection | undefined
      const blockedMs = blockDecisions({
        admit: (request) => {
          client = request.client
        },
      })
      let waitedMs = 0
      const { answer, totalMs } = await timed(async () => {
        const sent = httpRequest(gateway.url + CHAT, {
          method: 'POST',
          headers: { authorization, 'content-encoding': encoding, 'content-length': body.length },
        })
        const answered = once(sent, 'response')
        sent.write(body.subarray(0, 10))
        await untilWaiting(await waitForClient(() => client))
        waitedMs = await pause()
        sent.end(body.subarray(10))
        const [response] = (await answered) as [IncomingMessage]
        await readText(response)
        const own = String(response.headers['x-signalbox-overhead-ms'])
        return { status: response.statusCode, headers: new Headers({ 'x-signalbox-overhead-ms': own }) }
      })
      expect(answer.status).to.equal(200)
      expectOwnTime(ownTimeOf(answer), { totalMs, blockedMs: blockedMs(), waitedMs })
    })

  async function waitForClient(read: () => ClientConnection | undefined): Promise<ClientConnection> {
    for (;;) {
      const client = read()
      if (client !== undefined) return client
      await new Promise(setImmediate)
    }
  }

  it('leaves out the wait for a turn at a limit of concurrent requests', async () => {
    const user = await newUser(gateway, 'free')
    const hold = createHold()
    const reached = createHold()
    provider.play({ ...WHOLE, until: hold.released, onRequest: () => reached.release() })
    const ahead = user.call('POST', CHAT, chatBody('First'))
    await reached.released
    const blockedMs = blockDecisions()
    const { answer, totalMs } = await timed(() => user.call('POST', CHAT, chatBody('Second')))
    hold.release()
    expect((await ahead).status).to.equal(200)
    expect(answer.headers.get('x-error-code')).to.equal('concurrency_limit_exceeded')
    // Timers may be early by one.
    expectOwnTime(ownTimeOf(answer), { totalMs, blockedMs: blockedMs(), waitedMs: USAGE_WAIT_MS - 1 })
  })

  for (const action of ['allow', 'block'])
    it(`leaves out the wait for a guardrail that says ${action}`, async () => {
      const blockedMs = blockDecisions()
      const waitedMs = holdAnswers(guardrail, {
        body: { action, ...(action === 'block' && { reason: 'No' }) },
      })
      const { answer, totalMs } = await timed(() => guarded.call('POST', CHAT, chatBody(`Judge ${action}`)))
      expect(answer.status).to.equal(action === 'allow' ? 200 : 403)
      expectOwnTime(ownTimeOf(answer), { totalMs, blockedMs: blockedMs(), waitedMs: waitedMs() })
    })

  it('leaves out the wait for a provider that counts tokens', async () => {
    const waitedMs = holdAnswers(provider, { body: { input_tokens: 7 } })
    const blockedMs = blockDecisions()
    const body = { ...chatBody('Count'), model: 'claude-haiku-5-5' }
    const { answer, totalMs } = await timed(() => ask(body, {}, '/v1/messages/count_tokens'))
    expect([answer.status, answer.body]).to.deep.equal([200, { input_tokens: 7 }])
    expectOwnTime(ownTimeOf(answer), { totalMs, blockedMs: blockedMs(), waitedMs: waitedMs() })
  })

  it('is told when nobody waits: refusals, blocks and cached answers', async () => {
    const user = await newUser(gateway)
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ action: 'block' }))
    const body = chatBody('Cache this', { temperature: 0 })
    await user.call('POST', CHAT, body)
    const requests = provider.counts.requests
    const blockedMs = blockDecisions()
    const both = await timed(async () => [
      await user.call('POST', CHAT, chatBody('A secret')),
      await user.call('POST', CHAT, body),
    ])
    const [blocked, cached] = both.answer as [Answer, Answer]
    expect([blocked.status, cached.status]).to.deep.equal([403, 200])
    expect(cached.headers.get('x-cache')).to.equal('hit')
    expect(provider.counts.requests).to.equal(requests)
    const ownMs = ownTimeOf(blocked) + ownTimeOf(cached)
    expectOwnTime(ownMs, { totalMs: both.totalMs, blockedMs: blockedMs() })

    const limit = { requests_per_minute: 1 }
    const limited = await gateway.call('PATCH', `/admin/users/${user.id}`, limit, AS_ADMIN)
    expect(limited.status, JSON.stringify(limited.body)).to.equal(200)
    await user.call('POST', CHAT, body)
    const refusals = [
      [400, await ask({ model: 'gpt-4o' })],
      [401, await ask({}, { authorization: 'Bearer none' }, '/v1/messages')],
      [429, await user.call('POST', CHAT, body)],
    ] as const
    for (const [status, refused] of refusals) {
      expect(refused.status, JSON.stringify(refused.body)).to.equal(status)
      ownTimeOf(refused)
    }
  })

  const own = (endpoint?: string) =>
    scrapeUntil(gateway, () => true).then(({ sum }) => ({
      count: sum('signalbox_overhead_seconds_count', endpoint === undefined ? {} : { endpoint }),
      ms: sum('signalbox_overhead_seconds_sum', endpoint === undefined ? {} : { endpoint }) * 1000,
    }))

  /** What the metric counts of one request. */
  async function counted<Answered>(act: () => Promise<Answered>, endpoint?: string) {
    const before = await own(endpoint)
    const { answer, totalMs } = await timed(act)
    const labels = endpoint === undefined ? {} : { endpoint }
    await scrapeUntil(gateway, ({ sum }) => sum('signalbox_overhead_seconds_count', labels) > before.count)
    const after = await own(endpoint)
    expect(after.count).to.equal(before.count + 1)
    return { answer, totalMs, ownMs: after.ms - before.ms }
  }

  it('is counted once per answer by the metric, also of refused requests', async () => {
    const answered = await counted(() => ask(chatBody('Metric')), CHAT)
    expect(answered.ownMs).to.be.closeTo(ownTimeOf(answered.answer), 0.06)
    const refused = await counted(() => ask({}, { authorization: 'Bearer none' }, CHAT), CHAT)
    expect(refused.ownMs).to.be.closeTo(ownTimeOf(refused.answer), 0.06)
    const { samples } = await scrapeUntil(gateway, () => true)
    const bounds = samples.filter(({ name }) => name === 'signalbox_overhead_seconds_bucket')
    expect(bounds.map(({ labels }) => labels.le)).to.include('0.0001')
  })

  it('is counted of messages over WebSocket, without the wait', async () => {
    const socket = await openResponseSocket(gateway.url, gateway.demoKey)
    const blockedMs = blockDecisions()
    const waitedMs = holdAnswers(provider, STREAM)
    const create = () => socket.create({ model: 'gpt-4o', input: 'Over a socket' })
    const { answer, totalMs, ownMs } = await counted(create, '/v1/responses')
    expect(answer.at(-1)?.type, JSON.stringify(answer.at(-1))).to.equal('response.completed')
    expectOwnTime(ownMs, { totalMs, blockedMs: blockedMs(), waitedMs: waitedMs() })
    const failed = await socket.create({ model: 'gpt-4o' })
    expect(failed.at(-1)?.type).to.equal('error')
    expect(JSON.stringify(failed)).not.to.contain('overhead')
    socket.socket.close()
    await socket.closed
  })

  it('is told by every endpoint that says so, and these are those of model clients', async () => {
    provider.play(WHOLE)
    const { body: document } = await gateway.call('GET', '/openapi.json')
    const told = Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { responses }]) => responses?.[200]?.headers?.['x-signalbox-overhead-ms'] !== undefined)
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    )
    expect(told).to.have.members(ENDPOINTS)
    for (const endpoint of told) {
      const [method = '', path = ''] = endpoint.split(' ')
      const at = path.replaceAll(/\{\w+\}/g, 'resp_none')
      const answer =
        path === '/route'
          ? await (await newUser(gateway)).route({})
          : await gateway.call(method, at, method === 'POST' ? {} : undefined)
      expect(answer.headers.get('x-signalbox-overhead-ms'), endpoint).to.match(/^\d+\.\d$/)
    }
    const others = [await gateway.call('GET', '/v1/usage'), await gateway.call('GET', '/v1/none')]
    for (const { headers } of others) expect(headers.has('x-signalbox-overhead-ms')).to.equal(false)
  })
})

const ENDPOINTS = [
  ...['chat/completions', 'completions', 'embeddings', 'moderations'].map((name) => `POST /v1/${name}`),
  ...['POST /v1/messages', 'POST /v1/messages/count_tokens', 'POST /route'],
  ...['', '/compact', '/input_tokens', '/{id}', '/{id}/cancel'].map((name) => `POST /v1/responses${name}`),
  ...['GET /v1/responses/{id}', 'GET /v1/responses/{id}/input_items', 'DELETE /v1/responses/{id}'],
  ...['GET /v1/models', 'GET /v1/models/{id}', 'GET /v1/models/{provider}/{id}'],
]
