import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { budgetOf, setBudget } from '../support/budgets.ts'
import { DECIDABLE } from '../support/decisions.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { asAdmin, newPolicy } from '../support/policies.ts'
import { createRandom, type Random } from '../support/random.ts'
import {
  randomFirewallRule,
  randomPolicyFirewallRule,
  randomRequest,
  randomRoutingRule,
} from '../support/random-rules.ts'
import { ROUNDS } from '../support/rounds.ts'
import { writeSettings } from '../support/settings-file.ts'

const SEED = Number(process.env.WHAT_IF_SEED ?? 20261122)
const USERS = 6
const REQUESTS = ROUNDS.pastRequests

describe(`what-if with today's rules (seed ${SEED})`, () => {
  let gateway: RunningGateway

  // For each attempt, because what an earlier one has asked would count again.
  beforeEach(async () => {
    const settings = 'ledger: { record_prompts: full }\nfirewall: { evaluate_responses: true }\n'
    const CONFIG = await writeSettings(`${DECIDABLE}\n${settings}`)
    const RECORD_KEY = randomBytes(32).toString('base64')
    gateway = await startGateway({ CONFIG, RECORD_KEY, LOG_LEVEL: 'silent' })
  })
  afterEach(() => gateway.stop())

  const randomRules = (random: Random, kind: (random: Random) => object, max: number) =>
    Array.from({ length: random.integer(max + 1) }, () => kind(random))

  async function makeUser(random: Random, limits: Random) {
    const user = await newUser(gateway)
    for (const rule of randomRules(random, randomFirewallRule, 4))
      await user.call('POST', '/v1/firewall-rules', rule)
    for (const rule of randomRules(random, randomRoutingRule, 3))
      await user.call('POST', '/v1/routing-rules', rule)
    if (limits.chance(0.7)) {
      const limit_usd = 0.001 + limits.integer(60) / 10_000
      const on_exceed = limits.pick(['refuse', 'refuse', 'downgrade'])
      await setBudget(gateway, budgetOf.user(user.id), { limit_usd, on_exceed })
    }
    return user
  }

  it('reproduces every request that was made under them', async () => {
    const random = createRandom(SEED)
    const limited = createRandom(SEED + 1)
    const users = []
    for (let index = 0; index < USERS; index++) users.push(await makeUser(random, limited))
    for (const everyone of [true, false])
      await newPolicy(gateway, {
        applies_to: everyone ? { everyone: true } : { users: users.slice(0, 2).map(({ id }) => id) },
        firewall: randomRules(random, randomPolicyFirewallRule, 2),
        routing: randomRules(random, randomRoutingRule, 2),
      })
    const statuses = new Set<number>()
    for (const user of users)
      for (let index = 0; index < REQUESTS; index++) {
        const { endpoint, body: request } = randomRequest(random)
        const max = 5 + limited.integer(300)
        const limits = { chat: { max_tokens: max }, responses: { max_output_tokens: max }, route: {} }
        const body = { ...request, ...limits[endpoint], ...(endpoint === 'responses' && { store: true }) }
        const path = { chat: '/v1/chat/completions', responses: '/v1/responses', route: '' }[endpoint]
        const answer = path === '' ? await user.route(body) : await user.call('POST', path, body)
        statuses.add(answer.status)
      }
    expect([...statuses]).to.include.members([200, 402, 403, 404])
    const { body } = await asAdmin(gateway, 'POST', '/admin/what-if', { file: {} })
    const { requests, evaluated, not_evaluated, effects, reproduced, replies, limits } = body.data
    expect({ requests, evaluated, not_evaluated }).to.deep.equal({
      requests: USERS * REQUESTS,
      evaluated: USERS * REQUESTS,
      not_evaluated: [],
    })
    expect(effects.unchanged).to.equal(evaluated)
    expect(reproduced).to.deep.equal({ same: evaluated, different: 0, explained: [] })
    expect(limits.before).to.deep.equal(limits.after)
    expect(limits.before.user).to.be.above(0)
    expect(replies.evaluated).to.be.above(0)
  })
})
