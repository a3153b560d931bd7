import { expect } from 'chai'
import { DECIDABLE, decisionIn } from '../support/decisions.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin } from '../support/policies.ts'
import { createRandom, type Random } from '../support/random.ts'
import { randomFirewallRule, randomRoutingRule } from '../support/random-rules.ts'
import { goodAt, trainedData, writeVersions } from '../support/routers.ts'
import { writeSettings } from '../support/settings-file.ts'

const SEED = Number(process.env.DECISION_SEED ?? 20261126)
const STEPS = process.env.TEST_LONG === undefined ? 60 : 600
const MODELS = ['ministral-3b-2512', 'gpt-5-nano', 'claude-haiku-5-5']
const WORDS = ['haiku', 'theorem', 'contract']

/** A request as it was made. */
interface Made {
  readonly id: string
  readonly keyId: string
  readonly body: object
  readonly decided: object
  readonly position: number
}

describe(`deciding again under rules, splits, requirements, keys and activations (seed ${SEED})`, function () {
  this.timeout(180_000)
  let gateway: RunningGateway
  let user: TestUser
  let keys: { id: string; key: string }[]

  before(async () => {
    const routing =
      'routing: { learned: "on", explore: 0.2 }\n' +
      'providers: { openai: { zdr: true }, mistral: { region: eu }, anthropic: { region: eu, zdr: true } }\n'
    gateway = await startGateway({ CONFIG: await writeSettings(DECIDABLE + routing), LOG_LEVEL: 'silent' })
    const { dataDir } = gateway
    await writeVersions(
      dataDir,
      MODELS.map((model, at) =>
        trainedData(at + 1, dataDir, { models: { [model]: goodAt(WORDS[at] as string, dataDir) } }),
      ),
    )
    user = await newUser(gateway)
    keys = [
      { id: user.keyId, key: user.key },
      await issueKey(user, {}),
      await issueKey(user, { models: ['gpt-4o', ...MODELS] }),
      await issueKey(user, { models: ['gpt-4o'] }),
      await issueKey(user, { endpoints: ['/v1/chat'] }),
    ]
  })
  after(() => gateway.stop())

  async function issueKey({ id }: TestUser, body: object): Promise<{ id: string; key: string }> {
    const issued = await gateway.call('POST', `/admin/users/${id}/keys`, body, AS_ADMIN)
    expect(issued.status, JSON.stringify(issued.body)).to.equal(201)
    return issued.body.data
  }

  async function change(random: Random): Promise<void> {
    const version = 1 + random.integer(MODELS.length)
    const steps = [
      () => asAdmin(gateway, 'POST', `/admin/routers/${version}/activate`, {}),
      () => asAdmin(gateway, 'POST', '/admin/routers/rollback', {}),
      () => user.call('POST', '/v1/routing-rules', randomRoutingRule(random)),
      () => user.call('POST', '/v1/firewall-rules', randomFirewallRule(random)),
      () => {
        const arms = MODELS.map((model) => ({ model, weight: 1 + random.integer(3) }))
        const split = { arms, sticky_by: random.pick(['key', 'none', 'conversation']) }
        const rule = { name: 'split', is_enabled: true, priority: random.integer(5) }
        const match = { match_json: { contains: random.pick(WORDS) } }
        return user.call('POST', '/v1/routing-rules', { ...rule, ...match, action_json: { split } })
      },
      () => {
        const require = random.pick([{ region: 'eu' }, { zdr: true }, { region: 'eu', zdr: true }])
        const rule = { name: 'require', is_enabled: true, priority: random.integer(5) }
        const match = { match_json: { contains: random.pick(WORDS) } }
        return user.call('POST', '/v1/routing-rules', { ...rule, ...match, action_json: { require } })
      },
    ]
    await random.pick(steps)()
  }

  async function makeRequest(random: Random): Promise<Made> {
    const { id: keyId, key } = random.pick(keys)
    const content = `write a ${random.pick(WORDS)} about ${random.integer(50)}`
    const model = random.pick(['auto', 'auto:quality', 'auto:cost', 'gpt-4o'])
    const body = { model, messages: [{ role: 'user', content }] }
    const authorization = `Bearer ${key}`
    const answer = await gateway.call('POST', '/v1/chat/completions', body, { authorization })
    const id = answer.headers.get('x-request-id') ?? ''
    const { data } = (await asAdmin(gateway, 'GET', `/admin/requests/${id}`)).body
    return { id, keyId, body, decided: decisionIn(data), position: data.rules_position }
  }

  async function simulate(call: Promise<{ status: number; body: { data: Record<string, unknown> } }>) {
    const { status, body } = await call
    expect(status, JSON.stringify(body)).to.equal(200)
    const [target] = body.data.targets as object[]
    return { decided: decisionIn({ ...body.data, ...target }), position: body.data.rules_position }
  }

  it('shows what was decided, at its position and by its id', async () => {
    const random = createRandom(SEED)
    const made: Made[] = []
    for (let step = 0; step < STEPS; step++) {
      if (random.chance(0.25)) await change(random)
      else made.push(await makeRequest(random))
    }
    for (const version of [1, 2, 3]) await asAdmin(gateway, 'POST', `/admin/routers/${version}/activate`, {})
    const positions = new Set(made.map(({ position }) => position))
    expect(positions.size).to.be.above(5)
    for (const { id, keyId, body, decided, position } of made) {
      const expected = { decided, position }
      const question = { user_id: user.id, request: body, request_id: id }
      const at = { ...question, key_id: keyId, as_of: position }
      expect(await simulate(asAdmin(gateway, 'POST', '/admin/simulate', at))).to.deep.equal(expected)
      expect(await simulate(asAdmin(gateway, 'POST', '/admin/simulate', question))).to.deep.equal(expected)
      const own = { ...body, request_id: id, key_id: keyId, as_of: position }
      expect(await simulate(user.call('POST', '/v1/simulate', own))).to.deep.equal(expected)
    }
  })

  it('decides by the version of then, whose activation the position covers', async () => {
    const other = await newUser(gateway)
    const ask = async (keyed = other) => {
      const body = { model: 'auto:quality', messages: [{ role: 'user', content: 'write a haiku' }] }
      const { headers } = await keyed.call('POST', '/v1/chat/completions', body)
      const { data } = (await asAdmin(gateway, 'GET', `/admin/requests/${headers.get('x-request-id')}`)).body
      return { body, data, id: headers.get('x-request-id') }
    }
    await asAdmin(gateway, 'POST', '/admin/routers/2/activate', {})
    const before = await ask()
    await asAdmin(gateway, 'POST', '/admin/routers/1/activate', {})
    const after = await ask()
    expect(before.data.router.version).to.equal(2)
    expect(after.data.router.version).to.equal(1)
    expect(after.data.rules_position).to.be.above(before.data.rules_position)
    for (const { body, data, id } of [before, after]) {
      const again = await other.call('POST', '/v1/simulate', {
        ...body,
        as_of: data.rules_position,
        request_id: id,
      })
      expect(again.body.data.targets[0]).to.deep.equal({ provider: data.provider, model: data.model })
    }
  })

  it('shows the refusal of a restricted key, and refuses a key of somebody else', async () => {
    // Without the random rules, which may set a model that the key may use.
    const holder = await newUser(gateway)
    const onlyGpt = await issueKey(holder, { models: ['gpt-4o'] })
    const endpointKey = await issueKey(holder, { endpoints: ['/v1/chat'] })
    const messages = [{ role: 'user', content: 'Hi' }]
    const body = { model: 'claude-opus-5-5', max_tokens: 100, messages }
    const ask = (more: object) =>
      asAdmin(gateway, 'POST', '/admin/simulate', { user_id: holder.id, request: body, ...more })
    const refused = (await ask({ key_id: onlyGpt?.id })).body.data
    expect(refused).to.include({ outcome: 'refused' })
    expect(refused.error.code).to.equal('model_not_allowed')
    const elsewhere = (await ask({ key_id: endpointKey?.id, endpoint: 'messages' })).body.data
    expect(elsewhere.error?.code).to.equal('endpoint_not_allowed')
    expect((await ask({ key_id: endpointKey?.id })).body.data.error?.code).not.to.equal(
      'endpoint_not_allowed',
    )
    const stranger = await newUser(gateway)
    const unknown = await ask({ key_id: stranger.keyId })
    expect(unknown.status).to.equal(404)
    expect(unknown.body.error.message).to.contain(`key_id: key ${stranger.keyId}`)
    const foreign = await stranger.call('POST', '/v1/simulate', { ...body, key_id: holder.keyId })
    expect(foreign.status).to.equal(404)
  })

  it('tells nothing about keys and requests of others', async () => {
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }
    const made = await user.call('POST', '/v1/chat/completions', body)
    const stranger = await newUser(gateway)
    const ask = async (more: object, withoutId: string) => {
      const answer = await stranger.call('POST', '/v1/simulate', { ...body, ...more })
      const text = JSON.stringify(answer.body).replaceAll(withoutId, 'ID')
      return { status: answer.status, text: text.replace(/req_\w+/g, 'REQUEST') }
    }
    const [id, unknown] = [made.headers.get('x-request-id') ?? '', `req_${'0'.repeat(24)}`]
    expect(await ask({ request_id: id }, id)).to.deep.equal(await ask({ request_id: unknown }, unknown))
    const noKey = 'key_000000000000'
    const answers = [await ask({ key_id: user.keyId }, user.keyId), await ask({ key_id: noKey }, noKey)]
    expect(answers[0]).to.deep.equal(answers[1])
    expect(answers[0]?.status).to.equal(404)
  })

  it('decides with the groups, keys and users of then', async () => {
    const other = await newUser(gateway)
    const { data: group } = (await asAdmin(gateway, 'POST', '/admin/groups', { name: 'Then' })).body
    const member = `/admin/groups/${group.id}/members/${other.id}`
    const policy = { name: 'Then', is_enabled: true, priority: 1, applies_to: { groups: [group.id] } }
    const { data: created } = (await asAdmin(gateway, 'POST', '/admin/policies', policy)).body
    const rule = {
      ...{ name: 'to', is_enabled: true, priority: 9, match_json: {} },
      action_json: { set_model: 'claude-haiku-5-5' },
    }
    const path = `/admin/policies/${created.id}/routing-rules`
    expect((await asAdmin(gateway, 'POST', path, rule)).status).to.equal(201)
    const body = { model: 'auto:cost', messages: [{ role: 'user', content: 'Hi there' }] }
    const recorded: { id: string; decided: object; position: number }[] = []
    const make = async () => {
      const { headers } = await other.call('POST', '/v1/chat/completions', body)
      const id = headers.get('x-request-id') ?? ''
      const { data } = (await asAdmin(gateway, 'GET', `/admin/requests/${id}`)).body
      recorded.push({ id, decided: decisionIn(data), position: data.rules_position })
    }
    await make()
    await asAdmin(gateway, 'PUT', member)
    await make()
    await asAdmin(gateway, 'DELETE', member)
    await make()
    await asAdmin(gateway, 'PUT', member)
    await make()
    const again = async () => {
      for (const { id, decided, position } of recorded) {
        const question = { user_id: other.id, request: body, request_id: id }
        const shown = await simulate(asAdmin(gateway, 'POST', '/admin/simulate', question))
        expect(shown).to.deep.equal({ decided, position })
      }
    }
    expect(recorded[1]?.decided).to.not.deep.equal(recorded[0]?.decided)
    await again()
    await asAdmin(gateway, 'DELETE', `/admin/keys/${other.keyId}`)
    await again()
    await asAdmin(gateway, 'DELETE', `/admin/groups/${group.id}`)
    await again()
    await asAdmin(gateway, 'DELETE', `/admin/policies/${created.id}`)
    await asAdmin(gateway, 'DELETE', `/admin/users/${other.id}`)
    await again()
  })
})
