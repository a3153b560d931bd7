import { expect } from 'chai'
import { ANSWER_USD, budgetOf, readBudget, setBudget } from '../support/budgets.ts'
import {
  askAsUser,
  playStorm,
  stormUntilRefused,
  useRedisAndProvider,
  withProvider,
  withProviderAndRedis,
} from '../support/chat-storm.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { scrape } from '../support/metrics.ts'
import { newUser, type TestUser } from '../support/new-user.ts'

import {
  chunk,
  completionOf,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'
import { withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const isExceeded = ({ status }: Answer) => status === 402

/** 200 clients never spend more than the limit, and at least 95 % of it. */
async function expectExactSpend(gateways: readonly RunningGateway[], key: string, limit: number) {
  const answers = await stormUntilRefused(gateways, key, { clients: 200, isFinal: isExceeded })
  const others = answers.filter(({ status }) => ![200, 402, 429].includes(status))
  expect(others).to.deep.equal([])
  const spent = answers.filter(({ status }) => status === 200).length * ANSWER_USD
  expect(spent).to.be.within(limit * 0.95, limit)
  return spent
}

describe('budgets', () => {
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

  const ask = (body: object = {}) => askAsUser(gateway, user.key, body)

  /** A group of these users. */
  async function newGroup(members: readonly TestUser[], name = 'A group'): Promise<number> {
    const { id } = (await gateway.call('POST', '/admin/groups', { name }, AS_ADMIN)).body.data
    for (const member of members)
      await gateway.call('PUT', `/admin/groups/${id}/members/${member.id}`, undefined, AS_ADMIN)
    return id
  }

  it('count what the ledger recorded before they were set, and before a restart', async () => {
    const first = await startGateway(withProvider(provider))
    const owner = await newUser(first)
    for (let request = 0; request < 3; request++)
      expect((await askAsUser(first, owner.key, {})).status).to.equal(200)
    for (const path of [budgetOf.user(owner.id), budgetOf.key(owner.keyId), budgetOf.all()]) {
      const { body } = await setBudget(first, path, { limit_usd: 1 })
      expect(body.data.spent_usd).to.be.closeTo(3 * ANSWER_USD, 1e-12)
    }
    expect((await askAsUser(first, owner.key, {})).status).to.equal(200)
    await first.stop()
    const second = await startGateway(withProvider(provider), first)
    const { spent_usd } = await readBudget(second, budgetOf.user(owner.id))
    expect(spent_usd).to.be.closeTo(4 * ANSWER_USD, 1e-12)
    await setBudget(second, budgetOf.user(owner.id), { limit_usd: 4 * ANSWER_USD })
    expect((await askAsUser(second, owner.key, {})).status).to.equal(402)
    await second.stop()
  })

  describe('are set, read and removed', () => {
    const BUDGET = { limit_usd: 12.5, period: 'month', warn_ratio: 0.8, on_exceed: 'refuse' }

    it('for users, keys, groups and everything', async () => {
      const group = await newGroup([])
      for (const path of [
        budgetOf.user(user.id),
        budgetOf.key(user.keyId),
        budgetOf.group(group),
        budgetOf.all(),
      ]) {
        expect((await gateway.call('GET', path, undefined, AS_ADMIN)).status).to.equal(404)
        const { status, body } = await setBudget(gateway, path, BUDGET)
        expect(status).to.equal(200)
        const { spent_usd, remaining_usd } = body.data
        expect(body.data).to.include({ ...BUDGET, reserved_usd: 0 })
        // Other tests have spent money of the whole gateway.
        if (path !== budgetOf.all()) expect(spent_usd).to.equal(0)
        expect(spent_usd + remaining_usd).to.be.closeTo(12.5, 1e-9)
        expect(body.data.period_start).to.match(/^\d{4}-\d\d-01T00:00:00.000Z$/)
        expect(await readBudget(gateway, path)).to.deep.equal(body.data)
        const removed = await gateway.call('DELETE', path, undefined, AS_ADMIN)
        expect(removed.body).to.deep.equal({ success: true })
        expect((await gateway.call('GET', path, undefined, AS_ADMIN)).status).to.equal(404)
      }
    })

    it('by operators only, for users, keys and groups that exist', async () => {
      const path = budgetOf.user(user.id)
      expect((await user.call('PUT', path, BUDGET)).status).to.equal(401)
      const missingPaths = [budgetOf.user(99_999), budgetOf.key('key_none'), budgetOf.group(99_999)]
      for (const missing of missingPaths)
        expect((await setBudget(gateway, missing, BUDGET)).status).to.equal(404)
    })

    for (const [field, value] of Object.entries({
      limit_usd: -1,
      period: 'year',
      warn_ratio: 1.5,
      on_exceed: 'stop',
    })) {
      it(`with a valid ${field}`, async () => {
        const { status, body } = await setBudget(gateway, budgetOf.user(user.id), {
          ...BUDGET,
          [field]: value,
        })
        expect(status).to.equal(400)
        expect(body.error.message).to.contain(field)
      })
    }

    it('as events that are audited, once for equal requests, and survive a restart', async () => {
      const first = await startGateway(withProvider(provider))
      const owner = await newUser(first)
      for (let time = 0; time < 2; time++) {
        await setBudget(first, budgetOf.user(owner.id), BUDGET)
        await setBudget(first, budgetOf.key(owner.keyId), { limit_usd: 1 })
        await setBudget(first, budgetOf.all(), { limit_usd: 3 })
      }
      await first.stop()
      const second = await startGateway(withProvider(provider), first)
      expect(await readBudget(second, budgetOf.user(owner.id))).to.include(BUDGET)
      expect(await readBudget(second, budgetOf.key(owner.keyId))).to.include({ limit_usd: 1 })
      expect(await readBudget(second, budgetOf.all())).to.include({ limit_usd: 3 })
      await second.call('DELETE', budgetOf.user(owner.id), undefined, AS_ADMIN)
      const headers = { authorization: `Bearer ${owner.key}` }
      const { data } = (await second.call('GET', '/v1/audit', undefined, headers)).body
      const changes = data.map(({ kind, id, event, actor }: Record<string, unknown>) => [
        kind,
        id,
        event,
        (actor as { type: string }).type,
      ])
      expect(changes.slice(0, 3)).to.deep.equal([
        ['user', owner.id, 'budget_removed', 'root'],
        ['key', owner.keyId, 'budget_set', 'root'],
        ['user', owner.id, 'budget_set', 'root'],
      ])
      expect(data[2].after.budget).to.deep.equal(BUDGET)
      expect(data[0].after).not.to.have.property('budget')
      await second.stop()
    })

    it('and are shown to their user, with what is left', async () => {
      expect((await user.call('GET', '/v1/budget')).body.data).to.deep.equal({ user: null, key: null })
      await setBudget(gateway, budgetOf.user(user.id), { limit_usd: 1, period: 'day' })
      expect((await ask()).status).to.equal(200)
      const { data } = (await user.call('GET', '/v1/budget')).body
      expect(data.key).to.equal(null)
      expect(data.user).to.include({ limit_usd: 1, spent_usd: ANSWER_USD, reserved_usd: 0 })
      expect(data.user.remaining_usd).to.be.closeTo(1 - ANSWER_USD, 1e-12)
      expect(Date.parse(data.user.period_end)).to.be.within(Date.now(), Date.now() + 86_400_000)
    })
  })

  describe('that are exceeded', () => {
    it('refuse 200 clients exactly at the limit', async () => {
      await setBudget(gateway, budgetOf.user(user.id), { limit_usd: 0.04, period: 'week' })
      const spent = await expectExactSpend([gateway], user.key, 0.04)
      const state = await readBudget(gateway, budgetOf.user(user.id))
      expect(state.spent_usd).to.be.closeTo(spent, 1e-12)
      expect(state.reserved_usd).to.equal(0)

      const { status, headers, body } = await ask()
      expect(status).to.equal(402)
      expect(headers.get('x-error-code')).to.equal('budget_exceeded')
      expect(body.error).to.include({ type: 'budget_error', code: 'budget_exceeded' })
      expect(body.error.meta).to.deep.equal({ budget: 'user' })
      expect(body.error.message).to.contain('0.04 US dollars per week')
      const seconds = (Date.parse(state.period_end) - Date.now()) / 1000
      expect(body.error.retry_after).to.be.closeTo(seconds, 2)
      expect(headers.get('retry-after')).to.equal(String(body.error.retry_after))
    })

    it('apply on all endpoints, to the key alone, and again to nobody when they are removed', async () => {
      await setBudget(gateway, budgetOf.key(user.keyId), { limit_usd: 0 })
      const refused = [
        await ask(),
        await user.call('POST', '/v1/responses', { model: 'gpt-4o', input: 'Hi' }),
        await user.route({ prompt: 'Hi', model_preferences: ['gpt-4o'] }),
      ]
      for (const { status } of refused) expect(status).to.equal(402)
      const { key } = await user.issueKey()
      expect((await askAsUser(gateway, key)).status).to.equal(200)
      await gateway.call('DELETE', budgetOf.key(user.keyId), undefined, AS_ADMIN)
      expect((await ask()).status).to.equal(200)
    })

    it('are shared by the users of a group, whose spending before counts', async () => {
      const [member, stranger] = [await newUser(gateway), await newUser(gateway)]
      const group = await newGroup([user, member])
      const path = budgetOf.group(group)
      for (let request = 0; request < 3; request++) await ask()
      const limit = 20 * ANSWER_USD + 0.001
      const { body } = await setBudget(gateway, path, { limit_usd: limit })
      expect(body.data.spent_usd).to.be.closeTo(3 * ANSWER_USD, 1e-12)
      const served = await Promise.all(
        [user, member].map(async ({ key }) => {
          const answers = await stormUntilRefused([gateway], key, { clients: 20, isFinal: isExceeded })
          return answers.filter(({ status }) => status === 200).length
        }),
      )
      expect((3 + served[0]! + served[1]!) * ANSWER_USD).to.be.within(limit - 0.0011 - ANSWER_USD, limit)
      const refused = await ask()
      expect(refused.body.error.meta).to.deep.equal({ budget: 'group' })
      expect(refused.body.error.message).to.match(
        /^The budget of your group does not cover this request, and/,
      )
      const refusals = { target: 'group', outcome: 'refused' }
      expect((await scrape(gateway)).sum('signalbox_budget_outcomes_total', refusals)).to.be.greaterThan(0)
      expect((await askAsUser(gateway, stranger.key)).status).to.equal(200)
      await gateway.call('DELETE', `/admin/groups/${group}/members/${user.id}`, undefined, AS_ADMIN)
      expect((await ask()).status).to.equal(200)
      await gateway.call('DELETE', path, undefined, AS_ADMIN)
      expect((await askAsUser(gateway, member.key)).status).to.equal(200)
    })

    it('count what was spent while there was none, or one of another period', async () => {
      const spent = async (path: string, budget: object) => {
        const { body } = await setBudget(gateway, path, { limit_usd: 1, ...budget })
        return Math.round(body.data.spent_usd / ANSWER_USD)
      }
      const group = await newGroup([user])
      for (const path of [budgetOf.user(user.id), budgetOf.key(user.keyId), budgetOf.group(group)])
        await setBudget(gateway, path, { limit_usd: 1 })
      await ask()
      for (const path of [budgetOf.user(user.id), budgetOf.key(user.keyId), budgetOf.group(group)])
        await gateway.call('DELETE', path, undefined, AS_ADMIN)
      await ask()
      await ask()
      for (const path of [budgetOf.user(user.id), budgetOf.key(user.keyId), budgetOf.group(group)])
        expect(await spent(path, {}), path).to.equal(3)
      const path = budgetOf.user(user.id)
      await gateway.call('DELETE', path, undefined, AS_ADMIN)
      await ask()
      const budget = { limit_usd: 1, period: 'total', on_exceed: 'refuse' }
      const file = { budgets: { users: [{ user: user.id, budget }] } }
      const applied = await gateway.call('POST', '/admin/rules/file/apply', { file }, AS_ADMIN)
      expect(applied.status).to.equal(200)
      expect(Math.round((await readBudget(gateway, path)).spent_usd / ANSWER_USD)).to.equal(4)
      expect(await spent(path, { period: 'month' })).to.equal(4)
      await ask()
      expect(await spent(path, {})).to.equal(5)
      await setBudget(gateway, path, { limit_usd: 5 * ANSWER_USD })
      expect((await ask()).status).to.equal(402)
    })

    it('count whole tokens, whatever a provider reports', async () => {
      await setBudget(gateway, budgetOf.user(user.id), { limit_usd: 1 })
      const usage = {
        prompt_tokens: 10.5,
        completion_tokens: -3,
        prompt_tokens_details: { cached_tokens: 0.1 },
      }
      provider.play({ body: { ...completionOf(1, 1), usage } })
      const { status, headers } = await ask()
      expect(status).to.equal(200)
      const record = await user.call('GET', `/v1/requests/${headers.get('x-request-id')}`)
      expect(record.body.data.tokens).to.include({ input: 11, cached: 1, output: 0 })
      const { spent_usd, reserved_usd } = await readBudget(gateway, budgetOf.user(user.id))
      expect({ spent_usd, reserved_usd }).to.deep.equal({
        spent_usd: record.body.data.cost_usd,
        reserved_usd: 0,
      })
      playStorm(provider)
      provider.play({ body: completionOf(1, 1e300) })
      const huge = await ask()
      const { body } = await user.call('GET', `/v1/requests/${huge.headers.get('x-request-id')}`)
      expect(body.data.tokens.output).to.equal(1_000_000_000)
      expect((await ask()).status).to.equal(402)
    })

    it('name the whole gateway without its figures', async () => {
      const other = await startGateway(withProvider(provider))
      const [ada, bob] = [await newUser(other), await newUser(other)]
      await setBudget(other, budgetOf.all(), { limit_usd: 0.002 })
      await askAsUser(other, ada.key)
      await waitUntil(async () => (await readBudget(other, budgetOf.all())).spent_usd === ANSWER_USD)
      const { status, body } = await askAsUser(other, bob.key, { max_tokens: 1000 })
      expect(status).to.equal(402)
      expect(body.error.meta).to.deep.equal({ budget: 'all' })
      expect(body.error.message).to.contain('this gateway').and.not.to.contain('0.002')
      await other.stop()
    })

    it('apply to changes of the limit at the next request', async () => {
      await setBudget(gateway, budgetOf.user(user.id), { limit_usd: 0.001 })
      expect((await ask({ max_tokens: 1000 })).status).to.equal(402)
      await setBudget(gateway, budgetOf.user(user.id), { limit_usd: 1 })
      expect((await ask({ max_tokens: 1000 })).status).to.equal(200)
    })
  })

  describe('count', () => {
    const LIMIT = 1
    const spent = async () => (await readBudget(gateway, budgetOf.user(user.id))).spent_usd
    beforeEach(() => setBudget(gateway, budgetOf.user(user.id), { limit_usd: LIMIT }))

    it('streams by their usage', async () => {
      const usage = { ...chunk({}, 'stop'), choices: [], usage: { prompt_tokens: 10, completion_tokens: 40 } }
      provider.play({ chunks: [chunk({ content: 'Hi' }), chunk({}, 'stop'), usage] })
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${user.key}` },
        body: JSON.stringify({ model: 'gpt-4o', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
      })
      await response.text()
      await waitUntil(async () => (await spent()) === ANSWER_USD)
    })

    it('nothing for requests that a provider refused, and the worst case if the cost is not known', async () => {
      provider.play({ status: 400, body: { error: { message: 'no' } } })
      expect((await ask()).status).to.equal(400)
      expect(await spent()).to.equal(0)
      const { usage: _, ...body } = completionOf(1, 1) as Record<string, unknown>
      provider.play({ body })
      expect((await ask()).status).to.equal(200)
      await waitUntil(async () => (await spent()) > 0)
      expect(await spent()).to.be.within(0.001, 0.0015)
    })
  })

  it('refuse models without a price, unless the operator allows them', async () => {
    await setBudget(gateway, budgetOf.user(user.id), { limit_usd: 1 })
    const { status, body } = await ask({ model: 'openai:a-private-model' })
    expect(status).to.equal(402)
    expect(body.error).to.include({ code: 'budget_price_unknown' })
    expect(body.error.message).to.contain('a-private-model')

    const budget = { use: 'budget', after: 'routing', options: { unknown_price: 'allow' } }
    const settings = await withSettings(`plugins: { remove: [budget], add: [${JSON.stringify(budget)}] }\n`)
    const lenient = await startGateway({ ...withProvider(provider), ...settings })
    const other = await newUser(lenient)
    await setBudget(lenient, budgetOf.user(other.id), { limit_usd: 1 })
    expect((await askAsUser(lenient, other.key, { model: 'openai:a-private-model' })).status).to.equal(200)
    await lenient.stop()
  })

  it('warn in the answer and as a metric', async () => {
    await setBudget(gateway, budgetOf.user(user.id), { limit_usd: 0.01, warn_ratio: 0.04 })
    expect((await ask()).body.signalbox).not.to.have.property('warnings')
    const { warnings } = (await ask()).body.signalbox
    expect(warnings).to.deep.equal([
      {
        code: 'budget',
        message: 'The budget of your user (0.01 US dollars in total) is spent to 4 percent.',
      },
    ])
    const metrics = await scrape(gateway)
    expect(metrics.sum('signalbox_budget_outcomes_total', { target: 'user', outcome: 'warned' })).to.equal(1)
  })

  it('of nothing allow models that cost nothing, and are spent to 100 percent', async () => {
    const free = `models:
  - id: free-of-charge
    provider: openai
    context: 1000
    max_output: 100
    price: { input: 0, output: 0 }
    quality: 1
    latency_ms: 1
    capabilities: { tools: true, images: true, json: schema }
`
    const own = await startGateway({ ...withProvider(provider), ...(await withSettings(free)) })
    const { id, key } = await newUser(own)
    await setBudget(own, budgetOf.user(id), { limit_usd: 0, warn_ratio: 0.5 })
    const { status, body } = await askAsUser(own, key, { model: 'free-of-charge' })
    expect(status).to.equal(200)
    expect(body.signalbox.warnings[0].message).to.contain('is spent to 100 percent')
    expect((await askAsUser(own, key, {})).status).to.equal(402)
    await own.stop()
  })

  it('downgrade automatic choices to the mode cost, and refuse named models', async () => {
    await setBudget(gateway, budgetOf.user(user.id), { limit_usd: 0, on_exceed: 'downgrade' })
    const best = (await ask({ model: 'auto:cost' })).headers.get('x-model')
    const { status, headers, body } = await ask({ model: 'auto:quality' })
    expect(status).to.equal(200)
    expect(headers.get('x-routing-mode')).to.equal('cost')
    expect(headers.get('x-model')).to.equal(best)
    expect(body.signalbox.warnings[0]).to.include({ code: 'budget' })
    expect(body.signalbox.warnings[0].message).to.contain('is exceeded: the mode cost was used')
    const refused = await ask()
    expect(refused.status).to.equal(402)
    expect(refused.body.error.message).to.contain('Send the model "auto"')
    expect((await readBudget(gateway, budgetOf.user(user.id))).spent_usd).to.be.above(0)
  })

  it('tell clients to retry while requests in flight have reserved the rest', async () => {
    const budget = { use: 'budget', after: 'routing', options: { wait_ms: 50 } }
    const settings = await withSettings(`plugins: { remove: [budget], add: [${JSON.stringify(budget)}] }\n`)
    const impatient = await startGateway({ ...withProvider(provider), ...settings })
    const { id, key } = await newUser(impatient)
    await setBudget(impatient, budgetOf.user(id), { limit_usd: 0.002 })
    let release: () => void = () => undefined
    const until = new Promise<void>((resolve) => {
      release = resolve
    })
    provider.play({ body: completionOf(10, 40), until })
    const running = askAsUser(impatient, key)
    await waitUntil(async () => (await readBudget(impatient, budgetOf.user(id))).reserved_usd > 0)
    const { status, body } = await askAsUser(impatient, key)
    expect(status).to.equal(429)
    expect(body.error).to.include({ code: 'budget_reserved', retry_after: 1 })
    release()
    expect((await running).status).to.equal(200)
    await impatient.stop()
  })
})

describe('budgets in Redis', function () {
  this.timeout(180_000)
  const started = useRedisAndProvider()

  it('are exact over two gateways with 200 clients', async () => {
    const environment = await withProviderAndRedis(started.provider, started.redis)
    const first = await startGateway(environment)
    const { id, key } = await newUser(first)
    await setBudget(first, budgetOf.user(id), { limit_usd: 0.04 })
    const second = await startGateway(environment, first)
    const spent = await expectExactSpend([first, second], key, 0.04)
    for (const gateway of [first, second])
      expect((await readBudget(gateway, budgetOf.user(id))).spent_usd).to.be.closeTo(spent, 1e-12)
    await Promise.all([first.stop(), second.stop()])
  })

  it('refuse everything while Redis is away', async () => {
    const REDIS_URL = 'redis://:a-redis-password@127.0.0.1:9'
    const gateway = await startGateway({ ...withProvider(started.provider), REDIS_URL })
    const { id, key } = await newUser(gateway)
    expect((await askAsUser(gateway, key)).status).to.equal(200)
    const set = await setBudget(gateway, budgetOf.user(id), { limit_usd: 1 })
    expect(set.status).to.equal(503)
    expect(set.body.error.message).to.contain('The budget is set, but what was spent cannot be read')
    const { status, body } = await askAsUser(gateway, key)
    expect(status).to.equal(503)
    expect(body.error).to.include({ code: 'budget_unavailable', retry_after: 1 })
    await gateway.stop()
  })
})
