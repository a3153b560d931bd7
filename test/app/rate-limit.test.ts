import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { makeFolder } from '../support/folders.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { addLimitedUser, limitHeaders } from '../support/limited-user.ts'
import { type RunningRedis, requireRedis } from '../support/redis.ts'
import { itInFull, sample } from '../support/rounds.ts'
import { PATIENT_WITH_REDIS, withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

/** The settings as shipped, which limit requests. */
const AS_SHIPPED = { CONFIG: '' }

/** 64 concurrent clients with 5 requests each, over all gateways. Returns how many requests were allowed. */
async function storm(gateways: readonly RunningGateway[], get: (at: RunningGateway) => Promise<Answer>) {
  const statuses: number[] = []
  const client = async (number: number) => {
    for (let request = 0; request < 5; request++) {
      const gateway = gateways[(number + request) % gateways.length] as RunningGateway
      statuses.push((await get(gateway)).status)
    }
  }
  await Promise.all(Array.from({ length: 64 }, (_, number) => client(number)))
  expect(statuses.filter((status) => status !== 200 && status !== 429)).to.deep.equal([])
  return statuses.filter((status) => status === 200).length
}

describe('the rate limit', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway(AS_SHIPPED)
  })
  after(() => gateway.stop())

  it('is 60 requests per minute on the free plan, shown on every response', async () => {
    const user = await addLimitedUser(gateway, 'free')
    const first = await user.get()
    expect(limitHeaders(first)).to.deep.equal({ limit: '60', remaining: '59', reset: '1m0s' })
    const missing = await gateway.call('GET', '/v1/models/none', undefined, user.headers)
    expect(missing.status).to.equal(404)
    expect(limitHeaders(missing)).to.include({ limit: '60', remaining: '58' })
  })

  it('counts and shows requests to unknown paths, and of unsupported methods', async () => {
    const user = await addLimitedUser(gateway, 'free')
    const at = (method: string, path: string, headers: Record<string, string> = user.headers) =>
      gateway.call(method, path, undefined, headers)
    const unknown = await at('GET', '/v1/assistants')
    expect(unknown.status).to.equal(404)
    expect(limitHeaders(unknown)).to.deep.equal({ limit: '60', remaining: '59', reset: '1m0s' })
    const [key = ''] = user.headers.authorization.split(' ').slice(1)
    const anthropic = await at('POST', '/v1/messages/batches', { authorization: '', 'x-api-key': key })
    expect([anthropic.status, anthropic.body.type]).to.deep.equal([404, 'error'])
    expect(limitHeaders(anthropic)).to.include({ remaining: '58' })
    const wrongMethod = await at('DELETE', '/v1/models')
    expect(wrongMethod.status).to.equal(405)
    expect(limitHeaders(wrongMethod)).to.include({ remaining: '57' })
    await user.change({ requests_per_minute: 1 })
    expect((await at('GET', '/v1/assistants')).status).to.equal(429)
  })

  it('rejects invalid keys on unknown paths, too: the headers would tell valid ones', async () => {
    const { status, headers } = await gateway.call('GET', '/v1/assistants', undefined, {
      authorization: `Bearer tr_${'x'.repeat(43)}`,
    })
    expect([status, headers.has('x-ratelimit-limit-requests')]).to.deep.equal([401, false])
    for (const other of [{ authorization: 'Bearer sk-1' }, { authorization: '' }, AS_ADMIN])
      expect((await gateway.call('GET', '/v1/assistants', undefined, other)).status).to.equal(404)
  })

  it('is 600 on the paid plan', async () => {
    expect(limitHeaders(await (await addLimitedUser(gateway, 'paid')).get()).limit).to.equal('600')
  })

  it('allows 64 clients of one user exactly as many requests as the limit', async () => {
    const user = await addLimitedUser(gateway, 'free')
    expect(await storm([gateway], user.get)).to.equal(60)
    const { status, headers, body } = await user.get()
    expect(status).to.equal(429)
    expect(body.error).to.include({ type: 'rate_limit_error', http_status: 429 })
    expect(body.error.retry_after).to.be.a('number').within(1, 60)
    expect(headers.get('retry-after')).to.equal(String(body.error.retry_after))
    expect(headers.get('x-ratelimit-remaining-requests')).to.equal('0')
  })

  it('counts requests per user, over all endpoints', async () => {
    const [ada, bob] = [await addLimitedUser(gateway, 'paid'), await addLimitedUser(gateway, 'paid')]
    await ada.change({ requests_per_minute: 3 })
    await ada.get()
    await gateway.call('GET', '/v1/routing-rules', undefined, ada.headers)
    expect((await ada.chat()).status).to.equal(200)
    expect((await ada.chat()).status).to.equal(429)
    expect((await bob.chat()).status).to.equal(200)
  })

  it('applies to streams, which have the headers too', async () => {
    const user = await addLimitedUser(gateway, 'paid')
    await user.change({ requests_per_minute: 1 })
    const ask = () =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...user.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-4o', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
      })
    const stream = await ask()
    expect(stream.headers.get('x-ratelimit-remaining-requests')).to.equal('0')
    expect(await stream.text()).to.contain('[DONE]')
    expect((await ask()).status).to.equal(429)
  })

  it('refuses before the body is parsed, in the format of the endpoint', async () => {
    const user = await addLimitedUser(gateway, 'paid')
    await user.change({ requests_per_minute: 1 })
    await user.get()
    const chat = await gateway.call('POST', '/v1/chat/completions', '{not json', user.headers)
    expect(chat.status).to.equal(429)
    expect(chat.body.error).to.include({ code: 'rate_limit_exceeded', type: 'rate_limit_error', param: null })
    const direct = await fetch(`${gateway.routeUrl}/route`, {
      method: 'POST',
      headers: user.headers,
    })
    expect(direct.status).to.equal(429)
    const { error } = (await direct.json()) as { error: object }
    expect(error).to.have.all.keys('type', 'message', 'code', 'retry_after')
    expect(error).to.include({ type: 'rate_limit_error', code: 'rate_limit_exceeded' })
  })

  it('is RateLimitError in the OpenAI SDK', async () => {
    const user = await addLimitedUser(gateway, 'paid')
    await user.change({ requests_per_minute: 1 })
    await user.get()
    const client = gateway.openai(user.headers.authorization.slice('Bearer '.length))
    const error = await client.models.list().then(
      () => expect.fail(),
      (thrown) => thrown,
    )
    expect(error.constructor.name).to.equal('RateLimitError')
  })

  it('does not count requests without a valid key', async () => {
    const { status, headers } = await gateway.call('GET', '/v1/models', undefined, {
      authorization: 'Bearer no',
    })
    expect(status).to.equal(401)
    expect(headers.has('x-ratelimit-limit-requests')).to.equal(false)
  })
})

describe("a user's own limit", () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway(AS_SHIPPED)
  })
  after(() => gateway.stop())

  it("overrides the plan's limit, and is shown", async () => {
    const user = await addLimitedUser(gateway, 'free')
    const { status, body } = await user.change({ requests_per_minute: 7 })
    expect(status).to.equal(200)
    expect(body.data).to.include({ plan: 'free', requests_per_minute: 7 })
    expect(limitHeaders(await user.get()).limit).to.equal('7')
    const { data } = (await gateway.call('GET', '/admin/users', undefined, AS_ADMIN)).body
    expect(data.find(({ id }: { id: number }) => id === user.id)).to.include({ requests_per_minute: 7 })
  })

  it('may be unlimited', async () => {
    const user = await addLimitedUser(gateway, 'free')
    expect((await user.change({ requests_per_minute: null })).body.data.requests_per_minute).to.equal(null)
    expect(limitHeaders(await user.get())).to.deep.equal({ limit: null, remaining: null, reset: null })
    // One more than the plan allows.
    const answers = await Promise.all(Array.from({ length: 61 }, user.get))
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200))
  })

  it("is replaced by the plan's limit when a change omits it", async () => {
    const user = await addLimitedUser(gateway, 'free')
    await user.change({ requests_per_minute: 7 })
    const { body } = await user.change({ plan: 'paid' })
    expect(body.data).to.include({ plan: 'paid' }).and.not.to.have.property('requests_per_minute')
    expect(limitHeaders(await user.get()).limit).to.equal('600')
  })

  it('can be changed together with the plan', async () => {
    const user = await addLimitedUser(gateway, 'free')
    const { body } = await user.change({ plan: 'paid', requests_per_minute: 9 })
    expect(body.data).to.include({ plan: 'paid', requests_per_minute: 9 })
  })

  it('applies from the next request, also for users over the former limit', async () => {
    const user = await addLimitedUser(gateway, 'free')
    await user.change({ requests_per_minute: 1 })
    await user.get()
    expect((await user.get()).status).to.equal(429)
    await user.change({ requests_per_minute: 10 })
    expect((await user.get()).status).to.equal(200)
  })

  it('survives a restart', async () => {
    const first = await startGateway(AS_SHIPPED)
    const user = await addLimitedUser(first, 'free')
    await user.change({ requests_per_minute: 8 })
    await first.stop()
    const second = await startGateway(AS_SHIPPED, first)
    expect(limitHeaders(await user.get(second)).limit).to.equal('8')
    await second.stop()
  })

  for (const wrong of [0, -1, 1.5, '60', true]) {
    it(`is refused as ${JSON.stringify(wrong)}`, async () => {
      const { status, body } = await (await addLimitedUser(gateway, 'free')).change({
        requests_per_minute: wrong,
      })
      expect(status).to.equal(400)
      expect(body.error.message).to.contain('requests_per_minute')
    })
  }
})

describe('limits in the settings', () => {
  it('are per plan, and null is unlimited', async () => {
    const gateway = await startGateway(
      await withSettings('rate_limits: { requests_per_minute: { free: 2, paid: null } }'),
    )
    expect(limitHeaders(await (await addLimitedUser(gateway, 'free')).get()).limit).to.equal('2')
    expect(limitHeaders(await (await addLimitedUser(gateway, 'paid')).get()).limit).to.equal(null)
    await gateway.stop()
  })
})

describe('the rate limit in Redis', () => {
  let redis: RunningRedis
  let environment: Record<string, string>
  before(async function () {
    redis = await requireRedis(this, 'a-redis-password')
    environment = { ...(await withSettings(`rate_limits: { ${PATIENT_WITH_REDIS} }`)), REDIS_URL: redis.url }
  })
  // Users of different data folders have the same ids.
  beforeEach(() => redis.client.flushall())
  after(() => redis?.stop())

  const endWindows = async () => {
    const list = () => redis.client.keys('signalbox:requests:*')
    for (const key of await list()) await redis.client.pexpire(key, 1)
    await waitUntil(async () => (await list()).length === 0)
  }

  itInFull(
    'allows 64 clients on 2 gateways exactly as many requests as the limit, window after window',
    async () => {
      const first = await startGateway(environment)
      const user = await addLimitedUser(first, 'free')
      const second = await startGateway(environment, first)
      for (const gateways of sample([[first, second], [second], [first, second]], 2)) {
        expect(await storm(gateways, user.get)).to.equal(60)
        await endWindows()
      }
      await Promise.all([first.stop(), second.stop()])
      expect(first.stderr() + second.stderr()).not.to.match(/redis unavailable|a-redis-password/)
    },
  )

  it('continues the count in a gateway that starts later', async () => {
    const first = await startGateway(environment)
    const user = await addLimitedUser(first, 'free')
    await user.get()
    await first.stop()
    const second = await startGateway(environment, first)
    expect(limitHeaders(await user.get(second)).remaining).to.equal('58')
    await second.stop()
  })

  it('may be unavailable at the start, with the configured behaviour', async () => {
    const folder = await makeFolder()
    const CONFIG = path.join(folder, 'settings.yaml')
    await writeFile(CONFIG, 'rate_limits: { on_redis_failure: { free: allow, paid: refuse } }')
    const gateway = await startGateway({ CONFIG, REDIS_URL: 'redis://:a-redis-password@127.0.0.1:9' })
    expect((await (await addLimitedUser(gateway, 'free')).get()).status).to.equal(200)
    const refused = await (await addLimitedUser(gateway, 'paid')).chat()
    expect(refused.status).to.equal(503)
    expect(refused.body.error).to.include({ code: 'rate_limit_unavailable', retry_after: 1 })
    await gateway.stop()
    expect(gateway.stderr()).to.contain('redis unavailable').and.not.to.contain('a-redis-password')
  })

  it('is unavailable with a wrong password, which is not logged', async () => {
    const url = redis.url.replace('a-redis-password', 'the-wrong-password')
    const gateway = await startGateway({ ...AS_SHIPPED, REDIS_URL: url })
    expect((await (await addLimitedUser(gateway, 'free')).get()).status).to.equal(503)
    await gateway.stop()
    expect(gateway.stderr()).to.contain('redis unavailable').and.not.to.contain('the-wrong-password')
  })
})
