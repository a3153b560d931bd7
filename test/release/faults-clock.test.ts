import { expect } from 'chai'
import { startSandbox } from '../../providers/sandbox/server.ts'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { budgetOf, readBudget, setBudget } from '../support/budgets.ts'
import { askCached, startCachingGateway } from '../support/cache.ts'
import { type AdjustableClock, adjustClock } from '../support/clock.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { requireRedis } from '../support/redis.ts'
import { PATIENT_WITH_REDIS, withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const send = async ({ call }: RunningGateway) => call('POST', '/v1/chat/completions', chatBody('Hello'))

describe('faults of the clock', () => {
  let clock: AdjustableClock
  let gateway: RunningGateway

  beforeEach(() => {
    clock = adjustClock()
  })
  afterEach(async () => {
    await gateway?.stop()
    clock.restore()
  })

  const expectEvents = async (names: readonly string[]) => {
    const { body } = await gateway.call('GET', '/v1/audit?kind=firewall')
    expect(body.data).to.have.length(names.length)
    const rules = await gateway.call('GET', `/v1/firewall-rules?as_of=${new Date(Date.now()).toISOString()}`)
    expect(rules.status, JSON.stringify(rules.body)).to.equal(200)
    expect(rules.body.data.map(({ name }: { name: string }) => name)).to.deep.equal(names)
  }

  const createRule = async (name: string) => {
    const { status } = await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody({ name }))
    expect(status).to.equal(201)
  }

  it('the clock jumps back: a budget of a day does not count what was recorded for later days', async () => {
    clock.adjust(DAY_MS)
    gateway = await startGateway()
    const spendings = ['user', 'all'] as const
    for (let n = 0; n < 3; n++) expect((await send(gateway)).status).to.equal(200)
    expect((await gateway.call('GET', '/v1/requests')).body.data).to.have.length(3)
    clock.adjust(-DAY_MS)
    const paths = { user: budgetOf.user(1), all: budgetOf.all() }
    for (const owner of spendings) {
      await setBudget(gateway, paths[owner], { limit_usd: 10, period: 'day' })
      expect(Number((await readBudget(gateway, paths[owner])).spent_usd), owner).to.equal(0)
    }
    expect((await send(gateway)).status).to.equal(200)
    expect(Number((await readBudget(gateway, budgetOf.user(1))).spent_usd)).to.be.above(0)
    const spent = Number((await readBudget(gateway, budgetOf.user(1))).spent_usd)
    await setBudget(gateway, budgetOf.user(1), { limit_usd: 10, period: 'total' })
    const { spent_usd: total } = await readBudget(gateway, budgetOf.user(1))
    expect(Number(total)).to.be.closeTo(4 * spent, 1e-9)
  })

  async function expectShortLimit(jump: number, environment = {}): Promise<void> {
    const limit = `rate_limits: { requests_per_minute: { free: 3, paid: 3 }, ${PATIENT_WITH_REDIS} }\n`
    gateway = await startGateway({ ...(await withSettings(limit)), ...environment })
    for (let n = 0; n < 3; n++) expect((await send(gateway)).status).to.equal(200)
    expect((await send(gateway)).status).to.equal(429)
    clock.adjust(jump)
    const { status, headers } = await send(gateway)
    expect(status).to.be.oneOf([200, 429])
    if (status === 429) expect(Number(headers.get('retry-after'))).to.be.within(1, 60)
  }

  async function expectOrder(jump: number): Promise<void> {
    gateway = await startGateway()
    await createRule('before')
    clock.adjust(jump)
    await createRule('after')
    // Events of a millisecond are told apart by microseconds.
    clock.adjust(10)
    await expectEvents(['before', 'after'])
    const { body } = await gateway.call('POST', '/v1/chat/completions', chatBody('a secret'))
    expect(body.choices).to.have.length(1)
  }

  it('the clock jumps forward: no rate limit lasts longer than its minute', () => expectShortLimit(HOUR_MS))

  it('the clock jumps back: no rate limit lasts longer than its minute', () => expectShortLimit(-HOUR_MS))

  for (const [name, jump] of Object.entries({ forward: HOUR_MS, back: -HOUR_MS })) {
    it(`the clock jumps ${name}: no rate limit in Redis lasts longer than its minute`, async function () {
      const redis = await requireRedis(this)
      await expectShortLimit(jump, { REDIS_URL: redis.url })
      await gateway.stop()
      await redis.stop()
    })

    it(`the clock jumps ${name}: a cached reply expires after its time`, async () => {
      const sandbox = await startSandbox()
      gateway = await startCachingGateway(sandbox, { options: { ttl_seconds: 2 } })
      const ask = async () =>
        (await askCached(gateway.demoKey, `${gateway.url}/v1/chat/completions`, chatBody('Hello'))).cache
      expect([await ask(), await ask()]).to.deep.equal(['miss', 'hit'])
      clock.adjust(jump)
      await waitUntil(async () => (await ask()) === 'miss')
      await sandbox.close()
    })
  }

  it('the clock jumps forward: rules take effect in the order of their changes', () => expectOrder(HOUR_MS))

  it('the clock jumps back: rules take effect in the order of their changes', () => expectOrder(-HOUR_MS))
})
