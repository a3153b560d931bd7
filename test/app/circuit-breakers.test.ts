import { expect } from 'chai'
import OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { chatBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { createHold } from '../support/hold.ts'
import { scrapeUntil } from '../support/metrics.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { providersAt } from '../support/providers.ts'
import { completion, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const GPT = 'gpt-4o-mini'

const FAILING = 'Hello [[sandbox:status=500]]'

describe('circuit breakers', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  beforeEach(async () => {
    sandbox = await startSandbox({ record: 100 })
    const settings = await withSettings(`${UNLIMITED}breaker: { open_ms: 600000 }\n`)
    gateway = await startGateway({ ...providersAt(sandbox, ['openai']), ...settings })
  })
  afterEach(async () => {
    await gateway.stop()
    await sandbox.close()
  })

  /** Returns the status and the error code, if there is one. */
  async function ask(user: TestUser, content: string, model = GPT) {
    const messages = [{ role: 'user', content }]
    const { status, headers } = await user.call('POST', '/v1/chat/completions', { model, messages })
    return [status, headers.get('x-error-code')].filter((value) => value !== null)
  }

  const askTimes = (times: number, user: TestUser, content: string) =>
    Promise.all(Array.from({ length: times }, () => ask(user, content)))
  const repeat = <Value>(times: number, value: Value) => Array<Value>(times).fill(value)

  it("leave other users served while one user's calls fail, with the retries of any client", async () => {
    const [alice, bob] = [await newUser(gateway), await newUser(gateway)]
    const retrying = new OpenAI({
      baseURL: `${gateway.url}/v1`,
      apiKey: alice.key,
      maxRetries: 2,
      // This client retries whatever it is told.
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        const headers = new Headers(response.headers)
        headers.set('x-should-retry', 'true')
        headers.set('retry-after-ms', '1')
        return new Response(response.body, { status: response.status, headers })
      },
    })
    const call = () =>
      retrying.chat.completions
        .create({ model: GPT, messages: [{ role: 'user', content: FAILING }] })
        .catch((error: InstanceType<typeof OpenAI.APIError>) => error.code)

    expect(await call()).to.equal('provider_error')
    expect(sandbox.requests).to.have.length(6)
    for (let time = 0; time < 4; time++) await call()
    expect(await ask(alice, 'Hello')).to.deep.equal([503, 'model_unavailable'])
    expect(await ask(bob, 'Hello')).to.deep.equal([200])
    expect(await ask(bob, 'Hello', 'auto')).to.deep.equal([200])
    expect(await ask(alice, 'Hello', 'openai:another-name')).to.deep.equal([200])
  })

  it('show each caller the cause first, and tell clients not to retry', async () => {
    const alice = await newUser(gateway)
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: alice.key, maxRetries: 2 })
    const error = await client.chat.completions
      .create({ model: GPT, messages: [{ role: 'user', content: FAILING }] })
      .catch((thrown) => thrown)
    expect(error).to.include({ status: 502, code: 'provider_error' })
    expect(error.headers.get('x-should-retry')).to.equal('false')
    // The gateway's own two tries.
    expect(sandbox.requests).to.have.length(2)
  })

  it('open for everybody when three callers fail', async () => {
    const users = [await newUser(gateway), await newUser(gateway), await newUser(gateway)]
    for (const user of users) await askTimes(2, user, FAILING)
    const bystander = await newUser(gateway)
    expect(await ask(bystander, 'Hello')).to.deep.equal([503, 'model_unavailable'])
    expect(await ask(bystander, 'Hello', 'openai:another-name')).to.deep.equal([200])
  })

  it('stay closed for others when two callers fail often', async () => {
    const users = [await newUser(gateway), await newUser(gateway)]
    for (const user of users) await askTimes(8, user, FAILING)
    expect(await ask(await newUser(gateway), 'Hello')).to.deep.equal([200])
  })

  it('stay closed for others when one of several callers fails much more than the rest', async () => {
    const [alice, bob, carol, dave] = await Promise.all(Array.from({ length: 4 }, () => newUser(gateway)))
    for (const user of [bob!, carol!, dave!]) await askTimes(4, user, 'Hello')
    for (const user of [bob!, carol!]) await ask(user, FAILING)
    await askTimes(20, alice!, FAILING)
    for (const user of [bob!, carol!, dave!]) expect(await ask(user, 'Hello')).to.deep.equal([200])
  })

  it('do not count requests that the provider refuses', async () => {
    const alice = await newUser(gateway)
    for (const status of [400, 413, 422]) {
      const answers = await askTimes(8, alice, `Hello [[sandbox:status=${status}]]`)
      expect(answers).to.deep.equal(repeat(8, [status === 413 ? 413 : 400, 'provider_refused']))
    }
    expect(await ask(alice, 'Hello')).to.deep.equal([200])
  })

  it('do not count requests that clients cancel', async () => {
    const alice = await newUser(gateway)
    for (let time = 0; time < 8; time++) {
      const client = new AbortController()
      const sent = sandbox.next()
      const call = fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        signal: client.signal,
        headers: { authorization: `Bearer ${alice.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: GPT, messages: [{ role: 'user', content: '[[sandbox:hang]]' }] }),
      }).catch(() => undefined)
      await sent
      client.abort()
      await call
    }
    const cancelled = { provider: 'openai', outcome: 'cancelled' }
    await scrapeUntil(gateway, ({ sum }) => sum('signalbox_provider_attempts_total', cancelled) === 8)
    expect(await ask(alice, 'Hello')).to.deep.equal([200])
  })

  it('open at once for everybody when the connection is refused', async () => {
    const [alice, bob] = [await newUser(gateway), await newUser(gateway)]
    await sandbox.close()
    expect(await ask(alice, 'Hello')).to.deep.equal([502, 'provider_unreachable'])
    expect(await ask(bob, 'Hello')).to.deep.equal([503, 'model_unavailable'])
  })

  it('are counted by the metrics, for all callers and for single ones', async () => {
    const alice = await newUser(gateway)
    await askTimes(5, alice, FAILING)
    const open = { provider: 'openai', state: 'open' }
    const metrics = await scrapeUntil(
      gateway,
      ({ sum }) => sum('signalbox_provider_caller_breakers', open) === 1,
    )
    expect(metrics.sum('signalbox_provider_breakers', open)).to.equal(0)
    for (const user of [await newUser(gateway), await newUser(gateway)]) await ask(user, FAILING)
    await scrapeUntil(gateway, ({ sum }) => sum('signalbox_provider_breakers', open) === 1)
  })
})

describe('a half-open circuit', () => {
  it('lets one request probe the model, and closes when it succeeds', async () => {
    const provider = await startScriptedProvider()
    const gateway = await startGateway({ ...(await withOneModel(provider)), ONLY_API_KEY: 'provider-key' })
    const ask = async () =>
      (await gateway.call('POST', '/v1/chat/completions', { ...chatBody('Hello'), model: 'auto' })).status

    provider.play({ status: 500, body: {} })
    expect(await ask()).to.equal(503)
    const halfOpen = { provider: 'only', state: 'half_open' }
    await scrapeUntil(gateway, ({ sum }) => sum('signalbox_provider_caller_breakers', halfOpen) === 1)
    const { released, release } = createHold()
    const failed = provider.last()
    provider.play({ body: completion({ content: 'Hi' }), until: released })
    const probe = ask()
    await waitUntil(() => provider.last() !== failed)
    expect(await Promise.all([ask(), ask()])).to.deep.equal([503, 503])
    release()
    expect(await probe).to.equal(200)
    expect(await Promise.all([ask(), ask()])).to.deep.equal([200, 200])
    await gateway.stop()
    provider.close()
  })
})

/** One model, which automatic choices leave out while its circuit is open. */
function withOneModel({ url }: ScriptedProvider) {
  const model = {
    ...{ id: 'single', provider: 'only', context: 100_000, max_output: 1000, quality: 50, latency_ms: 100 },
    price: { input: 1, output: 1 },
    capabilities: { tools: false, images: false, json: 'none' },
  }
  return withSettings(
    JSON.stringify({
      providers: { only: { format: 'openai', base_url: url } },
      models: [model],
      breaker: { min_requests: 1, open_ms: 800 },
    }),
  )
}
