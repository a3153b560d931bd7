import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { type Body, DIALECTS, readRecords } from '../support/dialects.ts'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { scrape } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import { providersAt } from '../support/providers.ts'
import { rawResponse, startRawProvider } from '../support/raw-provider.ts'
import { ROOT } from '../support/root.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { receivedText } from '../support/streams.ts'

const SECRET = 'a-secret-of-the-guardrail'
const CHAT = '/v1/chat/completions'

describe('the plugin guardrail-webhook', function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  const gateways: RunningGateway[] = []
  const servers: Server[] = []
  let createGuardrailServer: (secret: string) => Server

  before(async () => {
    sandbox = await startSandbox({ record: 100 })
    const example = new URL('test/fixtures/guardrail-server.mjs', ROOT).href
    createGuardrailServer = (await import(example)).createGuardrailServer
  })
  after(async () => {
    for (const gateway of gateways) await gateway.stop()
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
    await sandbox?.close()
  })

  async function listen(server: Server): Promise<string> {
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/check`
  }

  async function start(options: object, environment: Record<string, string> = {}): Promise<RunningGateway> {
    const plugin = JSON.stringify({ use: 'guardrail-webhook', after: 'firewall', options })
    const settings = await withSettings(`${UNLIMITED}plugins: { add: [${plugin}] }\n`)
    const gateway = await startGateway({
      ...providersAt(sandbox, ['openai']),
      GUARDRAIL_SECRET: SECRET,
      ...settings,
      ...environment,
    })
    gateways.push(gateway)
    return gateway
  }

  const ask = (gateway: RunningGateway, text: string, more: object = {}): Promise<Answer> =>
    gateway.call('POST', CHAT, chatBody(text, more))

  async function stream(gateway: RunningGateway, path: string, body: object): Promise<string> {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, stream: true }),
    })
    return receivedText(response)
  }

  const lastRequest = () => JSON.stringify(sandbox.requests.at(-1)?.body)

  describe('with the example server', () => {
    let requests: RunningGateway
    let replies: RunningGateway
    before(async () => {
      const url = await listen(createGuardrailServer(SECRET))
      requests = await start({ url, phases: ['request'] })
      replies = await start({ url, phases: ['reply'] })
    })

    it('allows requests and replies', async () => {
      for (const gateway of [requests, replies]) {
        const { status, body } = await ask(gateway, 'Hello')
        expect(status).to.equal(200)
        expect(body.choices[0].message.content).to.contain('You said: "Hello".')
        expect(body.signalbox).not.to.have.property('warnings')
      }
    })

    it('masks requests, also in arguments of tool calls and descriptions of tools', async () => {
      const call = { name: 'find', arguments: '{"what": "top secret", "n": 1.0}' }
      const { status } = await requests.call('POST', CHAT, {
        model: 'gpt-4o',
        messages: [
          { role: 'user', content: 'Find it' },
          { role: 'assistant', tool_calls: [{ id: 'call_1', type: 'function', function: call }] },
          { role: 'tool', tool_call_id: 'call_1', content: 'Top secret plans' },
        ],
        tools: [{ type: 'function', function: { name: 'find', description: 'Finds top secret things' } }],
      })
      expect(status).to.equal(200)
      expect(lastRequest()).to.contain(String.raw`{\"what\": \"[gone]\", \"n\": 1.0}`)
      expect(lastRequest()).to.contain('[gone] plans').and.contain('Finds [gone] things')
      expect(lastRequest()).not.to.match(/top secret/i)
    })

    it('checks texts to embed, and blocks token ids, which it cannot see', async () => {
      const embed = (input: unknown) =>
        requests.call('POST', '/v1/embeddings', { model: 'text-embedding-3-small', input })
      expect((await embed(['Top secret plans', 'Hello'])).status).to.equal(200)
      expect(lastRequest())
        .to.contain('[gone] plans')
        .and.not.match(/top secret/i)
      const before = sandbox.requests.at(-1)
      const { status, body } = await embed([[11, 12]])
      expect(status).to.equal(403)
      expect(body.error).to.include({ code: 'guardrail_blocked' })
      expect(body.error.message).to.contain('Send the input as text.')
      expect(sandbox.requests.at(-1)).to.equal(before)
    })

    it('blocks requests before they reach a provider', async () => {
      const before = sandbox.requests.at(-1)
      const { status, headers, body } = await ask(requests, 'The launch code')
      expect(status).to.equal(403)
      expect(headers.get('x-error-code')).to.equal('guardrail_blocked')
      expect(body.error.message).to.equal('The request was blocked by the guardrail: Not for machines.')
      expect(sandbox.requests.at(-1)).to.equal(before)
      const record = await requests.call('GET', `/v1/requests/${headers.get('x-request-id')}`)
      expect(record.body.data.rule_trace[0]).to.include({ kind: 'guardrail', action: 'block' })
    })

    for (const [name, { url, body, textOf, deltaOf, streams }] of Object.entries(DIALECTS)) {
      it(`masks and blocks replies: ${name}`, async () => {
        const call = async (text: string) => {
          const headers = {
            authorization: `Bearer ${replies.demoKey}`,
            'content-type': 'application/json',
            'x-response-form': 'openai',
          }
          const request = { method: 'POST', headers, body: JSON.stringify(body('gpt-4o', text)) }
          return (await fetch(url(replies), request)).json() as Promise<Body>
        }
        const masked = await call('It is top secret')
        expect(textOf(masked)).to.contain('You said: "It is [gone]".')
        expect(JSON.stringify(masked)).not.to.contain('top secret')
        const blocked = await call('The launch code')
        expect(blocked.error.code).to.equal('guardrail_blocked')
        expect(JSON.stringify(blocked)).not.to.contain('launch')
      })

      if (!streams) continue
      it(`masks and blocks streams: ${name}`, async () => {
        const path = new URL(url(replies)).pathname
        const text = await stream(replies, path, body('gpt-4o', 'It is top secret'))
        expect(readRecords(text).map(deltaOf).join('')).to.contain('You said: "It is [gone]".')
        expect(text).not.to.contain('secret')
        const blocked = await stream(replies, path, body('gpt-4o', 'The launch code'))
        expect(blocked).to.contain('The reply was blocked by the guardrail: Not for machines.')
        expect(blocked).not.to.match(/launch|You said/)
        const allowed = readRecords(await stream(replies, path, body('gpt-4o', 'Hello')))
        expect(allowed.filter((record) => deltaOf(record) !== '')).to.have.length.greaterThan(3)
      })
    }

    it('is asked after the firewall has masked', async () => {
      const rule = firewallRuleBody({ pattern: 'launch code', replacement: 'l. c.' })
      const { body: made } = await requests.call('POST', '/v1/firewall-rules', rule)
      expect((await ask(requests, 'The launch code')).status).to.equal(200)
      await requests.call('DELETE', `/v1/firewall-rules/${made.data.id}`)
    })

    it('is not asked about simulations, which their answer says', async () => {
      const earlier = await scrape(requests)
      const { body } = await requests.call('POST', '/v1/simulate', chatBody('The launch code'))
      expect(body.data.outcome).to.equal('allowed')
      expect(body.data.warnings).to.deep.equal([
        {
          code: 'guardrail',
          message: 'The external guardrail is not called in simulations; it may block or mask the request.',
        },
      ])
      const { sum } = await scrape(requests)
      const calls = 'signalbox_guardrail_calls_total'
      expect(sum(calls)).to.equal(earlier.sum(calls))
    })

    it('counts and times its calls', async () => {
      const { sum } = await scrape(requests)
      for (const outcome of ['allow', 'mask', 'block'])
        expect(sum('signalbox_guardrail_calls_total', { phase: 'request', outcome })).to.be.greaterThan(0)
      expect(sum('signalbox_guardrail_duration_seconds_count', { phase: 'request' })).to.be.greaterThan(2)
    })
  })

  it('sends the texts with their roles and the secret, and no more', async () => {
    let received: Body
    const url = await listen(
      createServer(async (request, response) => {
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk)
        received = { headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) }
        response.end('{"action": "allow"}')
      }),
    )
    const gateway = await start({ url, phases: ['request'], secret_header: 'X-Guard' })
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
    ]
    const { headers } = await gateway.call('POST', CHAT, { model: 'gpt-4o', messages, stop: ['Hello'] })
    expect(received.headers['x-guard']).to.equal(SECRET)
    expect(received.headers).not.to.have.property('authorization')
    expect(received.body).to.deep.equal({
      version: 1,
      phase: 'request',
      request_id: headers.get('x-request-id'),
      user: { id: 1, plan: 'paid' },
      model: 'gpt-4o',
      texts: [
        { index: 0, role: null, text: 'Hello' },
        { index: 1, role: 'system', text: 'Be brief.' },
        { index: 2, role: 'user', text: 'Hello' },
      ],
    })
  })

  it('reads a compressed verdict behind 100 Continue, and closes connections with unread bytes', async () => {
    const provider = await startRawProvider()
    const verdict = (action: string) =>
      rawResponse(gzipSync(JSON.stringify({ action })), { 'content-encoding': 'gzip' })
    provider.respond(({ socket, index, body }) => {
      const own = verdict(body.texts[0].text === 'Bad' ? 'block' : 'allow')
      // The second call on a connection would get the verdict about an earlier text.
      const earlier = index === 0 ? Buffer.from('HTTP/1.1 100 Continue\r\n\r\n') : verdict('allow')
      socket.write(Buffer.concat([earlier, own]))
    })
    const gateway = await start({ url: provider.url, phases: ['request'] })
    expect((await ask(gateway, 'Hello')).status).to.equal(200)
    const { status, body } = await ask(gateway, 'Bad')
    expect(status, JSON.stringify(body)).to.equal(503)
    expect((await ask(gateway, 'Bad')).status).to.equal(403)
    expect(provider.sockets).to.have.lengthOf(2)
    provider.close()
  })

  describe('fails closed', () => {
    const answer =
      (status: number, body: string): RequestListener =>
      (_, response) => {
        response.writeHead(status).end(body)
      }
    const FAILURES: Readonly<Record<string, RequestListener>> = {
      timeout: () => {},
      error_status: answer(500, '{"action": "allow"}'),
      'malformed: no JSON': answer(200, 'allow'),
      'malformed: no action': answer(200, '{}'),
      'malformed: unknown action': answer(200, '{"action": "Allow"}'),
      'malformed: replacements with allow': answer(200, '{"action": "allow", "replacements": []}'),
      'malformed: mask without replacements': answer(200, '{"action": "mask"}'),
      'malformed: index out of range': answer(
        200,
        '{"action":"mask","replacements":[{"index":9,"text":""}]}',
      ),
      'malformed: index given twice': answer(
        200,
        '{"action":"mask","replacements":[{"index":0,"text":"a"},{"index":0,"text":"b"}]}',
      ),
      'malformed: action given twice': answer(200, '{"action":"block","action":"allow"}'),
      'malformed: action given twice, once escaped': answer(
        200,
        '{"action":"block","\\u0061ction" : "allow"}',
      ),
      'malformed: text given twice': answer(
        200,
        '{"action":"mask","replacements":[{"index":0,"text":"a","text":"b"}]}',
      ),
      'malformed: too large': answer(200, `{"action": "allow", "note": "${'x'.repeat(2000)}"}`),
      unreachable: (request) => {
        request.socket.destroy()
      },
    }
    let current: RequestListener
    let blocking: RunningGateway
    let replies: RunningGateway
    let allowing: RunningGateway
    before(async () => {
      const url = await listen(createServer((request, response) => current(request, response)))
      const options = { url, timeout_ms: 2000, max_answer_bytes: 1024, breaker_min_requests: 1000 }
      blocking = await start({ ...options, phases: ['request'] })
      replies = await start({ ...options, phases: ['reply'] })
      allowing = await start({ ...options, on_failure: 'allow' })
    })

    for (const [name, listener] of Object.entries(FAILURES)) {
      const [outcome = ''] = name.split(':')

      it(`on ${name}`, async () => {
        current = listener
        const labels = { phase: 'request', outcome }
        const earlier = (await scrape(blocking)).sum('signalbox_guardrail_calls_total', labels)
        // At the same time: each may wait for the timeout.
        const [blocked, whole, text, allowed, allowedText] = await Promise.all([
          ask(blocking, 'Hello'),
          ask(replies, 'Hello'),
          stream(replies, CHAT, chatBody('Hello')),
          ask(allowing, 'Hello'),
          stream(allowing, CHAT, chatBody('Hello')),
        ])
        expect(blocked.status).to.equal(503)
        expect(blocked.headers.get('x-error-code')).to.equal('guardrail_unavailable')
        expect(blocked.body.error.message).to.contain('The request could not be checked')
        expect(isOnDisk(blocking, blocked)).to.equal(true)
        const { sum } = await scrape(blocking)
        expect(sum('signalbox_guardrail_calls_total', labels)).to.equal(earlier + 1)
        expect(blocking.stderr()).to.contain('guardrail check failed')

        expect(whole.status).to.equal(503)
        expect(text).to.contain('The reply could not be checked').and.not.contain('You said')

        expect(allowed.body.choices[0].message.content).to.contain('You said')
        expect(allowed.body.signalbox.warnings).to.deep.equal([
          { code: 'guardrail', message: 'The request was not checked: the guardrail is unavailable.' },
          {
            code: 'guardrail',
            message: 'The reply was not checked: the guardrail is unavailable.',
            scope: 'response',
          },
        ])
        expect(allowedText).to.contain('[DONE]')
        for (const gateway of [blocking, replies, allowing]) expect(gateway.stderr()).not.to.contain(SECRET)
      })
    }

    it('on a text that is larger than the limit', async () => {
      const url = await listen(createGuardrailServer(SECRET))
      const gateway = await start({ url, max_request_bytes: 1024 })
      const { status, body } = await ask(gateway, 'x'.repeat(2000))
      expect(status).to.equal(403)
      expect(body.error.message).to.contain('larger than the guardrail checks')
      const limited = await start({ url, max_request_bytes: 1024, phases: ['reply'] })
      const text = await stream(limited, CHAT, chatBody('x'.repeat(2000)))
      expect(text).to.contain('larger than the guardrail checks').and.not.contain('xxx')
    })

    it('on a replacement that cannot be applied', async () => {
      const mask = '{"action": "mask", "replacements": [{"index": 0, "text": "x"}]}'
      const url = await listen(createServer(answer(200, mask)))
      const gateway = await start({ url, phases: ['request'] })
      const { status, body } = await ask(gateway, 'Hello', { seed: 123456789 })
      expect(status).to.equal(403)
      expect(body.error.message).to.contain('cannot be replaced')
    })

    it('while the circuit is open, without calls, for this user only', async () => {
      let calls = 0
      const url = await listen(
        createServer((_, response) => {
          calls += 1
          response.writeHead(500).end()
        }),
      )
      const gateway = await start({
        url,
        phases: ['request'],
        breaker_min_requests: 2,
        breaker_open_ms: 60_000,
      })
      for (let index = 0; index < 4; index++) expect((await ask(gateway, 'Hello')).status).to.equal(503)
      expect(calls).to.equal(2)
      const other = await newUser(gateway)
      await other.call('POST', CHAT, chatBody('Hello'))
      expect(calls).to.equal(3)
      const { sum } = await scrape(gateway)
      expect(sum('signalbox_guardrail_calls_total', { outcome: 'circuit_open' })).to.equal(2)
    })
  })

  it('aborts its call when the client disconnects', async () => {
    let called: () => void = () => {}
    let aborted: () => void = () => {}
    const hasCalled = new Promise<void>((resolve) => {
      called = resolve
    })
    const hasAborted = new Promise<void>((resolve) => {
      aborted = resolve
    })
    const url = await listen(
      createServer((_, response) => {
        response.on('close', aborted)
        called()
      }),
    )
    const gateway = await start({ url, timeout_ms: 60_000 })
    const controller = new AbortController()
    const request = fetch(gateway.url + CHAT, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatBody('Hello')),
      signal: controller.signal,
    }).catch(() => {})
    await hasCalled
    controller.abort()
    await Promise.all([request, hasAborted])
  })

  it('must be listed behind the firewall and before routing, with a URL without a password', async () => {
    const url = 'http://127.0.0.1:1/'
    const rejected = (plugin: object) =>
      withSettings(`plugins: { add: [${JSON.stringify({ use: 'guardrail-webhook', ...plugin })}] }\n`)
        .then((settings) => startGateway(settings))
        .then(
          () => expect.fail('the gateway started'),
          (error: Error) => error.message,
        )
    expect(await rejected({ options: { url } })).to.match(/guardrail-webhook.*routing|routing.*guardrail/)
    expect(await rejected({ before: 'firewall', options: { url } })).to.contain('firewall')
    expect(await rejected({ after: 'firewall', options: { url: 'http://a:b@c/' } })).to.contain('url')
    expect(await rejected({ after: 'firewall' })).to.contain('url')
  })
})

/** Whether the ledger's file has the record of an answer, without a request that has it written. */
function isOnDisk({ dataDir }: RunningGateway, { headers }: Answer): boolean {
  const ledger = new SqliteDatabase(path.join(dataDir, 'ledger.db'), { readonly: true })
  const found = ledger.prepare('SELECT 1 FROM requests WHERE request_id = ?').get(headers.get('x-request-id'))
  ledger.close()
  return found !== undefined
}
