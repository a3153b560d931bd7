import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, routingRule } from '../support/policies.ts'
import { withSettings } from '../support/settings.ts'

const SPLIT = {
  arms: [
    { model: 'gpt-4o', weight: 1 },
    { model: 'gpt-4o-mini', weight: 1 },
  ],
}

describe('what-if with splits and shadows', function () {
  this.timeout(180_000)
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    gateway = await startGateway({
      ...(await withSettings('ledger: { record_prompts: full }\n')),
      RECORD_KEY: randomBytes(32).toString('base64'),
    })
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(() => gateway.stop())

  const addRule = async (action: object) =>
    (await user.call('POST', '/v1/routing-rules', routingRule(action))).body.data.id as number

  const ask = async (name: string) => {
    const body = { model: 'auto', messages: [{ role: 'user', content: 'Hello' }], user: name }
    return (await user.call('POST', '/v1/chat/completions', body)).body.model as string
  }

  const whatIf = async (rule: object) => {
    const file = { users: [{ user: user.id, routing_rules: [rule] }] }
    const { status, body } = await asAdmin(gateway, 'POST', `/admin/what-if?user=${user.id}`, { file })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }

  it('draws again what was drawn, and moves the requests that a change of weights moves', async () => {
    const id = await addRule({ split: SPLIT })
    const names = Array.from({ length: 12 }, (_, index) => `person ${index}`)
    const drawn: string[] = []
    for (const name of names) drawn.push(await ask(name))
    const split = { arms: SPLIT.arms.map((arm) => (arm.model === 'gpt-4o' ? { ...arm, weight: 0 } : arm)) }
    const result = await whatIf({ id, ...routingRule({ split }) })
    expect(result.reproduced).to.deep.equal({ same: 12, different: 0, explained: [] })
    const moved = drawn.filter((model) => model === 'gpt-4o').length
    expect(moved).to.be.within(1, 11)
    expect(result.effects).to.include({ routed: moved, unchanged: 12 - moved })
    await user.call('PATCH', `/v1/routing-rules/${id}`, { action_json: { split } })
    for (const name of names) expect(await ask(name)).to.equal('gpt-4o-mini')
  })

  it('tells what copies would cost', async () => {
    const id = await addRule({ set_model: 'gpt-4o-mini' })
    for (let request = 0; request < 3; request++) await ask('Ada')
    const action = { set_model: 'gpt-4o-mini', shadow: { model: 'gpt-4o', sample: 1 } }
    const { copies, effects, examples } = await whatIf({ id, ...routingRule(action) })
    expect(copies.before).to.deep.equal({ requests: 0, cost_usd: 0, unknown: 0 })
    expect(copies.after).to.include({ requests: 3, unknown: 0 })
    const { body } = await user.call('GET', '/v1/requests')
    const costs = body.data.map(({ tokens }: { tokens: { input: number; output: number } }) => {
      return (tokens.input * 2.5 + tokens.output * 10) / 1_000_000
    })
    const expected = costs.reduce((sum: number, cost: number) => sum + cost, 0)
    expect(copies.after.cost_usd).to.be.closeTo(expected, 1e-12)
    expect([effects.unchanged, examples]).to.deep.equal([3, []])
  })
})
