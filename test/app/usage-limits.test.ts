import { expect } from 'chai'
import {
  askAsUser,
  limitUser,
  playStorm,
  STORM_TOKENS,
  stormUntilRefused,
  useRedisAndProvider,
  withProvider,
  withProviderAndRedis,
} from '../support/chat-storm.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { itInFull } from '../support/rounds.ts'
import {
  chunk,
  completionOf,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'
import { withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const USED = STORM_TOKENS.prompt + STORM_TOKENS.reply

const tokenHeaders = ({ headers }: Answer) => ({
  limit: headers.get('x-ratelimit-limit-tokens'),
  remaining: headers.get('x-ratelimit-remaining-tokens'),
  reset: headers.get('x-ratelimit-reset-tokens'),
})

/** No more tokens than the limit, and at least 95 % of it. */
async function expectExactTokens(gateways: readonly RunningGateway[], key: string, limit: number) {
  const isFinal = ({ status, body }: Answer) => status === 429 && body.error.retry_after > 1
  const answers = await stormUntilRefused(gateways, key, { clients: 64, isFinal })
  const served = answers.filter(({ status }) => status === 200)
  expect(answers.filter(({ status }) => status !== 200 && status !== 429)).to.deep.equal([])
  expect(served.length * USED).to.be.within(limit * 0.95, limit)
}

describe('usage limits', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let user: TestUser
  before(async () => {
    provider = await startScriptedProvider()
    gateway = await startGateway(withProvider(provider))
  })
  beforeEach(async () => {
    playStorm(provider)
    user = await newUser(gateway)
  })
  after(async () => {
    await gateway.stop()
    provider.close()
  })

  describe('tokens per minute', () => {
    it('are reserved, settled with what was used, and shown in headers', async () => {
      await limitUser(gateway, user.id, { tokens_per_minute: 1000 })
      const first = await askAsUser(gateway, user.key)
      expect(first.status).to.equal(200)
      expect(tokenHeaders(first)).to.include({ limit: '1000', reset: '1m0s' })
      const reserved = 1000 - Number(tokenHeaders(first).remaining)
      expect(reserved).to.be.within(100, 200)
      const second = await askAsUser(gateway, user.key)
      expect(Number(tokenHeaders(second).remaining)).to.equal(1000 - USED - reserved)
    })

    it('allow 64 clients as many tokens as the limit, and tell the others when to retry', async () => {
      await limitUser(gateway, user.id, { tokens_per_minute: 6000 })
      await expectExactTokens([gateway], user.key, 6000)
      const { status, headers, body } = await askAsUser(gateway, user.key)
      expect(status).to.equal(429)
      expect(headers.get('x-error-code')).to.equal('token_limit_exceeded')
      expect(body.error).to.include({ type: 'rate_limit_error', code: 'token_limit_exceeded' })
      expect(headers.get('retry-after')).to.equal(String(body.error.retry_after))
      expect(body.error.retry_after).to.be.within(2, 60)
    })

    it('refuse a request that could never fit, which clients do not retry', async () => {
      await limitUser(gateway, user.id, { tokens_per_minute: 1000 })
      const { status, headers, body } = await askAsUser(gateway, user.key, { max_tokens: null })
      expect(status).to.equal(429)
      expect(body.error.message).to.match(/^The request may use 16\d\d\d tokens, .* Set max_tokens/)
      expect(headers.get('x-should-retry')).to.equal('false')
      expect(headers.has('retry-after')).to.equal(false)
    })

    it('count streams and aborted streams', async () => {
      await limitUser(gateway, user.id, { tokens_per_minute: 1000 })
      const usage = { prompt_tokens: 10, completion_tokens: 40 }
      const chunks = [chunk({ content: 'Hi' }), { ...chunk({}, 'stop'), choices: [], usage }]
      provider.play({ chunks: [chunks[0] as object, chunk({}, 'stop'), chunks[1] as object] })
      const ask = (signal?: AbortSignal) =>
        fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${user.key}` },
          body: JSON.stringify({ model: 'gpt-4o', stream: true, max_tokens: 100, messages: MESSAGES }),
          ...(signal && { signal }),
        })
      const first = await ask()
      const reserved = 1000 - Number(first.headers.get('x-ratelimit-remaining-tokens'))
      expect(await first.text()).to.contain('[DONE]')
      const second = await ask()
      expect(Number(second.headers.get('x-ratelimit-remaining-tokens'))).to.equal(1000 - 50 - reserved)
      await second.text()

      const abort = new AbortController()
      provider.play({ chunks: Array(500).fill(chunks[0]), delayMs: 20 })
      await ask(abort.signal)
      abort.abort()
      playStorm(provider)
      await gateway.wrote('client_disconnected')
      const last = await ask()
      await last.text()
      // The provider has not reported what it did, so the text that it sent is counted.
      const aborted = 1000 - 100 - reserved - Number(last.headers.get('x-ratelimit-remaining-tokens'))
      expect(aborted).to.be.within(1, 60)
    })

    it('are not used up by requests that reach no provider', async () => {
      await limitUser(gateway, user.id, { tokens_per_minute: 1000 })
      for (let request = 0; request < 20; request++)
        expect((await askAsUser(gateway, user.key, { model: 'no-such-model' })).status).to.equal(404)
      expect((await askAsUser(gateway, user.key)).status).to.equal(200)
    })
  })

  describe('requests at the same time', () => {
    it('are refused above the limit, and admitted when one has ended', async () => {
      await limitUser(gateway, user.id, { max_concurrent: 2 })
      let release: () => void = () => undefined
      const until = new Promise<void>((resolve) => {
        release = resolve
      })
      provider.play({ body: completionOf(1, 1), until })
      const running = [askAsUser(gateway, user.key), askAsUser(gateway, user.key)]
      let refused: Answer | undefined
      await waitUntil(async () => {
        refused = await askAsUser(gateway, user.key)
        return refused.status === 429
      })
      expect(refused?.body.error).to.include({ code: 'concurrency_limit_exceeded', retry_after: 1 })
      expect(refused?.headers.get('retry-after')).to.equal('1')
      release()
      for (const { status } of await Promise.all(running)) expect(status).to.equal(200)
      expect((await askAsUser(gateway, user.key)).status).to.equal(200)
    })

    it('never refuse a client that waits for each answer', async () => {
      await limitUser(gateway, user.id, { max_concurrent: 1 })
      for (let request = 0; request < 20; request++)
        expect((await askAsUser(gateway, user.key)).status).to.equal(200)
    })

    it('end when the client of a stream disconnects', async () => {
      await limitUser(gateway, user.id, { max_concurrent: 1 })
      provider.play({ chunks: Array(500).fill(chunk({ content: 'Hi' })), delayMs: 20 })
      const abort = new AbortController()
      await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${user.key}` },
        body: JSON.stringify({ model: 'gpt-4o', stream: true, messages: MESSAGES }),
        signal: abort.signal,
      })
      expect((await askAsUser(gateway, user.key)).status).to.equal(429)
      abort.abort()
      playStorm(provider)
      await waitUntil(async () => (await askAsUser(gateway, user.key)).status === 200)
    })
  })

  describe('of a user', () => {
    it('are shown, audited, and those of the plan again when a change omits them', async () => {
      const limits = { tokens_per_minute: 5000, max_concurrent: 3 }
      expect((await limitUser(gateway, user.id, limits)).body.data).to.include(limits)
      const { data } = (await gateway.call('GET', '/admin/users', undefined, AS_ADMIN)).body
      expect(data.find(({ id }: { id: number }) => id === user.id)).to.include(limits)
      const [latest] = (await user.call('GET', '/v1/audit')).body.data
      expect(latest).to.deep.include({ kind: 'user', event: 'limit_changed' })
      expect(latest.after).to.include(limits)

      const { body } = await limitUser(gateway, user.id, { max_concurrent: null })
      expect(body.data).to.include({ max_concurrent: null }).and.not.to.have.property('tokens_per_minute')
    })

    it('survive a restart', async () => {
      const first = await startGateway(withProvider(provider))
      const { id, key } = await newUser(first)
      await limitUser(first, id, { tokens_per_minute: 4321 })
      await first.stop()
      const second = await startGateway(withProvider(provider), first)
      expect(tokenHeaders(await askAsUser(second, key)).limit).to.equal('4321')
      await second.stop()
    })

    for (const wrong of [0, -1, 1.5, '60', true]) {
      it(`are refused as ${JSON.stringify(wrong)}`, async () => {
        for (const name of ['tokens_per_minute', 'max_concurrent']) {
          const { status, body } = await limitUser(gateway, user.id, { [name]: wrong })
          expect(status).to.equal(400)
          expect(body.error.message).to.contain(name)
        }
      })
    }
  })

  it('of a plan apply to its users without limits of their own', async () => {
    const limits = 'tokens_per_minute: { free: 700, paid: null }, max_concurrent: { free: 1, paid: null }'
    const settings = await withSettings(`rate_limits: { ${limits} }`)
    const limited = await startGateway({ ...withProvider(provider), ...settings })
    const [free, paid] = [await newUser(limited, 'free'), await newUser(limited, 'paid')]
    expect(tokenHeaders(await askAsUser(limited, free.key)).limit).to.equal('700')
    expect(tokenHeaders(await askAsUser(limited, paid.key)).limit).to.equal(null)
    await limitUser(limited, free.id, { tokens_per_minute: null })
    expect(tokenHeaders(await askAsUser(limited, free.key)).limit).to.equal(null)
    await limited.stop()
  })
})

describe('usage limits in Redis', function () {
  this.timeout(180_000)
  const started = useRedisAndProvider()

  itInFull('are exact over two gateways', async () => {
    const environment = await withProviderAndRedis(started.provider, started.redis)
    const first = await startGateway(environment)
    const user = await newUser(first)
    await limitUser(first, user.id, { tokens_per_minute: 6000, max_concurrent: 50 })
    const second = await startGateway(environment, first)
    await expectExactTokens([first, second], user.key, 6000)
    await Promise.all([first.stop(), second.stop()])
    const slots = await started.redis.client.keys('signalbox:usage:slots-*')
    expect(slots, 'no slot is left behind').to.deep.equal([])
  })

  it('are decided by on_redis_failure while Redis is away', async () => {
    const settings = await withSettings(
      'rate_limits: { requests_per_minute: { free: null, paid: null }, ' +
        'on_redis_failure: { free: refuse, paid: allow } }',
    )
    const REDIS_URL = 'redis://:a-redis-password@127.0.0.1:9'
    const gateway = await startGateway({ ...withProvider(started.provider), ...settings, REDIS_URL })
    const [free, paid] = [await newUser(gateway, 'free'), await newUser(gateway, 'paid')]
    for (const { id } of [free, paid]) await limitUser(gateway, id, { tokens_per_minute: 5000 })
    const refused = await askAsUser(gateway, free.key)
    expect(refused.status).to.equal(503)
    expect(refused.body.error).to.include({ code: 'rate_limit_unavailable', retry_after: 1 })
    const served = await askAsUser(gateway, paid.key)
    expect(served.status).to.equal(200)
    expect(tokenHeaders(served).limit).to.equal(null)
    await gateway.stop()
  })
})

const MESSAGES = [{ role: 'user', content: 'Hello' }]
