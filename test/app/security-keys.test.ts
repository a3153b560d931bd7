import { expect } from 'chai'
import { ADMIN_KEY, type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { readScrape } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import { type RunningRedis, requireRedis } from '../support/redis.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const SETTINGS = `${UNLIMITED}limits: { auth_failures_per_minute: 5 }
trusted_proxies: [127.0.0.0/8, 10.1.0.0/16]
`

type Headers = Record<string, string>

/** Calls with a random key, with `from` as the address in `x-forwarded-for`. */
const guess = (gateway: RunningGateway, from?: string, path = '/v1/models') =>
  gateway.call('GET', path, undefined, {
    authorization: `Bearer tr_${Math.random()}`,
    ...(from && { 'x-forwarded-for': from }),
  })

/** The statuses of calls in sequence. */
const guessOften = async (times: number, ask: () => Promise<Answer>) => {
  const statuses: number[] = []
  for (let count = 0; count < times; count++) statuses.push((await ask()).status)
  return statuses
}

/** As many refusals as the limit allows before 429. */
const REFUSED = [401, 401, 401, 401, 401]

describe('authentication failures', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway(await withSettings(SETTINGS))
  })
  after(() => gateway.stop())

  const admin = (from: string, key = ADMIN_KEY) =>
    gateway.call('GET', '/admin/users', undefined, {
      authorization: `Bearer ${key}`,
      'x-forwarded-for': from,
    })

  it('get 429 once there are too many from one address', async () => {
    expect(await guessOften(7, () => guess(gateway, '192.0.2.1'))).to.deep.equal([...REFUSED, 429, 429])
    const { headers, body } = await guess(gateway, '192.0.2.1')
    expect(body.error).to.include({ type: 'rate_limit_error', http_status: 429 })
    expect(body.error.retry_after).to.be.within(1, 60)
    expect(headers.get('retry-after')).to.equal(String(body.error.retry_after))
  })

  it('get 429 in the format of each endpoint', async () => {
    await guessOften(5, () => guess(gateway, '192.0.2.2'))
    const headers: Headers = { authorization: 'Bearer no', 'x-forwarded-for': '192.0.2.2' }
    const chat = await gateway.call('POST', '/v1/chat/completions', '{not json', headers)
    expect(chat.status).to.equal(429)
    expect(chat.body.error).to.include({ code: 'rate_limit_exceeded', param: null })
    const direct = await fetch(`${gateway.routeUrl}/route`, { method: 'POST', headers })
    expect(direct.status).to.equal(429)
    expect((await direct.json()) as object).to.have.nested.property('error.code', 'rate_limit_exceeded')
  })

  it('do not block a valid key from the same address', async () => {
    const user = await newUser(gateway)
    await guessOften(8, () => guess(gateway, '192.0.2.3'))
    const good = await user.call('GET', '/v1/models', undefined, { 'x-forwarded-for': '192.0.2.3' })
    expect(good.status).to.equal(200)
    expect((await guess(gateway, '192.0.2.3')).status, 'a valid key resets nothing').to.equal(429)
  })

  it('are not counted without a key', async () => {
    const ask = () =>
      gateway.call('GET', '/v1/models', undefined, { authorization: '', 'x-forwarded-for': '192.0.2.4' })
    expect(await guessOften(8, ask)).to.deep.equal(Array.from({ length: 8 }, () => 401))
  })

  it('are counted per address', async () => {
    await guessOften(8, () => guess(gateway, '192.0.2.5'))
    expect((await guess(gateway, '192.0.2.6')).status).to.equal(401)
  })

  it('on the admin endpoints and /metrics block even the valid admin key', async () => {
    const ask = () => admin('192.0.2.7', 'a-guess-of-the-admin-key')
    expect(await guessOften(6, ask)).to.deep.equal([...REFUSED, 429])
    expect((await admin('192.0.2.7')).status).to.equal(429)
    const metrics = await fetch(`${gateway.url}/metrics`, {
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'x-forwarded-for': '192.0.2.7' },
    })
    expect(metrics.status).to.equal(429)
    expect((await admin('192.0.2.8')).status).to.equal(200)
  })

  it('of API keys do not block the admin key', async () => {
    await guessOften(8, () => guess(gateway, '192.0.2.9'))
    expect((await admin('192.0.2.9')).status).to.equal(200)
  })

  it('are limited exactly for 64 concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 64 }, () => guess(gateway, '192.0.2.10')))
    expect(answers.filter(({ status }) => status === 401)).to.have.length(5)
    expect(answers.filter(({ status }) => status === 429)).to.have.length(59)
  })

  it('are counted per /64 network for IPv6', async () => {
    const from = (host: number) => `2001:db8:1:2:${host}::${host}`
    let host = 0
    expect(await guessOften(6, () => guess(gateway, from(++host)))).to.deep.equal([...REFUSED, 429])
    expect((await guess(gateway, '2001:db8:1:3::1')).status).to.equal(401)
  })

  it('are counted for the last address that is not a trusted proxy', async () => {
    await guessOften(6, () => guess(gateway, '203.0.113.1, 192.0.2.11, 10.1.2.3'))
    expect((await guess(gateway, '192.0.2.11')).status).to.equal(429)
    expect((await guess(gateway, '203.0.113.1')).status).to.equal(401)
  })

  it('are counted in a metric, and logged once per address', async () => {
    const other = await startGateway(await withSettings(SETTINGS))
    await guessOften(9, () => guess(other, '192.0.2.12'))
    await guessOften(5, () => guess(other, '192.0.2.13', '/admin/users'))
    const page = await fetch(`${other.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } })
    const metrics = readScrape(await page.text())
    const count = (kind: string, outcome: string) =>
      metrics.sum('signalbox_auth_failures_total', { kind, outcome })
    expect(count('api', 'refused')).to.equal(5)
    expect(count('api', 'limited')).to.equal(4)
    expect(count('admin', 'refused')).to.equal(5)
    await other.stop()
    const told = other.stderr().match(/"address":"192\.0\.2\.12","kind":"api"/g)
    expect(told).to.have.length(1)
  })
})

describe('the address of a client', () => {
  it('is that of the socket, whatever the headers, when no proxy is trusted', async () => {
    const gateway = await startGateway(await withSettings('limits: { auth_failures_per_minute: 5 }\n'))
    let number = 0
    const ask = () => guess(gateway, `192.0.2.${++number}`)
    expect(await guessOften(6, ask)).to.deep.equal([...REFUSED, 429])
    await gateway.stop()
  })
})

describe('authentication failures, with Redis', () => {
  let redis: RunningRedis
  before(async function () {
    redis = await requireRedis(this, 'a-redis-password')
  })
  after(() => redis?.stop())

  it('are counted over all gateways, and per gateway while Redis is unavailable', async () => {
    const environment = { ...(await withSettings(SETTINGS)), REDIS_URL: redis.url }
    const first = await startGateway(environment)
    const second = await startGateway(environment)
    expect(await guessOften(3, () => guess(first, '192.0.2.20'))).to.deep.equal([401, 401, 401])
    expect(await guessOften(4, () => guess(second, '192.0.2.20'))).to.deep.equal([401, 401, 429, 429])
    expect((await guess(first, '192.0.2.20')).status).to.equal(429)
    expect(await redis.client.keys('signalbox:auth-failures:*')).to.deep.equal([
      'signalbox:auth-failures:api:192.0.2.20',
    ])
    await redis.kill()
    expect(await guessOften(7, () => guess(first, '192.0.2.21'))).to.deep.equal([...REFUSED, 429, 429])
    await first.stop()
    await second.stop()
    expect(first.stderr()).not.to.contain('a-redis-password')
  })
})
