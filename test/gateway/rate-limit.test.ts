import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { ADMIN_KEY, type Answer, makeFolder, type RunningGateway, startGateway } from '../support/gateway.ts'
import { type RunningRedis, startRedis } from '../support/redis.ts'

const AS_SHIPPED = { CONFIG: '' }

const AS_ADMIN = { authorization: `Bearer ${ADMIN_KEY}` }

/** A user of the gateway, made for one test. */
async function addUser(gateway: RunningGateway, plan: string) {
  const { body } = await gateway.call('POST', '/admin/users', { name: 'Ada', plan }, AS_ADMIN)
  const id: number = body.data.id
  const { key } = (await gateway.call('POST', `/admin/users/${id}/keys`, undefined, AS_ADMIN)).body.data
  const authorization = `Bearer ${key}`
  return {
    id,
    headers: { authorization },
    change: (change: object) => gateway.call('PATCH', `/admin/users/${id}`, change, AS_ADMIN),
    get: (at = gateway) => at.call('GET', '/v1/models', undefined, { authorization }),
    chat: (body: object = {}) =>
      gateway.call(
        'POST',
        '/v1/chat/completions',
        { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }], ...body },
        { authorization },
      ),
  }
}

const limitHeaders = ({ headers }: Answer) => ({
  limit: headers.get('x-ratelimit-limit-requests'),
  remaining: headers.get('x-ratelimit-remaining-requests'),
  reset: headers.get('x-ratelimit-reset-requests'),
})

/** 64 clients that ask one after the other, over all gateways; gives how many were let through. */
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

  it('is 60 requests per minute on the free plan, said on every answer', async () => {
    const user = await addUser(gateway, 'free')
    const first = await user.get()
    expect(limitHeaders(first)).to.deep.equal({ limit: '60', remaining: '59', reset: '1m0s' })
    const missing = await gateway.call('GET', '/v1/models/none', undefined, user.headers)
    expect(missing.status).to.equal(404)
    expect(limitHeaders(missing)).to.include({ limit: '60', remaining: '58' })
  })

  it('is 600 on the paid plan', async () => {
    expect(limitHeaders(await (await addUser(gateway, 'paid')).get()).limit).to.equal('600')
  })

  it('lets 64 clients of one user through exactly as often as allowed', async () => {
    const user = await addUser(gateway, 'free')
    expect(await storm([gateway], user.get)).to.equal(60)
    const { status, headers, body } = await user.get()
    expect(status).to.equal(429)
    expect(body.error).to.include({ type: 'rate_limit_error', http_status: 429 })
    expect(body.error.retry_after).to.be.a('number').within(1, 60)
    expect(headers.get('retry-after')).to.equal(String(body.error.retry_after))
    expect(headers.get('x-ratelimit-remaining-requests')).to.equal('0')
  })

  it('counts every user alone, and every endpoint together', async () => {
    const [ada, bob] = [await addUser(gateway, 'paid'), await addUser(gateway, 'paid')]
    await ada.change({ requests_per_minute: 3 })
    await ada.get()
    await gateway.call('GET', '/v1/routing-rules', undefined, ada.headers)
    expect((await ada.chat()).status).to.equal(200)
    expect((await ada.chat()).status).to.equal(429)
    expect((await bob.chat()).status).to.equal(200)
  })

  it('holds for streams, which carry the headers too', async () => {
    const user = await addUser(gateway, 'paid')
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

  it('refuses before the body is looked at, in the shape of the endpoint', async () => {
    const user = await addUser(gateway, 'paid')
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

  it('is told to OpenAI clients as their own error', async () => {
    const user = await addUser(gateway, 'paid')
    await user.change({ requests_per_minute: 1 })
    await user.get()
    const client = gateway.openai(user.headers.authorization.slice('Bearer '.length))
    const error = await client.models.list().then(
      () => expect.fail(),
      (thrown) => thrown,
    )
    expect(error.constructor.name).to.equal('RateLimitError')
  })

  it('does not count who is not known', async () => {
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

  it("comes before the plan's, and is shown", async () => {
    const user = await addUser(gateway, 'free')
    const { status, body } = await user.change({ requests_per_minute: 7 })
    expect(status).to.equal(200)
    expect(body.data).to.include({ plan: 'free', requests_per_minute: 7 })
    expect(limitHeaders(await user.get()).limit).to.equal('7')
    const { data } = (await gateway.call('GET', '/admin/users', undefined, AS_ADMIN)).body
    expect(data.find(({ id }: { id: number }) => id === user.id)).to.include({ requests_per_minute: 7 })
  })

  it('may be none', async () => {
    const user = await addUser(gateway, 'free')
    expect((await user.change({ requests_per_minute: null })).body.data.requests_per_minute).to.equal(null)
    expect(limitHeaders(await user.get())).to.deep.equal({ limit: null, remaining: null, reset: null })
    expect(await storm([gateway], user.get)).to.equal(320)
  })

  it("gives way to the plan's when a change leaves it out", async () => {
    const user = await addUser(gateway, 'free')
    await user.change({ requests_per_minute: 7 })
    const { body } = await user.change({ plan: 'paid' })
    expect(body.data).to.include({ plan: 'paid' }).and.not.to.have.property('requests_per_minute')
    expect(limitHeaders(await user.get()).limit).to.equal('600')
  })

  it('changes together with the plan', async () => {
    const user = await addUser(gateway, 'free')
    const { body } = await user.change({ plan: 'paid', requests_per_minute: 9 })
    expect(body.data).to.include({ plan: 'paid', requests_per_minute: 9 })
  })

  it('holds from the next request on, also for one who was over it', async () => {
    const user = await addUser(gateway, 'free')
    await user.change({ requests_per_minute: 1 })
    await user.get()
    expect((await user.get()).status).to.equal(429)
    await user.change({ requests_per_minute: 10 })
    expect((await user.get()).status).to.equal(200)
  })

  it('is remembered over a restart', async () => {
    const first = await startGateway(AS_SHIPPED)
    const user = await addUser(first, 'free')
    await user.change({ requests_per_minute: 8 })
    await first.stop()
    const second = await startGateway(AS_SHIPPED, first)
    expect(limitHeaders(await user.get(second)).limit).to.equal('8')
    await second.stop()
  })

  for (const wrong of [0, -1, 1.5, '60', true]) {
    it(`is refused as ${JSON.stringify(wrong)}`, async () => {
      const { status, body } = await (await addUser(gateway, 'free')).change({ requests_per_minute: wrong })
      expect(status).to.equal(400)
      expect(body.error.message).to.contain('requests_per_minute')
    })
  }
})

describe('limits in the settings', () => {
  it('are by plan, and null is none', async () => {
    const folder = await makeFolder()
    const CONFIG = path.join(folder, 'settings.yaml')
    await writeFile(CONFIG, 'rate_limits: { requests_per_minute: { free: 2, paid: null } }')
    const gateway = await startGateway({ CONFIG })
    expect(limitHeaders(await (await addUser(gateway, 'free')).get()).limit).to.equal('2')
    expect(limitHeaders(await (await addUser(gateway, 'paid')).get()).limit).to.equal(null)
    await gateway.stop()
  })
})

describe('the rate limit in Redis', () => {
  let redis: RunningRedis
  before(async function () {
    const started = await startRedis('a-redis-password')
    // skipped: redis-server is not installed on this machine
    if (started === undefined) this.skip()
    redis = started
  })
  // Users of different data folders have the same ids.
  beforeEach(() => redis.client.flushall())
  after(() => redis?.stop())

  const endWindows = async () => {
    for (const key of await redis.client.keys('signalbox:requests:*')) await redis.client.pexpire(key, 1)
    while ((await redis.client.dbsize()) > 0) await new Promise(setImmediate)
  }

  it('lets 64 clients on 2 processes through exactly as often as allowed, window after window', async () => {
    const first = await startGateway({ ...AS_SHIPPED, REDIS_URL: redis.url })
    const user = await addUser(first, 'free')
    const second = await startGateway({ ...AS_SHIPPED, REDIS_URL: redis.url }, first)
    expect(await storm([first, second], user.get)).to.equal(60)
    await endWindows()
    expect(await storm([first, second], user.get)).to.equal(60)
    await endWindows()
    expect(await storm([second], user.get)).to.equal(60)
    await Promise.all([first.stop(), second.stop()])
    expect(first.stderr() + second.stderr()).not.to.match(/redis unavailable|a-redis-password/)
  })

  it('goes on in one that starts anew', async () => {
    const first = await startGateway({ ...AS_SHIPPED, REDIS_URL: redis.url })
    const user = await addUser(first, 'free')
    await user.get()
    await first.stop()
    const second = await startGateway({ ...AS_SHIPPED, REDIS_URL: redis.url }, first)
    expect(limitHeaders(await user.get(second)).remaining).to.equal('58')
    await second.stop()
  })

  describe('when it goes away', () => {
    let gateway: RunningGateway
    let free: Awaited<ReturnType<typeof addUser>>
    let paid: Awaited<ReturnType<typeof addUser>>
    before(async () => {
      gateway = await startGateway({ ...AS_SHIPPED, REDIS_URL: redis.url })
      free = await addUser(gateway, 'free')
      paid = await addUser(gateway, 'paid')
    })
    after(() => gateway?.stop())

    /** Free users are refused and paid ones are not, and nobody waits. */
    async function expectAbsence() {
      const begun = performance.now()
      const refused = await free.get()
      expect(refused.status).to.equal(503)
      expect(refused.body.error.retry_after).to.equal(1)
      expect(refused.headers.get('retry-after')).to.equal('1')
      const served = await paid.get()
      expect(served.status).to.equal(200)
      expect(limitHeaders(served).remaining).to.equal(null)
      expect(performance.now() - begun).to.be.below(2000)
    }

    async function expectReturn() {
      while ((await free.get()).status !== 200) await new Promise(setImmediate)
      while (limitHeaders(await paid.get()).remaining === null) await new Promise(setImmediate)
    }

    it('is closed for free and open for paid users, and back when it is back', async () => {
      await free.get()
      await redis.kill()
      await expectAbsence()
      await redis.restart()
      await expectReturn()
      await gateway.wrote('redis unavailable')
      await gateway.wrote('redis available again')
    })

    it('does not hold requests when it hangs', async () => {
      redis.freeze()
      await expectAbsence()
      await expectAbsence()
      redis.thaw()
      await expectReturn()
    })

    it('never shows its password', () => {
      expect(gateway.stderr()).not.to.contain('a-redis-password')
    })
  })

  it('may be away at the start, and the choice is configured', async () => {
    const folder = await makeFolder()
    const CONFIG = path.join(folder, 'settings.yaml')
    await writeFile(CONFIG, 'rate_limits: { on_redis_failure: { free: allow, paid: refuse } }')
    const gateway = await startGateway({ CONFIG, REDIS_URL: 'redis://:a-redis-password@127.0.0.1:9' })
    expect((await (await addUser(gateway, 'free')).get()).status).to.equal(200)
    const refused = await (await addUser(gateway, 'paid')).chat()
    expect(refused.status).to.equal(503)
    expect(refused.body.error).to.include({ code: 'rate_limit_unavailable', retry_after: 1 })
    await gateway.stop()
    expect(gateway.stderr()).to.contain('redis unavailable').and.not.to.contain('a-redis-password')
  })

  it('with a wrong password is as good as away, and nobody hears the password', async () => {
    const url = redis.url.replace('a-redis-password', 'the-wrong-password')
    const gateway = await startGateway({ ...AS_SHIPPED, REDIS_URL: url })
    expect((await (await addUser(gateway, 'free')).get()).status).to.equal(503)
    await gateway.stop()
    expect(gateway.stderr()).to.contain('redis unavailable').and.not.to.contain('the-wrong-password')
  })
})
