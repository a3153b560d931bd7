import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { DIALECTS } from '../support/dialects.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { type Heap, INSPECTED, openHeap } from '../support/heap.ts'
import { type HoldingProvider, startHoldingProvider, UNANSWERED } from '../support/holding-provider.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { openResponseSocket } from '../support/response-socket.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const MIB = 2 ** 20

const NAMES = Object.keys(DIALECTS) as (keyof typeof DIALECTS)[]

/** The body of a request that the provider does not answer. */
function bodyOf(name: keyof typeof DIALECTS, bytes: number, more = ''): Buffer {
  const text = `${UNANSWERED}${more}${'a b '.repeat(bytes / 4)}`
  return Buffer.from(JSON.stringify(DIALECTS[name].body('gpt-4o', text)))
}

describe('large bodies of requests in flight', () => {
  let provider: HoldingProvider
  let gateway: GatewayProcess
  let user: TestUser
  let other: TestUser
  const sentRequests = new Set<ReturnType<typeof request>>()

  async function start(settings: string, environment: Record<string, string>): Promise<void> {
    provider = await startHoldingProvider()
    gateway = await startGatewayProcess(
      {
        ...(await withSettings(UNLIMITED + settings)),
        ...{ OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: provider.url },
        ...environment,
      },
      { isOptimized: true },
    )
    user = await newUser(gateway)
    other = await newUser(gateway)
  }

  async function stop(): Promise<void> {
    leave()
    await gateway?.stop('SIGKILL')
    provider?.close()
  }

  /** Sends the body once the gateway asks for it. Resolves with the response; 'ended' if there is none. */
  function post(body: Buffer, options: SendOptions = {}): Promise<Refusal | 'ended'> {
    const { name = 'chat completions', key = user.key, encoding, isChunked = false } = options
    const sent = request(DIALECTS[name].url(gateway as RunningGateway), {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        expect: '100-continue',
        ...(!isChunked && { 'content-length': body.length }),
        ...(encoding && { 'content-encoding': encoding }),
      },
    })
    sentRequests.add(sent)
    // The gateway closes the connection behind a refusal.
    sent.on('error', () => undefined)
    sent.once('continue', () => sent.end(body))
    sent.flushHeaders()
    return once(sent, 'response').then(
      ([response]) => readRefusal(response),
      () => 'ended' as const,
    )
  }

  /** As `post`, but resolves when the provider has the request, too. One at a time. */
  function send(body: Buffer, options?: SendOptions): Promise<Refusal | 'ended' | 'held'> {
    const held = provider.received(provider.receivedCount() + 1).then(() => 'held' as const)
    return Promise.race([held, post(body, options)])
  }

  /** Ends the requests that are held. */
  function leave(): void {
    for (const sent of sentRequests) sent.destroy()
    sentRequests.clear()
  }

  /** The gateway may not know yet that other clients have disconnected. */
  async function sendUntilHeld(body: Buffer, options: SendOptions = {}): Promise<void> {
    let outcome = await send(body, options)
    while (outcome !== 'held' && outcome !== 'ended' && outcome.status === 503)
      outcome = await send(body, options)
    expect(outcome).to.equal('held')
  }

  async function expectServed({ key }: TestUser): Promise<void> {
    const { status } = await fetch(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(status).to.equal(200)
    const small = bodyOf('chat completions', 1000)
    expect(await send(small, { key })).to.equal('held')
  }

  describe('with limits for two and three of them', () => {
    const BODY = bodyOf('chat completions', 4 * MIB)
    const limits = `user_bodies_bytes: ${9 * MIB}, bodies_bytes: ${13 * MIB}`
    let heap: Heap

    before(async () => {
      await start(`limits: { ${limits} }\n`, INSPECTED)
      heap = await openHeap(gateway.stderr())
    })
    afterEach(leave)
    after(async () => {
      heap?.close()
      await stop()
    })

    it('are limited per user, in each dialect, and others are served', async () => {
      for (let count = 0; count < 2; count++) expect(await send(BODY)).to.equal('held')
      for (const name of NAMES) {
        const refused = await send(bodyOf(name, 4 * MIB), { name })
        expect(refused, name).to.deep.include({ status: 503, code: 'memory_limit_reached', retryAfter: '1' })
        const { body } = refused as Refusal
        expect(body.error.message, name).to.contain("bodies of the user's requests in flight")
        expect(body.type, name).to.equal(name === 'messages' ? 'error' : undefined)
      }
      await expectServed(user)
      await expectServed(other)
    })

    it('are limited together', async () => {
      await sendUntilHeld(BODY)
      await sendUntilHeld(BODY)
      await sendUntilHeld(BODY, { key: other.key })
      const refused = await send(BODY, { key: other.key })
      expect(refused).to.deep.include({ status: 503, code: 'memory_limit_reached' })
      expect((refused as Refusal).body.error.message).to.contain('bodies of all requests in flight')
      await expectServed(other)
    })

    it('count as what is decompressed, and as what arrives if they have no length', async () => {
      await sendUntilHeld(gzipSync(BODY), { encoding: 'gzip' })
      await sendUntilHeld(BODY, { isChunked: true })
      const expected = { status: 503, code: 'memory_limit_reached' }
      expect(await send(BODY)).to.deep.include(expected)
      expect(await send(gzipSync(BODY), { encoding: 'gzip' })).to.deep.include(expected)
      expect(await send(BODY, { isChunked: true })).to.deep.include(expected)
    })

    it('count if they are messages of a WebSocket connection', async () => {
      const { socket, send: sendMessage } = await openResponseSocket(gateway.url, user.key)
      await sendUntilHeld(BODY)
      await sendUntilHeld(BODY)
      const text = `a b `.repeat(MIB)
      const refused = await sendMessage(
        JSON.stringify({ type: 'response.create', model: 'gpt-4o', input: text }),
      )
      expect(refused).to.deep.include({ type: 'error', status: 503 })
      expect(JSON.stringify(refused)).to.contain("bodies of the user's requests in flight")
      socket.terminate()
    })

    it('are refused for good if they alone exceed the limit, also by their values', async () => {
      const values = Buffer.from(`{"model":"gpt-4o","messages":[${'[],'.repeat(400_000)}[]]}`)
      for (const encoding of [undefined, 'gzip']) {
        const body = encoding === undefined ? values : gzipSync(values)
        const refused = await send(body, { encoding, key: other.key })
        expect(refused).to.deep.include({ status: 413, code: 'body_too_large', retryAfter: undefined })
      }
      const large = bodyOf('chat completions', 10 * MIB)
      expect(await send(large)).to.deep.include({ status: 413, code: 'body_too_large' })
    })

    it('take at most three times their size once they are sent, also if they are masked', async () => {
      await sendUntilHeld(bodyOf('chat completions', 1000))
      const mask = firewallRuleBody({ pattern: 'Zanzibar' })
      expect((await other.call('POST', '/v1/firewall-rules', mask)).status).to.equal(201)
      for (const { key } of [user, other]) {
        // The model of `/route` is chosen by the length of the prompt.
        for (const name of NAMES.filter((name) => name !== 'route')) {
          const body = bodyOf(name, 8 * MIB, 'To Zanzibar')
          const before = await heap.weigh()
          await sendUntilHeld(body, { name, key })
          const taken = (await heap.weigh()) - before
          // Two MiB are noise.
          expect(taken, name).to.be.within(8, 26)
          leave()
          await waitUntil(async () => (await heap.weigh()) < before + 4)
        }
      }
    })
  })

  describe('with a heap that could not hold them', () => {
    const BODY = bodyOf('chat completions', 18_000_000)

    before(() => start('', { NODE_OPTIONS: '--max-old-space-size=200' }))
    after(stop)

    it('do not end the process', async () => {
      const statuses: unknown[] = []
      const posted = Array.from({ length: 16 }, () => post(BODY))
      await new Promise<void>((resolve) => {
        for (const responded of posted)
          void responded.then((outcome) => {
            statuses.push(outcome === 'ended' ? outcome : outcome.status)
            if (statuses.length === 15) resolve()
          })
      })
      expect(statuses).to.deep.equal(Array(15).fill(503))
      await provider.received(1)
      await expectServed(other)
    })
  })
})

interface SendOptions {
  readonly name?: keyof typeof DIALECTS
  readonly key?: string
  readonly encoding?: string | undefined
  readonly isChunked?: boolean
}

interface Refusal {
  readonly status: number | undefined
  readonly code: unknown
  readonly retryAfter: string | undefined
  readonly body: { readonly type?: string; readonly error: { readonly message: string } }
}

async function readRefusal(response: IncomingMessage): Promise<Refusal> {
  const { statusCode: status, headers } = response
  const body = (await json(response)) as Refusal['body']
  return { status, code: headers['x-error-code'], retryAfter: headers['retry-after'], body }
}
