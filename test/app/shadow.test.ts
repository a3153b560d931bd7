import { expect } from 'chai'
import { ANSWER_USD, budgetOf, readBudget, setBudget } from '../support/budgets.ts'
import { playStorm, withProvider } from '../support/chat-storm.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { scrapeUntil } from '../support/metrics.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy, routingRule } from '../support/policies.ts'
import { chunk, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const SHADOW = 'deepseek-v4-pro'

const LIMITED =
  'plugins: { remove: [shadow], add: [{ use: shadow, after: dispatch, options: { max_concurrent: 2 } }] }\n' +
  'rate_limits: { requests_per_minute: { free: null, paid: null } }'

const toolRequest = {
  tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }],
}

describe('the action shadow', () => {
  let provider: ScriptedProvider
  let other: ScriptedProvider
  let gateway: RunningGateway
  let user: TestUser

  const environment = () => ({
    ...withProvider(provider),
    DEEPSEEK_API_KEY: 'key',
    DEEPSEEK_BASE_URL: other.url,
  })

  before(async () => {
    provider = await startScriptedProvider()
    other = await startScriptedProvider()
    gateway = await startGateway({
      ...environment(),
      ...(await withSettings(LIMITED)),
    })
  })
  beforeEach(async () => {
    playStorm(provider)
    playStorm(other)
    user = await newUser(gateway)
  })
  after(async () => {
    await gateway.stop()
    provider.close()
    other.close()
  })

  const addRule = async (action: object = { shadow: { model: SHADOW, sample: 1 } }) => {
    const { status, body } = await user.call('POST', '/v1/routing-rules', routingRule(action))
    expect(status, JSON.stringify(body)).to.equal(201)
    return body.data.id as number
  }

  const ask = (content: string, more: object = {}) => {
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content }], max_tokens: 100, ...more }
    return user.call('POST', '/v1/chat/completions', body, { 'x-include-trace': 'true' })
  }

  /** The records of the user's copies. */
  const copiesOf = async (of: TestUser) => (await of.call('GET', '/v1/requests?copies=only')).body.data

  const waitForCopies = (count: number) =>
    waitUntil(async () => {
      const copies = await copiesOf(user)
      return copies.length === count ? copies : undefined
    })

  it('sends a copy, as the firewall masked it, and records it beside the request', async () => {
    await addRule()
    const mask = firewallRule({ pattern: '4711', action: 'mask', replacement: '#' })
    await user.call('POST', '/v1/firewall-rules', mask)
    const answer = await ask('My number is 4711', toolRequest)
    expect(answer.status).to.equal(200)
    expect(answer.body.model).to.equal('gpt-4o')
    const [copy] = await waitForCopies(1)
    const id = answer.headers.get('x-request-id')
    expect(copy).to.include({
      shadow_of: id,
      user_id: user.id,
      model: SHADOW,
      provider: 'deepseek',
      status: 200,
    })
    expect(copy.tokens).to.include({ input: 10, output: 40 })
    expect(copy.cost_usd).to.be.above(0)
    const sent = other.last()?.body
    expect(sent.model).to.equal(SHADOW)
    expect(JSON.stringify(sent)).to.include('My number is #').and.not.include('4711')
    expect(sent.tools).to.have.length(1)
    const trace = answer.body.signalbox.rule_trace
    expect(trace.at(-1)).to.include({ action: 'shadow', outcome: 'applied', arm: SHADOW })
  })

  it('counts what it costs in a metric of its own', async () => {
    await addRule()
    const labels = { provider: 'deepseek', model: SHADOW }
    const costs = async () => {
      const metrics = await scrapeUntil(gateway, () => true)
      return [
        metrics.sum('signalbox_shadow_cost_usd_total', labels),
        metrics.sum('signalbox_cost_usd_total', labels),
      ]
    }
    const [before = 0, ofReplies] = await costs()
    await ask('What does it cost?')
    const [copy] = await waitForCopies(1)
    expect(copy.cost_usd).to.be.above(0)
    const [after = 0, ofRepliesAfter] = await costs()
    expect(after - before).to.be.closeTo(copy.cost_usd, 1e-9)
    expect(ofRepliesAfter).to.equal(ofReplies)
    // A copy without a usable reply may be billed, too.
    other.play({ body: 'no JSON' })
    await ask('What does it cost?')
    const [failed] = await waitForCopies(2)
    expect(failed).to.include({ outcome: 'failed' })
    expect(failed.cost_usd).to.be.above(0)
    const [afterFailure = 0] = await costs()
    expect(afterFailure - after).to.be.closeTo(failed.cost_usd, 1e-9)
  })

  it('is summed up by rule and model, for users and for operators', async () => {
    const rule = await addRule()
    await ask('Hello')
    await waitForCopies(1)
    other.play({ status: 401, body: { error: { message: 'no' } } })
    await ask('Hello again')
    const copies = await waitForCopies(2)
    const copy = copies.find(({ status }: { status: number }) => status === 200)
    const rated = { request_id: copy.x_request_id, score: 0.5 }
    expect((await user.call('POST', '/v1/feedback', rated)).status).to.equal(201)

    const { body } = await user.call('GET', '/v1/usage/copies')
    const common = { rule: `routing:${rule}`, unknown_costs: 0 }
    const failed = { provider: null, model: null, copies: 1, errors: 1, latency_ms: null, mean_score: null }
    expect(body.data[0]).to.include({ ...common, ...failed, ratings: 0, cost_usd: 0 })
    const answered = {
      provider: 'deepseek',
      model: SHADOW,
      copies: 1,
      errors: 0,
      ratings: 1,
      mean_score: 0.5,
    }
    expect(body.data[1]).to.include({ ...common, ...answered, cost_usd: copy.cost_usd })
    expect(body.data[1].latency_ms).to.equal(copy.latency_ms)
    expect(body.data[1].tokens).to.deep.equal({ input: 10, output: 40 })
    const ofRule = await user.call('GET', `/v1/requests?copies=only&rule=routing:${rule}`)
    expect(ofRule.body.data).to.have.length(2)

    const all = await asAdmin(gateway, 'GET', `/admin/usage/copies?user=${user.id}`)
    expect(all.body.data).to.deep.equal(body.data)
    const nobody = await asAdmin(gateway, 'GET', '/admin/usage/copies?user=999999')
    expect(nobody.body.data).to.deep.equal([])
    expect((await user.call('GET', '/v1/usage/copies?since=2001-01-01&until=2001-01-02')).body.data).to.be
      .empty
    expect((await user.call('GET', '/v1/usage/copies?group=1')).status).to.equal(400)
  })

  it('sends no copy where a policy chose the model or the provider, unless a policy says so', async () => {
    await addRule()
    for (const choice of [{ set_provider: 'openai' }, { set_model: 'gpt-4o' }]) {
      const routing = [routingRule(choice)]
      const policy = await newPolicy(gateway, { applies_to: { users: [user.id] }, routing })
      const { body } = await ask('Hello')
      const entry = { action: 'shadow', outcome: 'skipped', reason: 'overruled_by_policy' }
      expect(body.signalbox.rule_trace.at(-1)).to.include(entry)
      await policy.remove()
    }
    const routing = [routingRule({ set_model: 'gpt-4o' })]
    const copying = [routingRule({ shadow: { model: SHADOW, sample: 1 } })]
    const applies_to = { users: [user.id] }
    const policies = [
      await newPolicy(gateway, { applies_to, routing }),
      await newPolicy(gateway, { applies_to, routing: copying }),
    ]
    expect((await ask('Hello')).status).to.equal(200)
    await waitForCopies(1)
    for (const policy of policies) await policy.remove()
  })

  it('is no part of the requests, usage and budget of the user, if a policy asks for it', async () => {
    const routing = [routingRule({ shadow: { model: SHADOW, sample: 1 } })]
    const policy = await newPolicy(gateway, { applies_to: { users: [user.id] }, routing })
    await setBudget(gateway, `/admin/users/${user.id}/budget`, { limit_usd: 1 })
    await ask('Hello')
    await waitForCopies(1)
    await policy.remove()
    expect((await user.call('GET', '/v1/requests')).body.data).to.have.length(1)
    expect((await user.call('GET', '/v1/requests?copies=include')).body.data).to.have.length(2)
    const [usage] = (await user.call('GET', '/v1/usage')).body.data
    expect(usage).to.include({ requests: 1, cost_usd: ANSWER_USD })
    const { spent_usd } = await readBudget(gateway, `/admin/users/${user.id}/budget`)
    expect(spent_usd).to.be.closeTo(ANSWER_USD, 1e-12)
  })

  it('counts in the budgets of the user, the key and the groups, if a rule of the user asks for it', async () => {
    await addRule({ shadow: { model: 'gpt-4o', sample: 1 } })
    const { body } = await asAdmin(gateway, 'POST', '/admin/groups', { name: 'Copiers' })
    await asAdmin(gateway, 'PUT', `/admin/groups/${body.data.id}/members/${user.id}`)
    const paths = [budgetOf.user(user.id), budgetOf.key(user.keyId), budgetOf.group(body.data.id)]
    for (const path of paths) await setBudget(gateway, path, { limit_usd: 1 })
    const answer = await ask('Hello', { model: SHADOW })
    await waitForCopies(1)
    const spent = answer.body.signalbox.cost_usd + ANSWER_USD
    for (const path of paths) {
      const { spent_usd } = await readBudget(gateway, path)
      expect(spent_usd, path).to.be.closeTo(spent, 1e-12)
    }
    const [path = ''] = paths
    const before = (await scrapeUntil(gateway, () => true)).sum(COPIES, { outcome: 'over_budget' })
    await setBudget(gateway, path, { limit_usd: spent + 2 * ANSWER_USD })
    expect((await ask('Hello', { model: SHADOW })).status).to.equal(200)
    await scrapeUntil(gateway, (metrics) => metrics.sum(COPIES, { outcome: 'over_budget' }) === before + 1)
  })

  it('copies streams, and what the copy replies never reaches the client', async () => {
    await addRule()
    const say = (content: string) => ({
      chunks: [chunk({ role: 'assistant', content }), { ...chunk({}, 'stop'), usage: USAGE }],
    })
    provider.play(say('Good morning'))
    other.play(say('Good night'))
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }], stream: true }
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(await response.text())
      .to.include('Good morning')
      .and.not.include('Good night')
    const [copy] = await waitForCopies(1)
    expect(copy).to.include({ stream: true, status: 200 })
    expect(copy.tokens).to.include({ input: 3, output: 2 })
  })

  it('keeps errors of the copy from clients and from circuit breakers', async () => {
    await addRule()
    other.play({ status: 401, body: { error: { message: 'no' } } })
    for (let request = 1; request <= 6; request++) {
      expect((await ask('Hello')).status).to.equal(200)
      const copies = await waitForCopies(request)
      expect(copies[0]).to.include({ outcome: 'failed', model: null })
    }
    playStorm(other)
    expect((await ask('Hello', { model: SHADOW })).status).to.equal(200)
  })

  it('copies nothing that was refused or failed, nor what the model itself answered', async () => {
    await addRule()
    await user.call('POST', '/v1/firewall-rules', firewallRule({ pattern: 'secret' }))
    expect((await ask('secret')).status).to.equal(403)
    provider.play({ status: 400, body: { error: { message: 'no' } } })
    expect((await ask('Hello')).status).to.equal(400)
    const same = await ask('Hello', { model: SHADOW })
    expect(same.body.signalbox.rule_trace.at(-1)).to.include({ outcome: 'skipped', reason: 'same_model' })
    expect(await copiesOf(user)).to.deep.equal([])
  })

  it('copies a sample, drawn by the id of the request', async () => {
    await addRule({ shadow: { model: SHADOW, sample: 0.5 } })
    const outcomes = new Set<string>()
    for (let request = 0; request < 24; request++) {
      const { body } = await ask('Hello')
      const { outcome, reason = '' } = body.signalbox.rule_trace.at(-1)
      outcomes.add(`${outcome} ${reason}`)
    }
    expect([...outcomes].sort()).to.deep.equal(['applied ', 'skipped not_sampled'])
  })

  it('drops copies beyond the limit, and never delays the answer', async () => {
    await addRule()
    let release: () => void = () => undefined
    const until = new Promise<void>((resolve) => {
      release = resolve
    })
    other.play({ body: {}, until })
    const dropped = (await scrapeUntil(gateway, () => true)).sum(COPIES, { outcome: 'dropped' })
    for (let request = 0; request < 3; request++) expect((await ask('Hello')).status).to.equal(200)
    await scrapeUntil(gateway, (metrics) => metrics.sum(COPIES, { outcome: 'dropped' }) === dropped + 1)
    release()
    await waitForCopies(2)
  })

  it('is limited by a budget of its own', async () => {
    await addRule()
    const budget = '/admin/budget/shadow'
    const before = (await scrapeUntil(gateway, () => true)).sum(COPIES, { outcome: 'over_budget' })
    expect((await setBudget(gateway, budget, { limit_usd: 0.0000001 })).status).to.equal(200)
    expect((await ask('Hello')).status).to.equal(200)
    await scrapeUntil(gateway, (metrics) => metrics.sum(COPIES, { outcome: 'over_budget' }) === before + 1)
    await setBudget(gateway, budget, { limit_usd: 1 })
    const { spent_usd } = await readBudget(gateway, budget)
    await ask('Hello')
    const [copy] = await waitForCopies(1)
    const after = await waitUntil(async () => {
      const state = await readBudget(gateway, budget)
      return state.spent_usd > spent_usd && state.reserved_usd === 0 ? state : undefined
    })
    expect(after.spent_usd - spent_usd).to.be.closeTo(copy.cost_usd, 1e-12)
    const { body } = await gateway.call('GET', '/admin/rules/file', undefined, AS_ADMIN)
    expect(body.data.budgets.shadow).to.include({ limit_usd: 1 })
    await asAdmin(gateway, 'DELETE', budget)
  })

  it('counts what the ledger recorded before the budget was set', async () => {
    const first = await startGateway(environment())
    user = await newUser(first)
    await addRule()
    await first.call('POST', '/v1/chat/completions', REQUEST, { authorization: `Bearer ${user.key}` })
    const [copy] = await waitForCopies(1)
    await setBudget(first, `/admin/users/${user.id}/budget`, { limit_usd: 1 })
    await setBudget(first, '/admin/budget/shadow', { limit_usd: 1 })
    await setBudget(first, '/admin/budget', { limit_usd: 1 })
    const spent = async (path: string) => (await readBudget(first, path)).spent_usd
    expect(await spent(`/admin/users/${user.id}/budget`)).to.be.closeTo(ANSWER_USD + copy.cost_usd, 1e-12)
    expect(await spent('/admin/budget/shadow')).to.be.closeTo(copy.cost_usd, 1e-12)
    expect(await spent('/admin/budget')).to.be.closeTo(ANSWER_USD + copy.cost_usd, 1e-12)
    await first.stop()
  })

  it('ends copies that take longer than a stop may take, and records them', async () => {
    const first = await startGateway({
      ...environment(),
      ...(await withSettings('timeouts: { drain_ms: 50 }')),
    })
    await setBudget(first, '/admin/budget/shadow', { limit_usd: 1 })
    user = await newUser(first)
    await addRule()
    other.play({ body: {}, until: new Promise(() => undefined) })
    await first.call('POST', '/v1/chat/completions', REQUEST, { authorization: `Bearer ${user.key}` })
    await scrapeUntil(first, (metrics) => metrics.sum('signalbox_shadow_copies_in_flight') === 1)
    await first.stop()
    const second = await startGateway(environment(), first)
    const headers = { authorization: `Bearer ${user.key}` }
    const { body } = await second.call('GET', '/v1/requests?copies=only', undefined, headers)
    expect(body.data).to.have.length(1)
    expect(body.data[0]).to.include({ status: 499, aborted: true })
    expect(body.data[0].cost_usd).to.be.greaterThan(0)
    const { spent_usd } = await readBudget(second, '/admin/budget/shadow')
    expect(spent_usd).to.be.closeTo(body.data[0].cost_usd, 1e-12)
    await second.stop()
  })

  it('is simulated', async () => {
    await addRule()
    const body = { user_id: user.id, request: REQUEST }
    const { data } = (await asAdmin(gateway, 'POST', '/admin/simulate', body)).body
    expect(data.shadow).to.deep.equal({ provider: 'deepseek', model: SHADOW })
  })

  it('refuses models that are unknown, and other samples, when the rule is made', async () => {
    for (const shadow of [
      { model: 'nonsense', sample: 1 },
      { model: SHADOW, sample: 0 },
      { model: SHADOW },
    ]) {
      const { status, body } = await user.call('POST', '/v1/routing-rules', routingRule({ shadow }))
      expect(status).to.equal(422)
      expect(body.error.errors.action_json[0]).to.match(/^shadow /)
    }
  })
})

const COPIES = 'signalbox_shadow_copies_total'

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

const REQUEST = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 }
