import { expect } from 'chai'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, newPolicy, routingRule } from '../support/policies.ts'

const HALVES = [
  { model: 'gpt-4o', weight: 50 },
  { model: 'claude-sonnet-5', weight: 50 },
]

const say = (content: string) => ({ messages: [{ role: 'user', content }] })

const ask = (user: TestUser, body: object, headers = {}) =>
  user.call(
    'POST',
    '/v1/chat/completions',
    { model: 'auto', ...body },
    { 'x-include-trace': 'true', ...headers },
  )

const modelOf = ({ status, body }: Answer): string => {
  expect(status, JSON.stringify(body)).to.equal(200)
  return body.model
}

const splitEntry = ({ body }: Answer) =>
  body.signalbox.rule_trace.find(({ action }: { action: string }) => action === 'split')

/** Adds a routing rule and returns its id. */
async function addRule(user: TestUser, action: object, more: object = {}): Promise<number> {
  const { status, body } = await user.call('POST', '/v1/routing-rules', routingRule(action, more))
  expect(status, JSON.stringify(body)).to.equal(201)
  return body.data.id
}

const NAMES = Array.from({ length: 24 }, (_, index) => `person ${index}`)

describe('the action split', () => {
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    gateway = await startGateway()
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(() => gateway.stop())

  it('sends each end user to one of the models, always the same, and names it in the trace', async () => {
    const ruleId = await addRule(user, { split: HALVES })
    const drawn = new Map<string, string>()
    for (const name of NAMES) {
      const answer = await ask(user, { ...say(`I am ${name}`), user: name })
      expect(splitEntry(answer)).to.include({ rule_id: ruleId, outcome: 'applied', arm: modelOf(answer) })
      drawn.set(name, modelOf(answer))
    }
    expect([...new Set(drawn.values())].sort()).to.deep.equal(['claude-sonnet-5', 'gpt-4o'])
    for (const [name, model] of drawn)
      expect(modelOf(await ask(user, { ...say('Something else'), user: name }))).to.equal(model)
  })

  it('is summed up by arm, with scores, beside any other field', async () => {
    const ruleId = await addRule(user, { split: HALVES })
    const answers = [await ask(user, say('Hello'))]
    for (const name of NAMES) answers.push(await ask(user, { ...say('Hello'), user: name }))
    const [first] = answers as [Answer]
    const score = { request_id: first.body.x_request_id, score: 0.25 }
    expect((await user.call('POST', '/v1/feedback', score)).status).to.equal(201)

    const usage = async (query: string) => (await user.call('GET', `/v1/usage?${query}`)).body.data
    const byArm = await usage('group_by=arm&group_by=rule&group_by=model')
    expect(byArm.map(({ arm }: Answer['body']) => arm)).to.deep.equal(['claude-sonnet-5', 'gpt-4o'])
    for (const { arm, rule, model, requests, ratings, mean_score, cost_usd } of byArm) {
      const own = answers.filter((answer) => modelOf(answer) === arm)
      expect({ rule, model, requests }).to.deep.equal({
        rule: `routing:${ruleId}`,
        model: arm,
        requests: own.length,
      })
      const isRated = arm === modelOf(first)
      expect({ ratings, mean_score }).to.deep.equal(
        isRated ? { ratings: 1, mean_score: 0.25 } : { ratings: 0, mean_score: null },
      )
      expect(cost_usd).to.be.above(0)
    }
    // The tables of usage and the requests lead to the same sums.
    const [{ arm: _, ...fromRequests }, ...others] = await usage('group_by=arm')
    const fromTables = (await usage('group_by=model')).find(
      ({ model }: Answer['body']) => model === 'claude-sonnet-5',
    )
    expect({ ...fromRequests, model: 'claude-sonnet-5' }).to.deep.equal(fromTables)
    expect(others).to.have.length(1)

    await user.call('DELETE', `/v1/routing-rules/${ruleId}`)
    await ask(user, { ...say('Hello'), model: 'gpt-4o' })
    const after = await usage('group_by=arm')
    expect(after.map(({ requests }: Answer['body']) => requests)).to.deep.equal(
      byArm.map(({ requests }: Answer['body']) => requests),
    )
    const path = `/admin/usage?user=${user.id}&group_by=arm&group_by=hour&group_by=day`
    const byHour = (await asAdmin(gateway, 'GET', path)).body.data
    const hour = (time: unknown) => new Date(String(time)).getTime() / 3_600_000
    for (const sum of byHour) {
      expect(hour(sum.hour)).to.be.closeTo(Date.now() / 3_600_000, 1.01)
      expect(sum.hour.slice(0, 10)).to.equal(sum.day)
    }
    expect(new Set(byHour.map(({ arm }: Answer['body']) => arm))).to.have.property('size', 2)
  })

  it('does not move when another rule changes, and moves few when a weight changes', async () => {
    const ruleId = await addRule(user, { split: HALVES }, { priority: 1 })
    const draw = async () => {
      const models: string[] = []
      for (const name of NAMES) models.push(modelOf(await ask(user, { ...say('Hello'), user: name })))
      return models
    }
    const first = await draw()
    const otherId = await addRule(user, { split: [...HALVES].reverse(), add_warning: 'Other' })
    expect(await draw()).to.deep.equal(first)
    await user.call('DELETE', `/v1/routing-rules/${otherId}`)
    const more = [HALVES[0], { ...HALVES[1], weight: 150 }]
    await user.call('PATCH', `/v1/routing-rules/${ruleId}`, { action_json: { split: more } })
    const moved = (await draw()).filter((model, index) => model !== first[index])
    expect(moved).to.not.be.empty
    expect(new Set(moved)).to.deep.equal(new Set(['claude-sonnet-5']))
  })

  it('keeps the model of a conversation, whole histories and stored responses alike', async () => {
    await addRule(user, { split: { arms: HALVES, sticky_by: 'conversation' } })
    const models = new Set<string>()
    for (const name of NAMES.slice(0, 10)) {
      const start = say(`I am ${name}`).messages
      const model = modelOf(await ask(user, { messages: start, user: 'everybody' }))
      models.add(model)
      const turns = [...start, { role: 'assistant', content: 'Hello' }, ...say('And now?').messages]
      expect(modelOf(await ask(user, { messages: turns, user: 'everybody' }))).to.equal(model)
      const first = await user.call('POST', '/v1/responses', { model: 'auto', input: `I am ${name}` })
      expect(modelOf(first)).to.equal(model)
      const { id: previous_response_id } = first.body
      const body = { model: 'auto', input: 'And now?', previous_response_id, instructions: 'Be brief.' }
      expect(modelOf(await user.call('POST', '/v1/responses', body))).to.equal(model)
    }
    expect(models.size).to.equal(2)
  })

  it('can be sticky by key, and not at all', async () => {
    const ruleId = await addRule(user, { split: { arms: HALVES, sticky_by: 'key' } })
    const ofKey = new Set<string>()
    for (const name of NAMES) ofKey.add(modelOf(await ask(user, { ...say(name), user: name })))
    expect(ofKey.size).to.equal(1)
    const none = { action_json: { split: { arms: HALVES, sticky_by: 'none' } } }
    await user.call('PATCH', `/v1/routing-rules/${ruleId}`, none)
    const ofRequest = new Set<string>()
    for (const _ of NAMES) ofRequest.add(modelOf(await ask(user, { ...say('same'), user: 'same' })))
    expect(ofRequest.size).to.equal(2)
  })

  it('takes the place of set_model: the first of them applies, and a policy cannot be undone', async () => {
    await addRule(user, { set_model: 'gpt-4o-mini' }, { priority: 1 })
    await addRule(user, { split: HALVES })
    const answer = await ask(user, say('Hello'))
    expect(modelOf(answer)).to.equal('gpt-4o-mini')
    expect(splitEntry(answer)).to.include({ outcome: 'skipped', reason: 'already_set_by_rule' })

    const other = await newUser(gateway)
    await newPolicy(gateway, { applies_to: { users: [other.id] }, routing: [routingRule({ split: HALVES })] })
    await addRule(other, { set_provider: 'gemini' })
    const { body } = await ask(other, say('Hello'))
    expect(HALVES.map(({ model }) => model)).to.include(body.model)
    const overruled = body.signalbox.rule_trace.find(
      (entry: { action: string }) => entry.action === 'set_provider',
    )
    expect(overruled).to.include({ outcome: 'skipped', reason: 'overruled_by_policy' })
  })

  it('refuses models that are unknown, named twice, or have no weight when the rule is made', async () => {
    for (const [split, issue] of [
      [[HALVES[0], { model: 'gpt-nonsense', weight: 1 }], /gpt-nonsense, which is not in the catalogue/],
      [[HALVES[0], HALVES[0]], /gpt-4o twice/],
      [HALVES.map(({ model }) => ({ model, weight: 0 })), /weight above 0/],
      [[HALVES[0]], /split must be a list of 2 to 20 models/],
      [[HALVES[0], { model: 'gpt-4o-mini', weight: -1 }], /split must be a list/],
      [{ arms: HALVES, sticky_by: 'moon' }, /split must be a list/],
    ] as const) {
      const { status, body } = await user.call('POST', '/v1/routing-rules', routingRule({ split }))
      expect(status, JSON.stringify(body)).to.equal(422)
      expect(body.error.errors.action_json.join(' ')).to.match(issue)
    }
  })

  it('holds the restrictions of a key, and the trace names the arm that was refused', async () => {
    const ruleId = await addRule(user, { split: [HALVES[0], { model: 'gpt-4o-mini', weight: 0 }] })
    const created = await asAdmin(gateway, 'POST', `/admin/users/${user.id}/keys`, {
      models: ['gpt-4o-mini'],
    })
    const headers = { authorization: `Bearer ${created.body.data.key}` }
    const refused = await ask(user, say('Hello'), headers)
    expect(refused.status).to.equal(403)
    expect(refused.headers.get('x-error-code')).to.equal('model_not_allowed')
    const id = refused.headers.get('x-request-id')
    const record = await user.call('GET', `/v1/requests/${id}`)
    expect(record.body.data.rule_trace).to.deep.include({
      kind: 'routing',
      rule_id: ruleId,
      name: 'A rule',
      action: 'split',
      outcome: 'applied',
      arm: 'gpt-4o',
    })
  })

  it('is recorded, and usage by rule and model compares the models', async () => {
    const ruleId = await addRule(user, { split: { arms: HALVES, sticky_by: 'none' } })
    const counts = new Map<string, number>()
    for (const _ of NAMES) {
      const answer = await ask(user, say('Hello'))
      const model = modelOf(answer)
      counts.set(model, (counts.get(model) ?? 0) + 1)
      const record = await user.call('GET', `/v1/requests/${answer.headers.get('x-request-id')}`)
      expect(record.body.data.routing_arm).to.equal(model)
    }
    const { body } = await user.call('GET', '/v1/usage?group_by=rule&group_by=model')
    const rows = body.data.filter(({ rule }: { rule: string }) => rule === `routing:${ruleId}`)
    expect(
      new Map(rows.map((row: { model: string; requests: number }) => [row.model, row.requests])),
    ).to.deep.equal(counts)
  })

  it('is simulated, also as a draft', async () => {
    const ruleId = await addRule(user, { split: HALVES })
    const request = { model: 'auto', ...say('Hello'), user: 'Ada' }
    const model = modelOf(await ask(user, request))
    const simulate = async (drafts?: object) =>
      (await asAdmin(gateway, 'POST', '/admin/simulate', { user_id: user.id, request, drafts })).body.data
    const simulated = await simulate()
    expect(simulated.targets[0].model).to.equal(model)
    expect(simulated.routing_arm).to.equal(model)
    const away = HALVES.map((arm) => ({ ...arm, weight: arm.model === model ? 0 : 1 }))
    const drafted = await simulate({ routing: [{ id: ruleId, action_json: { split: away } }] })
    expect(drafted.routing_arm).to.not.equal(model)
  })
})
