import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import {
  type AttributedProviders,
  PROVIDER_IDS,
  startAttributedProviders,
} from '../support/attributed-providers.ts'
import { budgetOf } from '../support/budgets.ts'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, newPolicy, routingRule } from '../support/policies.ts'
import { completionOf, startScriptedProvider } from '../support/scripted-provider.ts'
import { withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const EU = { region: 'eu', zdr: true }
const IN_EU = ['alpha-1', 'delta-eu']

describe('the action require', () => {
  let providers: AttributedProviders
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    providers = await startAttributedProviders()
    const settings = JSON.stringify({ ...JSON.parse(providers.settings), ledger: { record_prompts: 'full' } })
    const RECORD_KEY = randomBytes(32).toString('base64')
    gateway = await startGateway({ ...(await withSettings(settings)), RECORD_KEY })
  })
  beforeEach(async () => {
    providers.calls.length = 0
    for (const id of PROVIDER_IDS) providers.answer(id)
    user = await newUser(gateway)
  })
  after(async () => {
    await gateway.stop()
    providers.close()
  })

  const addRule = async (action: object, more: object = {}): Promise<number> => {
    const { status, body } = await user.call('POST', '/v1/routing-rules', routingRule(action, more))
    expect(status, JSON.stringify(body)).to.equal(201)
    return body.data.id
  }
  const chat = (model: string, more: object = {}) => ({
    model,
    messages: [{ role: 'user', content: 'Hello' }],
    ...more,
  })
  const ask = (model: string, more: object = {}) =>
    user.call('POST', '/v1/chat/completions', chat(model, more), { 'x-include-trace': 'true' })
  const models = () => providers.calls.map(({ model }) => model)

  function expectRefusal({ status, body, headers }: Answer, requirement: string) {
    expect(status, JSON.stringify(body)).to.equal(503)
    expect(headers.get('x-should-retry')).to.equal('false')
    const { code, message } = body.error
    expect(code ?? 'no_providers_available').to.equal('no_providers_available')
    expect(message).to.contain(`require: ${requirement}`)
  }

  it('leaves an automatic choice only models that state the attributes, and says so in the trace', async () => {
    const ruleId = await addRule({ require: EU })
    for (const mode of ['cost', 'quality', 'latency', 'balance']) {
      const answer = await ask(`auto:${mode}`)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      expect(IN_EU).to.include(answer.body.model)
      const [entry] = answer.body.signalbox.rule_trace
      const { excluded, ...others } = entry
      expect(others).to.deep.equal({
        ...{ kind: 'routing', rule_id: ruleId, name: 'A rule', action: 'require', outcome: 'applied' },
        ...{ arm: 'region eu, zdr', excluded_count: 3 },
      })
      expect(excluded).to.have.members(['beta/beta-1', 'gamma/gamma-1', 'delta/delta-1'])
    }
    expect(new Set(models())).to.satisfy((called: Set<string>) =>
      [...called].every((id) => IN_EU.includes(id)),
    )
  })

  it('adds up over rules and policies, and rules of users loosen nothing', async () => {
    const policy = await newPolicy(gateway, { routing: [routingRule({ require: { region: 'eu' } })] })
    try {
      await addRule({ require: { zdr: true } })
      await addRule({ require: { region: 'us' } }, { match_json: { contains: 'nowhere' } })
      const { body } = await ask('auto:cost')
      expect(IN_EU).to.include(body.model)
      const entries = body.signalbox.rule_trace
      expect(entries.map(({ arm }: { arm: string }) => arm)).to.deep.equal(['region eu', 'zdr'])
      expect(entries[0].origin).to.include({ type: 'policy', id: policy.id })
      expect(entries[0].excluded).to.have.members(['gamma/gamma-1', 'delta/delta-1'])
      expect(entries[1].excluded).to.have.members(['beta/beta-1', 'delta/delta-1'])
      const nowhere = { messages: [{ role: 'user', content: 'nowhere' }] }
      expectRefusal(await ask('auto', nowhere), 'region eu, region us, zdr')
    } finally {
      await policy.remove()
    }
  })

  it('refuses a model that the request names', async () => {
    await addRule({ require: EU })
    for (const model of ['gamma-1', 'gamma/gamma-1', 'beta:beta-1', 'delta/unlisted', 'delta-1']) {
      const answer = await ask(model)
      expectRefusal(answer, 'region eu, zdr')
      expect(answer.body.error.message).to.contain(model.split(/[/:]/).at(-1))
    }
    expect(models()).to.be.empty
    for (const model of ['alpha-1', 'delta-eu', 'alpha/unlisted'])
      expect((await ask(model)).status, model).to.equal(200)
    expect(models()).to.deep.equal(['alpha-1', 'delta-eu', 'unlisted'])
  })

  it('refuses what other rules choose, whatever their order', async () => {
    const arms = ['gamma-1', 'delta-1'].map((model) => ({ model, weight: 1 }))
    const cases = [{ set_model: 'gamma-1' }, { split: arms }, { set_provider: 'gamma' }]
    for (const [index, action] of cases.entries()) {
      for (const priority of [-1, 1]) {
        user = await newUser(gateway)
        await addRule({ require: { region: 'eu' } })
        await addRule(action, { priority })
        expectRefusal(await ask('auto'), 'region eu')
        // A rule that sets only the provider does not keep another one's model.
        if (index < 2) expectRefusal(await ask('alpha-1'), 'region eu')
      }
    }
    expect(models()).to.be.empty
    user = await newUser(gateway)
    await addRule({ require: { retention_days: 7 }, set_provider: 'gamma' })
    expect((await ask('auto')).body.model).to.equal('gamma-1')
  })

  it('holds on every endpoint', async () => {
    await addRule({ require: EU })
    const input = { model: 'auto', input: 'Hello' }
    const message = { ...chat('auto'), max_tokens: 100 }
    expect((await user.call('POST', '/v1/responses', input)).status).to.equal(200)
    expect((await user.call('POST', '/v1/messages', message)).status).to.equal(200)
    expect((await user.call('POST', '/v1/completions', { model: 'auto', prompt: 'Hello' })).status).to.equal(
      200,
    )
    expect((await user.route({ prompt: 'Hello', model_preferences: ['gamma-1'] })).status).to.equal(200)
    expect((await user.call('POST', '/v1/embeddings', { ...input, dimensions: 2 })).status).to.equal(200)
    const called = models()
    expect(called).to.have.length(5)
    expect(called.at(-1)).to.equal('alpha-embed')
    for (const model of called.slice(0, -1)) expect(IN_EU).to.include(model)
    const refusals = [
      await user.call('POST', '/v1/responses', { ...input, model: 'gamma-1' }),
      await user.call('POST', '/v1/embeddings', { ...input, model: 'gamma-embed' }),
      await user.call('POST', '/v1/completions', { model: 'gamma-1', prompt: 'Hello' }),
      await user.call('POST', '/v1/messages', { ...message, model: 'gamma-1' }),
      await user.call('POST', '/v1/messages/count_tokens', chat('gamma-1')),
    ]
    for (const refusal of refusals) {
      expect(refusal.headers.get('x-error-code'), JSON.stringify(refusal.body)).to.equal(
        'no_providers_available',
      )
      expect(JSON.stringify(refusal.body)).to.contain('require: region eu, zdr')
      expect(refusal.headers.get('x-should-retry')).to.equal('false')
    }
    expect(providers.calls).to.have.length(5)
  })

  it('holds when providers fail, and names the requirement when all have', async () => {
    await addRule({ require: EU })
    providers.answer('alpha', 500)
    expect((await ask('auto:quality')).body.model).to.equal('delta-eu')
    providers.answer('delta', 500)
    const answer = await ask('auto:quality')
    expectRefusal(answer, 'region eu, zdr')
    for (const model of models()) expect(IN_EU).to.include(model)
  })

  it('holds for copies of requests', async () => {
    await addRule({ require: EU, set_model: 'alpha-1', shadow: { model: 'gamma-1', sample: 1 } })
    const { body } = await ask('auto')
    const entry = body.signalbox.rule_trace.find(({ action }: { action: string }) => action === 'shadow')
    expect(entry).to.include({ outcome: 'skipped', reason: 'requirement_not_met' })
    user = await newUser(gateway)
    await addRule({ require: EU, set_model: 'alpha-1', shadow: { model: 'delta-eu', sample: 1 } })
    await ask('auto')
    await waitUntil(async () => models().includes('delta-eu') || undefined)
    expect(models()).to.deep.equal(['alpha-1', 'alpha-1', 'delta-eu'])
  })

  it('holds for the cheaper model of an exceeded budget', async () => {
    await addRule({ require: { region: 'us' } })
    const budget = { limit_usd: 0.000001, period: 'day', on_exceed: 'downgrade' }
    const set = await asAdmin(gateway, 'PUT', budgetOf.user(user.id), budget)
    expect(set.status, JSON.stringify(set.body)).to.be.below(300)
    const { status, body } = await ask('auto:quality', { max_tokens: 10 })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(models()).to.deep.equal(['gamma-1'])
  })

  it('is checked when the rule is made', async () => {
    const invalid = [
      {},
      { region: '' },
      { zdr: false },
      { trains_on_data: true },
      { retention_days: -1 },
      'eu',
      { x: 1 },
    ]
    for (const require of invalid) {
      const { status, body } = await user.call('POST', '/v1/routing-rules', routingRule({ require }))
      expect(status, JSON.stringify(require)).to.equal(422)
      expect(JSON.stringify(body.error)).to.contain('require must be an object such as')
    }
  })

  it('is simulated, also as a draft', async () => {
    const draft = routingRule({ require: { region: 'us' } })
    const rules = { routing: [draft] }
    const simulated = await user.call('POST', '/v1/simulate', { ...chat('auto:cost'), rules })
    expect(simulated.status, JSON.stringify(simulated.body)).to.equal(200)
    expect(simulated.body.data.targets).to.deep.equal([{ provider: 'gamma', model: 'gamma-1' }])
    expect(simulated.body.data.rule_trace[0]).to.include({ arm: 'region us', excluded_count: 4 })
    const refused = await user.call('POST', '/v1/simulate', { ...chat('alpha-1'), rules })
    expect(refused.body.data).to.include({ outcome: 'refused' })
    expect(refused.body.data.error).to.include({ code: 'no_providers_available', http_status: 503 })
    expect(refused.body.data.rule_trace[0].excluded).to.deep.equal(['alpha/alpha-1'])
  })

  it('shows in what-if which requests it would move and refuse', async () => {
    expect((await ask('auto:cost')).body.model).to.equal('alpha-1')
    expect((await ask('gamma-1')).body.model).to.equal('gamma-1')
    expect((await ask('alpha-1')).body.model).to.equal('alpha-1')
    const whatIf = async (require: object) => {
      const file = { users: [{ user: user.id, routing_rules: [routingRule({ require })] }] }
      const { status, body } = await asAdmin(gateway, 'POST', `/admin/what-if?user=${user.id}`, { file })
      expect(status, JSON.stringify(body)).to.equal(200)
      return body.data
    }
    const { reproduced, effects, examples } = await whatIf({ region: 'us' })
    expect(reproduced).to.include({ same: 3, different: 0 })
    expect(effects).to.include({ routed: 1, blocked: 1, unchanged: 1 })
    expect(JSON.stringify(examples)).to.contain('require: region us').and.contain('gamma-1')
    const callsBefore = providers.calls.length
    await addRule({ require: { region: 'us' } })
    await ask('auto:cost')
    await ask('alpha-1')
    expect(providers.calls.slice(callsBefore).map(({ model }) => model)).to.deep.equal(['gamma-1'])
    expect((await whatIf({ region: 'us' })).reproduced).to.include({ different: 0 })
  })

  it('is recorded with what it excluded, and the decision can be made again', async () => {
    await addRule({ require: EU })
    const { headers } = await ask('auto')
    const id = headers.get('x-request-id')
    const { data } = (await asAdmin(gateway, 'GET', `/admin/requests/${id}`)).body
    expect(data.rule_trace[0]).to.include({ action: 'require', arm: 'region eu, zdr', excluded_count: 3 })
    const question = { user_id: user.id, request: chat('auto'), request_id: id }
    const again = (await asAdmin(gateway, 'POST', '/admin/simulate', question)).body.data
    expect(again.rule_trace).to.deep.equal(data.rule_trace)
    expect(again.targets[0]).to.deep.equal({ provider: data.provider, model: data.model })
  })

  it('can be chosen by: the list of models has the attributes', async () => {
    const { body } = await user.call('GET', '/v1/models')
    const stated = (id: string) => {
      const { region, zdr, retention_days, trains_on_data } = body.data.find(
        (row: { id: string }) => row.id === id,
      )
      return { region, zdr, retention_days, trains_on_data }
    }
    const unstated = {
      region: undefined,
      zdr: undefined,
      retention_days: undefined,
      trains_on_data: undefined,
    }
    expect(stated('beta-1')).to.deep.equal({
      ...unstated,
      ...{ region: 'europe-west4', retention_days: 30, trains_on_data: false },
    })
    expect(stated('delta-eu')).to.deep.equal({ ...unstated, region: 'eu-west-1', zdr: true })
    expect(stated('delta-1')).to.deep.equal(unstated)
    const one = await user.call('GET', '/v1/models/alpha-1')
    expect(one.body).to.include({ region: 'eu', zdr: true })
  })
})

describe('the action require, of a provider with deployments', () => {
  it('sends requests only to deployments that have the attributes, also when these fail', async () => {
    const ids = ['west', 'east', 'north'] as const
    const calls: string[] = []
    const servers = await Promise.all(ids.map(() => startScriptedProvider()))
    const answer = (index: number, status: number) =>
      servers[index]?.play({
        ...{ status, body: status === 200 ? completionOf(1, 1) : { error: { message: 'no' } } },
        onRequest: () => calls.push(ids[index] as string),
      })
    const regions = ['us-west-2', undefined, 'eu-north-1']
    const deployments = ids.map((id, index) => {
      return { id, base_url: servers[index]?.url, region: regions[index] }
    })
    const row = { format: 'openai', auth: 'none', region: 'europe-west1', deployments }
    const limits = { requests_per_minute: { free: null, paid: null } }
    const settings = JSON.stringify({ providers: { acme: row }, rate_limits: limits })
    const gateway = await startGateway({ ...(await withSettings(settings)), LOG_LEVEL: 'silent' })
    try {
      for (const index of ids.keys()) answer(index, 200)
      const user = await newUser(gateway)
      await user.call('POST', '/v1/routing-rules', routingRule({ require: { region: 'eu' } }))
      const body = { model: 'acme/loco', messages: [{ role: 'user', content: 'Hello' }] }
      const ask = () => user.call('POST', '/v1/chat/completions', body)
      for (let request = 0; request < 6; request++) expect((await ask()).status).to.equal(200)
      // The row of the provider speaks for a deployment that does not state its region.
      expect(new Set(calls)).to.deep.equal(new Set(['east', 'north']))
      answer(2, 500)
      for (let request = 0; request < 6; request++) expect((await ask()).status).to.equal(200)
      answer(1, 500)
      for (let request = 0; request < 3; request++) expect((await ask()).status).to.be.above(399)
      expect(calls).to.not.include('west')
      const model = await user.call('GET', '/v1/models/acme%2Floco')
      expect(model.body).to.not.have.property('region')
      const none = await newUser(gateway)
      await none.call('POST', '/v1/routing-rules', routingRule({ require: { zdr: true } }))
      const refused = await none.call('POST', '/v1/chat/completions', body)
      expect(refused.status).to.equal(503)
      expect(refused.body.error.message).to.contain('require: zdr')
    } finally {
      await gateway.stop()
      for (const server of servers) server.close()
    }
  })
})
