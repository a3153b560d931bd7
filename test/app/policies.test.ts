import { expect } from 'chai'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, type NewPolicy, newPolicy, routingRule } from '../support/policies.ts'

describe('policies', () => {
  let gateway: RunningGateway
  let user: TestUser
  const cleanups: (() => Promise<unknown>)[] = []
  before(async () => {
    gateway = await startGateway()
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  afterEach(async () => {
    for (const remove of cleanups.splice(0)) await remove()
  })
  after(() => gateway.stop())

  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    asAdmin(gateway, method, path, body, headers)
  /** A policy that is removed after the test. */
  const create = async (policy: NewPolicy) => {
    const created = await newPolicy(gateway, policy)
    cleanups.push(created.remove)
    return created
  }
  const ask = (content: string, from: TestUser = user, more: object = {}) =>
    from.call(
      'POST',
      '/v1/chat/completions',
      { model: 'auto', messages: [{ role: 'user', content }], ...more },
      { 'x-include-trace': 'true' },
    )
  const replyOf = ({ body }: Answer): string => body.choices[0].message.content
  const expectError = ({ status, headers, body }: Answer, expected: [number, string]) => {
    expect([status, headers.get('x-error-code')], JSON.stringify(body)).to.deep.equal(expected)
  }

  describe('apply', () => {
    it('to everyone, on every plan, and name the policy that blocks', async () => {
      const policy = await create({ name: 'No secrets', firewall: [firewallRule({ name: 'Secrets' })] })
      for (const plan of ['free', 'paid']) {
        const answer = await ask('a secret', await newUser(gateway, plan))
        expectError(answer, [403, 'firewall_blocked'])
        const { error } = answer.body
        expect(error.message).to.equal('Request blocked by firewall rule "Secrets" of policy "No secrets".')
        const origin = { type: 'policy', id: policy.id, name: 'No secrets' }
        expect(error.meta).to.deep.equal({ rule_id: policy.ruleIds[0], origin })
      }
      expect((await ask('harmless')).status).to.equal(200)
    })

    it('when a paid user is downgraded, whose own rules are suspended', async () => {
      await user.call('POST', '/v1/firewall-rules', firewallRule({ pattern: 'mine' }))
      await create({ firewall: [firewallRule({ pattern: 'yours' })] })
      await user.setPlan('free')
      expectError(await ask('yours'), [403, 'firewall_blocked'])
      const passed = await ask('mine')
      expect(passed.status).to.equal(200)
      expect(passed.body.signalbox.warnings[0].code).to.equal('plan')
    })

    it('to users and to groups that they name, until the user leaves the group', async () => {
      const [member, other] = [await newUser(gateway), await newUser(gateway)]
      const group = (await admin('POST', '/admin/groups', { name: 'G' })).body.data
      const membership = `/admin/groups/${group.id}/members/${member.id}`
      await create({ applies_to: { groups: [group.id], users: [user.id] }, firewall: [firewallRule()] })
      const outcomes = async () =>
        Promise.all([user, member, other].map(async (who) => (await ask('a secret', who)).status))

      expect(await outcomes()).to.deep.equal([403, 200, 200])
      await admin('PUT', membership)
      expect(await outcomes()).to.deep.equal([403, 403, 200])
      await admin('DELETE', membership)
      expect(await outcomes()).to.deep.equal([403, 200, 200])
    })

    it('only while they are enabled', async () => {
      const { path } = await create({ firewall: [firewallRule()] })
      for (const [is_enabled, status] of [
        [false, 200],
        [true, 403],
      ] as const) {
        await admin('PATCH', path, { is_enabled })
        expect((await ask('a secret')).status).to.equal(status)
      }
      await admin('DELETE', path)
      expect((await ask('a secret')).status).to.equal(200)
    })
  })

  describe('are evaluated', () => {
    it('by priority, before the rules of the user: a mask changes what later rules see', async () => {
      await user.call('POST', '/v1/firewall-rules', firewallRule({ pattern: 'third', priority: 1000 }))
      const mask = (pattern: string, replacement: string) =>
        firewallRule({ pattern, replacement, action: 'mask', priority: -1000 })
      await create({ name: 'Low', priority: -5, firewall: [mask('second', 'other')] })
      await create({ name: 'High', priority: 5, firewall: [mask('first', 'second')] })
      await create({ name: 'Low too', priority: -5, firewall: [mask('other', 'third')] })
      const { body } = await ask('first')
      expect(body.error.message).to.equal('Request blocked by firewall rule "A rule".')

      await user.call('POST', '/v1/firewall-rules', mask('third', 'masked'))
      const rules = (await user.call('GET', '/v1/firewall-rules')).body.data
      await user.call('DELETE', `/v1/firewall-rules/${rules[0].id}`)
      const passed = await ask('first')
      expect(replyOf(passed)).to.contain('"masked"')
      const names = passed.body.signalbox.rule_trace.map(
        (entry: { origin?: { name: string } }) => entry.origin?.name,
      )
      expect(names).to.deep.equal(['High', 'Low', 'Low too', undefined])
    })

    it('so that their choice of a model, a provider or a mode stands', async () => {
      const own = [{ set_model: 'gpt-4o-mini' }, { set_provider: 'openai' }, { set_mode: 'quality' }]
      for (const action of own) await user.call('POST', '/v1/routing-rules', routingRule(action))
      const choices = [
        [{ set_model: 'mistral-small-2603' }, 'mistral'],
        [{ set_provider: 'anthropic' }, 'anthropic'],
      ] as const
      for (const [action, provider] of choices) {
        const policy = await create({ routing: [routingRule(action)] })
        const answer = await ask('hello')
        expect(answer.body.provider, JSON.stringify(answer.body)).to.equal(provider)
        await policy.remove()
      }
      const policy = await create({ routing: [routingRule({ set_mode: 'cost' })] })
      const { signalbox } = (await ask('hello', user, { model: 'gpt-4o' })).body
      expect(signalbox.routing_mode).to.equal('cost')
      const skipped = signalbox.rule_trace.filter(({ outcome }: { outcome: string }) => outcome === 'skipped')
      expect(skipped.map(({ action, reason }: Record<string, string>) => [action, reason])).to.deep.equal([
        ['set_model', 'overruled_by_policy'],
        ['set_mode', 'already_set_by_rule'],
      ])
      await policy.remove()
    })

    it('with warnings that name the policy, and a record that does', async () => {
      const { id } = await create({ name: 'Careful', firewall: [firewallRule({ action: 'warn' })] })
      const answer = await ask('a secret')
      expect(answer.body.signalbox.warnings).to.deep.equal([
        { code: 'firewall', message: 'Firewall rule "A rule" of policy "Careful" triggered.' },
      ])
      const record = (await user.call('GET', `/v1/requests/${answer.headers.get('x-request-id')}`)).body.data
      expect(record.rule_trace[0].origin).to.deep.equal({ type: 'policy', id, name: 'Careful' })
      expect(record.rules_position).to.equal(answer.body.signalbox.rules_position)
    })
  })

  it('are created, read, updated and deleted', async () => {
    const fields = {
      name: 'PII',
      description: 'Personal data',
      is_enabled: true,
      priority: 7,
      visibility: 'name',
    }
    const created = await admin('POST', '/admin/policies', { ...fields, applies_to: { users: [user.id] } })
    expect([created.status, created.headers.get('etag')]).to.deep.equal([201, '"1"'])
    const { id, created_at } = created.body.data
    const applies_to = { groups: [], users: [user.id] }
    expect(created.body.data).to.deep.equal({ id, ...fields, applies_to, created_at, updated_at: created_at })

    const path = `/admin/policies/${id}`
    const change = { description: null, applies_to: { everyone: true } }
    const changed = await admin('PATCH', path, change, { 'if-match': '"1"' })
    expect(changed.body.data).to.deep.include({ ...fields, ...change })
    expectError(await admin('PATCH', path, { priority: 1 }, { 'if-match': '"1"' }), [
      412,
      'revision_mismatch',
    ])
    const read = await admin('GET', path)
    expect(read.body).to.deep.equal(changed.body)
    expect(read.headers.get('etag')).to.equal('"2"')
    expect((await admin('GET', '/admin/policies')).body.data).to.deep.equal([changed.body.data])
    expect((await admin('DELETE', path)).body).to.deep.equal({ success: true })
    expectError(await admin('GET', path), [404, 'not_found'])
    expect((await admin('GET', '/admin/policies')).body.data).to.deep.equal([])
  })

  it('refuse what is not valid, and name it', async () => {
    const valid = { name: 'P', is_enabled: true, priority: 0, applies_to: { everyone: true } }
    const invalid: [object, string][] = [
      [{ priority: 1001 }, 'priority'],
      [{ is_enabled: 'yes' }, 'is_enabled'],
      [{ applies_to: { everyone: false } }, 'applies_to'],
      [{ applies_to: {} }, 'applies_to'],
      [{ applies_to: { groups: [] } }, 'applies_to'],
      [{ applies_to: { everyone: true, users: [user.id] } }, 'applies_to'],
      [{ applies_to: { groups: [999999] } }, 'applies_to: group 999999 was not found'],
      [{ applies_to: { users: [999999] } }, 'applies_to: user 999999 was not found'],
      [{ prioritty: 1 }, 'prioritty'],
    ]
    for (const [fields, text] of invalid) {
      const answer = await admin('POST', '/admin/policies', { ...valid, ...fields })
      expectError(answer, [400, 'invalid_value'])
      expect(answer.body.error.message).to.contain(text)
    }
    expectError(await user.call('POST', '/admin/policies', valid), [401, 'invalid_api_key'])
  })

  it('keep the groups that they apply to from being deleted', async () => {
    const group = (await admin('POST', '/admin/groups', { name: 'G' })).body.data
    const policy = await create({ applies_to: { groups: [group.id] }, firewall: [firewallRule()] })
    const refused = await admin('DELETE', `/admin/groups/${group.id}`)
    expectError(refused, [409, 'conflict'])
    expect(refused.body.error.message).to.contain(`Policy ${policy.id}`)
    await policy.remove()
    expect((await admin('DELETE', `/admin/groups/${group.id}`)).status).to.equal(200)
  })
})
