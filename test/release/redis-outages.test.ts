import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { addLimitedUser, type LimitedUser, limitHeaders } from '../support/limited-user.ts'
import { type RunningRedis, requireRedis } from '../support/redis.ts'
import { waitUntil } from '../support/wait.ts'

describe('the rate limit when Redis is unavailable', () => {
  let redis: RunningRedis
  let gateway: RunningGateway
  let free: LimitedUser
  let paid: LimitedUser
  before(async function () {
    redis = await requireRedis(this, 'a-redis-password')
    gateway = await startGateway({ CONFIG: '', REDIS_URL: redis.url })
    free = await addLimitedUser(gateway, 'free')
    paid = await addLimitedUser(gateway, 'paid')
  })
  after(async () => {
    await gateway?.stop()
    await redis?.stop()
  })

  /** Free users are refused, paid users are served, and neither waits for Redis. */
  async function expectUnavailable() {
    const refused = await free.get()
    expect(refused.status).to.equal(503)
    expect(refused.body.error.retry_after).to.equal(1)
    expect(refused.headers.get('retry-after')).to.equal('1')
    const served = await paid.get()
    expect(served.status).to.equal(200)
    expect(limitHeaders(served).remaining).to.equal(null)
  }

  async function expectAvailable() {
    await waitUntil(async () => (await free.get()).status === 200)
    await waitUntil(async () => limitHeaders(await paid.get()).remaining !== null)
  }

  it('refuses free users, serves paid users, and limits both once redis available again', async () => {
    await free.get()
    await redis.kill()
    await expectUnavailable()
    await redis.restart()
    await expectAvailable()
    await gateway.wrote('redis unavailable')
    await gateway.wrote('redis available again')
  })

  it('does not make requests wait for a Redis that hangs', async () => {
    redis.suspend()
    await expectUnavailable()
    await expectUnavailable()
    redis.resume()
    await expectAvailable()
  })

  it('never logs the password of Redis', () => {
    expect(gateway.stderr()).not.to.contain('a-redis-password')
  })
})
