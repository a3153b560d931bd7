import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { budgetOf, setBudget } from '../support/budgets.ts'
import { stopClock } from '../support/clock.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule } from '../support/policies.ts'
import { withSettings } from '../support/settings.ts'

const ask = (user: TestUser, content: string, more = {}) =>
  user.call('POST', '/v1/chat/completions', {
    model: 'gpt-4o',
    max_tokens: 50,
    messages: [{ role: 'user', content }],
    ...more,
  })

const block = (pattern: string) => firewallRule({ name: 'Draft', pattern, action: 'block' })

/** What a request of this test costs, and the most that it could cost, in US dollars. */
interface Costs {
  readonly cost: number
  readonly worst: number
}

describe('what-if with budgets and limits', () => {
  let gateway: RunningGateway
  let costs: Costs

  before(async () => {
    const settings = 'ledger: { record_prompts: full }\nrate_limits: { requests_per_minute: { free: 2 } }\n'
    const RECORD_KEY = randomBytes(32).toString('base64')
    gateway = await startGateway({ ...(await withSettings(settings)), RECORD_KEY })
    const user = await newUser(gateway)
    await ask(user, 'alpha')
    const [{ cost_usd: cost }] = (await user.call('GET', '/v1/requests')).body.data
    await setBudget(gateway, budgetOf.user(user.id), { limit_usd: 0 })
    const { body } = await ask(user, 'alpha')
    costs = { cost, worst: Number(/may cost up to ([\d.]+\d)/.exec(body.error.message)?.[1]) }
    expect(costs.worst).to.be.above(costs.cost)
  })
  after(() => gateway.stop())

  const whatIf = async (query: string, file: object = {}) => {
    const { status, body } = await asAdmin(gateway, 'POST', `/admin/what-if?${query}`, { file })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }

  /** Lets two requests pass and refuses the third, by a budget of the user. */
  async function exhaust() {
    const user = await newUser(gateway)
    await setBudget(gateway, budgetOf.user(user.id), limitFor(1))
    const statuses: number[] = []
    for (const text of ['alpha', 'gamma', 'delta']) statuses.push((await ask(user, text)).status)
    expect(statuses).to.deep.equal([200, 200, 402])
    return user
  }

  /** A limit that the cost of so many requests and the worst case of another one fit into. */
  const limitFor = (requests: number) => ({ limit_usd: costs.worst + costs.cost * (requests + 0.5) })

  const budgetFile = ({ id: user }: TestUser, budget: object | null) => ({
    budgets: { users: [{ user, budget: budget && { period: 'total', on_exceed: 'refuse', ...budget } }] },
  })

  it('reproduces what budgets refused', async () => {
    const user = await exhaust()
    const result = await whatIf(`user=${user.id}`)
    expect(result.reproduced).to.deep.equal({ same: 3, different: 0, explained: [] })
    expect(result.outcomes.before).to.include({ allowed: 2, refused: 1 })
    expect(result.limits.before).to.include({ user: 1, key: 0, all: 0 })
    expect(result.limits.after).to.deep.equal(result.limits.before)
    expect(result.effects).to.include({ unchanged: 3, over_limit: 0, within_limit: 0 })
  })

  it('finds requests that fit into a budget because the drafts refuse earlier ones', async () => {
    const user = await exhaust()
    const file = { users: [{ user: user.id, firewall_rules: [block('alpha')] }] }
    const { effects, limits, examples } = await whatIf(`user=${user.id}`, file)
    expect(effects).to.include({ blocked: 1, within_limit: 1, unchanged: 1 })
    expect([limits.before.user, limits.after.user, limits.estimated]).to.deep.equal([1, 0, 1])
    const [newest] = examples
    expect(newest.effects).to.deep.equal(['within_limit'])
    expect(newest.before.error).to.include({ code: 'budget_exceeded', http_status: 402 })
    expect(newest.after).to.include({ outcome: 'allowed', model: 'gpt-4o' })
  })

  it('evaluates drafted budgets', async () => {
    const user = await exhaust()
    const lower = await whatIf(`user=${user.id}`, budgetFile(user, limitFor(0)))
    expect(lower.effects).to.include({ over_limit: 1, unchanged: 2 })
    const none = await whatIf(`user=${user.id}`, budgetFile(user, null))
    expect(none.effects).to.include({ within_limit: 1, unchanged: 2 })
    expect(none.limits.after).to.include({ user: 0 })
  })

  it('begins with what was spent before the range', async () => {
    const user = await exhaust()
    const { body } = await user.call('GET', '/v1/requests')
    const since = body.data[0].time
    const { effects, limits, reproduced } = await whatIf(`user=${user.id}&since=${since}`)
    expect([effects.unchanged, limits.before.user, reproduced.same]).to.deep.equal([1, 1, 1])
  })

  it('evaluates requests of the present millisecond', async () => {
    const user = await newUser(gateway)
    const clock = stopClock()
    try {
      await ask(user, 'alpha')
      expect((await whatIf(`user=${user.id}`)).evaluated).to.equal(1)
    } finally {
      clock.restore()
    }
  })

  it('names the budgets that requests outside of the filters count in', async () => {
    const user = await newUser(gateway)
    await ask(user, 'alpha')
    const codes = async (query: string) =>
      (await whatIf(query)).limitations.map(({ code, message }: Record<string, string>) => [code, message])
    expect(await codes('limit=10')).to.not.deep.include.members([['budgets', OTHERS]])
    expect(await codes(`user=${user.id}`)).to.deep.include.members([['budgets', OTHERS]])
  })

  it('replays limits of tokens, and tells what the limit of requests refused', async () => {
    const user = await newUser(gateway, 'free')
    await gateway.call('PATCH', `/admin/users/${user.id}`, { tokens_per_minute: 30 }, AS_ADMIN)
    const statuses = []
    for (const text of ['alpha', 'gamma', 'delta']) statuses.push((await ask(user, text)).status)
    expect(statuses).to.deep.equal([429, 429, 429])
    const { reproduced, not_evaluated, limits } = await whatIf(`user=${user.id}`)
    expect(reproduced).to.deep.equal({ same: 2, different: 0, explained: [] })
    expect(limits.before).to.include({ tokens: 2, concurrency: 0 })
    expect(not_evaluated).to.have.length(1)
    expect(not_evaluated[0]).to.include({ reason: 'rate_limited', requests: 1 })
  })
})

const OTHERS =
  'Budgets of groups and of everything are not evaluated: requests that the filters leave out count in them.'
