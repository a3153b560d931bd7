import { expect } from 'chai'
import { ADMIN_KEY, type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { readScrape } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import { type RunningRedis, startRedis } from '../support/redis.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const SETTINGS = `${UNLIMITED}limits: { auth_failures_per_minute: 5 }
trusted_proxies: [127.0.0.0/8, 10.1.0.0/16]
`

type Headers = Record<string, string>

/** Asks with a key that is wrong, from an address when one is given. */
const guess = (gateway: RunningGateway, from?: string, path = '/v1/models') =>
  gateway.call('GET', path, undefined, {
    authorization: `Bearer tr_${Math.random()}`,
    ...(from && { 'x-forwarded-for': from }),
  })

const guessOften = async (times: number, ask: () => Promise<Answer>) => {
  const statuses: number[] = []
  for (let count = 0; count < times; count++) statuses.push((await ask()).status)
  return statuses
}

const REFUSED = [401, 401, 401, 401, 401]

describe('keys that fail', () => {
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

  it('are answered 429 once there were too many from one address', async () => {
    expect(await guessOften(7, () => guess(gateway, '192.0.2.1'))).to.deep.equal([...REFUSED, 429, 429])
    const { headers, body } = await guess(gateway, '192.0.2.1')
    expect(body.error).to.include({ type: 'rate_limit_error', http_status: 429 })
    expect(body.error.retry_after).to.be.within(1, 60)
    expect(headers.get('retry-after')).to.equal(String(body.error.retry_after))
  })

  it('are told of in the shape of the endpoint, on every endpoint', async () => {
    await guessOften(5, () => guess(gateway, '192.0.2.2'))
    const headers: Headers = { authorization: 'Bearer no', 'x-forwarded-for': '192.0.2.2' }
    const chat = await gateway.call('POST', '/v1/chat/completions', '{not json', headers)
    expect(chat.status).to.equal(429)
    expect(chat.body.error).to.include({ code: 'rate_limit_exceeded', param: null })
    const direct = await fetch(`${gateway.routeUrl}/route`, { method: 'POST', headers })
    expect(direct.status).to.equal(429)
    expect((await direct.json()) as object).to.have.nested.property('error.code', 'rate_limit_exceeded')
  })

  it('do not keep out a good key behind the same address', async () => {
    const user = await newUser(gateway)
    await guessOften(8, () => guess(gateway, '192.0.2.3'))
    const good = await user.call('GET', '/v1/models', undefined, { 'x-forwarded-for': '192.0.2.3' })
    expect(good.status).to.equal(200)
    expect((await guess(gateway, '192.0.2.3')).status, 'a good key forgives nothing').to.equal(429)
  })

  it('do not count when no key was sent', async () => {
    const ask = () =>
      gateway.call('GET', '/v1/models', undefined, { authorization: '', 'x-forwarded-for': '192.0.2.4' })
    expect(await guessOften(8, ask)).to.deep.equal(Array.from({ length: 8 }, () => 401))
  })

  it('count for each address alone', async () => {
    await guessOften(8, () => guess(gateway, '192.0.2.5'))
    expect((await guess(gateway, '192.0.2.6')).status).to.equal(401)
  })

  it('of the admin endpoints and /metrics end in nothing, not even for the right one', async () => {
    const ask = () => admin('192.0.2.7', 'a-guess-of-the-admin-key')
    expect(await guessOften(6, ask)).to.deep.equal([...REFUSED, 429])
    expect((await admin('192.0.2.7')).status).to.equal(429)
    const metrics = await fetch(`${gateway.url}/metrics`, {
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'x-forwarded-for': '192.0.2.7' },
    })
    expect(metrics.status).to.equal(429)
    expect((await admin('192.0.2.8')).status).to.equal(200)
  })

  it('of users keep no administrator out', async () => {
    await guessOften(8, () => guess(gateway, '192.0.2.9'))
    expect((await admin('192.0.2.9')).status).to.equal(200)
  })

  it('are not let through in greater number by 64 at once', async () => {
    const answers = await Promise.all(Array.from({ length: 64 }, () => guess(gateway, '192.0.2.10')))
    expect(answers.filter(({ status }) => status === 401)).to.have.length(5)
    expect(answers.filter(({ status }) => status === 429)).to.have.length(59)
  })

  it('of one network of IPv6 count together', async () => {
    const from = (host: number) => `2001:db8:1:2:${host}::${host}`
    let host = 0
    expect(await guessOften(6, () => guess(gateway, from(++host)))).to.deep.equal([...REFUSED, 429])
    expect((await guess(gateway, '2001:db8:1:3::1')).status).to.equal(401)
  })

  it('count for the first address that no trusted proxy has', async () => {
    await guessOften(6, () => guess(gateway, '203.0.113.1, 192.0.2.11, 10.1.2.3'))
    expect((await guess(gateway, '192.0.2.11')).status).to.equal(429)
    expect((await guess(gateway, '203.0.113.1')).status).to.equal(401)
  })

  it('are counted in a metric and told of in the log, once for each address', async () => {
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

describe('the address that keys come from', () => {
  it('is that of the socket, whatever a header says, when no proxy is trusted', async () => {
    const gateway = await startGateway(await withSettings('limits: { auth_failures_per_minute: 5 }\n'))
    let number = 0
    const ask = () => guess(gateway, `192.0.2.${++number}`)
    expect(await guessOften(6, ask)).to.deep.equal([...REFUSED, 429])
    await gateway.stop()
  })
})

describe('keys that fail, with Redis', () => {
  let redis: RunningRedis
  before(async function () {
    const started = await startRedis('a-redis-password')
    if (started === undefined) return this.skip()
    redis = started
  })
  after(() => redis?.stop())

  it('count over all processes together, and in each alone while Redis is away', async () => {
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
