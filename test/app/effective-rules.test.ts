import { expect } from 'chai'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy, routingRule } from '../support/policies.ts'

const messages = [{ role: 'user', content: 'a secret' }]

describe('rules that apply to a user', () => {
  let gateway: RunningGateway
  let user: TestUser
  let policy: Awaited<ReturnType<typeof newPolicy>>
  before(async () => {
    gateway = await startGateway()
  })
  beforeEach(async () => {
    user = await newUser(gateway)
    policy = await newPolicy(gateway, {
      name: 'Guard',
      visibility: 'full',
      applies_to: { users: [user.id] },
      firewall: [
        firewallRule({ name: 'low', pattern: 'nothing' }),
        firewallRule({ name: 'high', priority: 9 }),
      ],
      routing: [routingRule({ set_mode: 'cost' }), routingRule({ set_mode: 'cost' }, { is_enabled: false })],
    })
  })
  afterEach(() => policy.remove())
  after(() => gateway.stop())

  const admin = (method: string, path: string, body?: unknown) => asAdmin(gateway, method, path, body)
  const expectError = ({ status, headers, body }: Answer, expected: [number, string]) => {
    expect([status, headers.get('x-error-code')], JSON.stringify(body)).to.deep.equal(expected)
  }
  const simulate = async (body: object) =>
    (await admin('POST', '/admin/simulate', { user_id: user.id, request: { messages }, ...body })).body.data

  it('are listed in evaluation order with their origin, for the user and for operators', async () => {
    const own = (await user.call('POST', '/v1/firewall-rules', firewallRule({ priority: 1000 }))).body.data
    const { data } = (await user.call('GET', '/v1/rules/effective')).body
    const origin = { type: 'policy', id: policy.id, name: 'Guard' }
    expect(data.firewall.map(({ name, origin }: Record<string, unknown>) => [name, origin])).to.deep.equal([
      ['high', origin],
      ['low', origin],
      [own.name, { type: 'user', id: user.id }],
    ])
    expect(data.firewall.at(-1)).to.deep.include(own)
    expect(data.routing).to.have.length(1)
    expect(data.routing[0]).to.deep.include({ policy_id: policy.id, origin })
    const asOperator = await admin('GET', `/admin/users/${user.id}/effective-rules`)
    expect(asOperator.body).to.deep.equal({ data })
    expect((await user.call('GET', '/v1/firewall-rules')).body.data).to.deep.equal([own])

    await user.setPlan('free')
    const free = (await user.call('GET', '/v1/rules/effective')).body.data
    expect(free.firewall).to.deep.equal(data.firewall.slice(0, 2))
  })

  it('show users what they look for only if their policy says so', async () => {
    const confidential = { match_json: { contains: 'acquisition-zebra' } }
    const hidden = await newPolicy(gateway, {
      name: 'Hidden',
      applies_to: { users: [user.id] },
      firewall: [
        firewallRule({ name: 'Deal', pattern: 'acquisition-orca' }),
        firewallRule({ name: 'Person', pattern: 'person-lynx', action: 'mask', replacement: '[x]' }),
      ],
      routing: [routingRule({ set_mode: 'quality' }, confidential)],
    })
    expect((await admin('GET', hidden.path)).body.data.visibility).to.equal('name')
    const ask = (content: string) =>
      user.call(
        'POST',
        '/v1/chat/completions',
        { model: 'auto', messages: [{ role: 'user', content }] },
        { 'x-include-trace': 'true' },
      )
    const effective = async () => (await user.call('GET', '/v1/rules/effective')).body.data
    const { rules_position, ...rules } = await effective()
    const refused = await ask('about acquisition-ORCA')
    const masked = await ask('about person-LYNX')
    const request = { model: 'auto', messages: [{ role: 'user', content: 'about acquisition-ZEBRA' }] }
    const answers = [
      rules,
      (await user.call('GET', `/v1/rules/effective?as_of=${rules_position}`)).body,
      refused.body,
      [...refused.headers],
      masked.body,
      [...masked.headers],
      (await user.call('GET', `/v1/requests/${refused.headers.get('x-request-id')}`)).body,
      (await user.call('GET', `/v1/requests/${masked.headers.get('x-request-id')}`)).body,
      (await user.call('POST', '/v1/simulate', request)).body,
      (await user.call('GET', '/v1/audit')).body,
      (await user.call('GET', '/v1/usage')).body,
      (await user.call('GET', '/openapi.json')).body,
    ]
    expect(JSON.stringify(answers)).not.to.match(/acquisition-orca|person-lynx|acquisition-zebra/)
    const [deal] = rules.firewall.filter(({ name }: { name: string }) => name === 'Deal')
    expect(deal).to.include({ id: hidden.ruleIds[0], policy_id: hidden.id, action: 'block', scope: 'prompt' })
    for (const field of ['pattern', 'replacement']) expect(deal).not.to.have.property(field)
    for (const each of rules.routing.filter(
      ({ policy_id }: { policy_id: number }) => policy_id === hidden.id,
    ))
      for (const field of ['match_json', 'action_json']) expect(each).not.to.have.property(field)

    const seenByOperators = await admin('GET', `/admin/users/${user.id}/effective-rules`)
    expect(JSON.stringify(seenByOperators.body)).to.contain('acquisition-orca')
    const changed = await admin('PATCH', hidden.path, { visibility: 'full' })
    expect(changed.body.data.visibility).to.equal('full')
    expect(JSON.stringify(await effective()))
      .to.contain('acquisition-orca')
      .and.to.contain('zebra')
    const exported = (await admin('GET', '/admin/rules/file')).body
    const file = exported.data?.file ?? exported.data ?? exported
    const entry = file.policies.find(({ name }: { name: string }) => name === 'Hidden')
    expect(entry.visibility).to.equal('full')
    await admin('PATCH', hidden.path, { visibility: 'name' })
    expect(JSON.stringify(await effective())).not.to.contain('acquisition-orca')
    expectError(await admin('PATCH', hidden.path, { visibility: 'none' }), [400, 'invalid_value'])
    await hidden.remove()
    const past = await user.call('GET', `/v1/rules/effective?as_of=${rules_position}`)
    expect(JSON.stringify(past.body)).to.contain('Deal').and.not.to.contain('acquisition-orca')
  })

  it('are listed as of a position, with the policies and the groups of then', async () => {
    const group = (await admin('POST', '/admin/groups', { name: 'G' })).body.data
    await admin('PUT', `/admin/groups/${group.id}/members/${user.id}`)
    const other = await newPolicy(gateway, {
      name: 'Group',
      priority: 5,
      applies_to: { groups: [group.id] },
      firewall: [firewallRule({ name: 'of group' })],
    })
    const before = (await user.call('GET', '/v1/rules/effective')).body.data
    expect(before.firewall[0].name).to.equal('of group')
    await admin('PATCH', policy.path, { is_enabled: false })
    await admin('DELETE', `/admin/groups/${group.id}/members/${user.id}`)
    await other.remove()
    await admin('DELETE', `/admin/groups/${group.id}`)
    expect((await user.call('GET', '/v1/rules/effective')).body.data.firewall).to.deep.equal([])

    const path = `/admin/users/${user.id}/effective-rules?as_of=${before.rules_position}`
    const namesOf = ({ body }: Answer) => body.data.firewall.map(({ name }: { name: string }) => name)
    expect(namesOf(await admin('GET', path))).to.deep.equal(['of group', 'high', 'low'])
    const own = await user.call('GET', `/v1/rules/effective?as_of=${before.rules_position}`)
    expect(own.body.data).to.deep.equal(before)
    expectError(await admin('GET', '/admin/users/999999/effective-rules'), [404, 'not_found'])
    const unborn = await admin('GET', `/admin/users/${user.id}/effective-rules?as_of=1`)
    expect(unborn.body.data).to.deep.equal({ rules_position: 0, routing: [], firewall: [], tool: [] })
    expectError(await user.call('GET', '/v1/rules/effective?as_of=987654321'), [400, 'invalid_value'])
  })

  it('decide simulations by operators and by users, now and as of a position', async () => {
    const origin = { type: 'policy', id: policy.id, name: 'Guard' }
    const blocked = await simulate({})
    expect(blocked).to.deep.include({
      outcome: 'refused',
      blocked_by: { rule_id: policy.ruleIds[1], name: 'high', origin },
    })
    expect((await user.call('POST', '/v1/simulate', { messages })).body.data).to.deep.equal(blocked)
    await policy.remove()
    expect((await simulate({})).outcome).to.equal('allowed')
    expect(await simulate({ as_of: blocked.rules_position })).to.deep.equal(blocked)
    expect(await simulate({ as_of: String(blocked.rules_position), endpoint: 'chat' })).to.deep.equal(blocked)
  })

  it('are known of deleted users, as of a position', async () => {
    const before = (await user.call('GET', '/v1/rules/effective')).body.data
    const decided = await simulate({})
    await admin('DELETE', `/admin/users/${user.id}`)
    const path = `/admin/users/${user.id}/effective-rules`
    expectError(await admin('GET', path), [404, 'not_found'])
    expect((await admin('GET', `${path}?as_of=${before.rules_position}`)).body.data).to.deep.equal(before)
    expect(await simulate({ as_of: decided.rules_position })).to.deep.equal(decided)
    expectError(await admin('GET', `/admin/users/999999/effective-rules?as_of=1`), [404, 'not_found'])
    const unknown = { user_id: 999999, request: { messages }, as_of: 1 }
    expectError(await admin('POST', '/admin/simulate', unknown), [404, 'not_found'])
  })

  it('decide simulations together with drafts for the user and for policies', async () => {
    const request = { messages: [{ role: 'user', content: 'a tulip' }] }
    const draft = firewallRule({ name: 'Draft', pattern: 'tulip' })
    expect((await simulate({ request })).outcome).to.equal('allowed')
    const own = await simulate({ request, drafts: { firewall: [draft] } })
    expect(own.blocked_by).to.deep.equal({ rule_id: -1, name: 'Draft' })

    await admin('PATCH', policy.path, { is_enabled: false })
    const drafts = { policies: [{ policy_id: policy.id, firewall: [draft] }] }
    const drafted = await simulate({ request, drafts })
    const origin = { type: 'policy', id: policy.id, name: 'Guard' }
    expect(drafted.blocked_by).to.deep.equal({ rule_id: -1, name: 'Draft', origin })
    expect(drafted.routing_mode).to.equal(null)
    const changed = { id: policy.ruleIds[0], pattern: 'tulip' }
    const withChange = await simulate({
      request,
      drafts: { policies: [{ policy_id: policy.id, firewall: [changed] }] },
    })
    expect(withChange.blocked_by).to.include({ rule_id: policy.ruleIds[0], name: 'low' })
    expect((await simulate({ request })).outcome).to.equal('allowed')

    const post = (body: object) => admin('POST', '/admin/simulate', { user_id: user.id, request, ...body })
    expectError(await post({ user_id: 999999 }), [404, 'not_found'])
    expectError(await post({ drafts: { policies: [{ policy_id: 999999 }] } }), [404, 'not_found'])
    expectError(await post({ draft: {} }), [400, 'invalid_value'])
    const invalid = { policies: [{ policy_id: policy.id, firewall: [{ ...draft, action: 'eat' }] }] }
    const refused = await post({ drafts: invalid })
    expectError(refused, [400, 'invalid_rule'])
    expect(refused.body.error.message).to.contain('drafts.policies[0].firewall[0]')
  })
})
