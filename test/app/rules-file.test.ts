import { expect } from 'chai'
import { EventLogUnavailableError } from '../../core/contract/index.ts'
import { createMemoryLog } from '../../core/event-log/memory.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { asAdmin, firewallRule, newPolicy, routingRule } from '../support/policies.ts'

const PATH = '/admin/rules/file'

describe('rules as a file', () => {
  let gateway: RunningGateway
  let user: TestUser
  beforeEach(async () => {
    gateway = await startGateway()
    user = await newUser(gateway)
  })
  afterEach(() => gateway.stop())

  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    asAdmin(gateway, method, path, body, headers)
  const plan = async (file: object) => {
    const { status, body } = await admin('POST', `${PATH}/plan`, { file })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }
  const apply = (file: object, terms: object = {}, headers?: Record<string, string>) =>
    admin('POST', `${PATH}/apply`, { file, ...terms }, headers)
  const exported = async (query = '') => (await admin('GET', PATH + query)).body.data
  const ask = async (content: string, from: TestUser = user) =>
    (await from.call('POST', '/v1/chat/completions', { messages: [{ role: 'user', content }] })).status

  const POLICY = {
    name: 'No secrets',
    is_enabled: true,
    priority: 10,
    applies_to: { everyone: true },
    firewall_rules: [firewallRule({ name: 'Secrets' })],
    routing_rules: [routingRule({ set_mode: 'quality' }, { name: 'Quality' })],
  }

  it('creates groups, policies, rules and budgets, which are in force when it is answered', async () => {
    const file = {
      groups: [{ name: 'Support', members: [user.id] }],
      policies: [{ ...POLICY, applies_to: { groups: ['Support'] } }],
      users: [{ user: user.id, firewall_rules: [firewallRule({ name: 'Mine', pattern: 'mine' })] }],
      budgets: {
        overall: { limit_usd: 100, period: 'month', on_exceed: 'refuse' },
        users: [{ user: user.id, budget: { limit_usd: 5, period: 'day', on_exceed: 'downgrade' } }],
        groups: [{ group: 'Support', budget: { limit_usd: 9, period: 'week', on_exceed: 'refuse' } }],
        keys: [{ key: user.keyId, budget: { limit_usd: 1, period: 'day', on_exceed: 'refuse' } }],
      },
    }
    const other = await newUser(gateway)
    const { status, body } = await apply(file, {}, { 'x-change-reason': 'first' })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(await Promise.all([ask('a secret'), ask('mine'), ask('a secret', other)])).to.deep.equal([
      403, 403, 200,
    ])
    const titles = body.data.applied.map(({ title }: { title: string }) => title)
    expect(titles).to.deep.equal([
      'group "Support"',
      'user "someone"',
      'policy "No secrets"',
      'rules of user "someone"',
      'budget of everything together',
    ])
    const key = await admin('GET', `/admin/keys/${user.keyId}/budget`)
    expect(key.body.data.limit_usd).to.equal(1)
    const [group] = (await admin('GET', '/admin/groups')).body.data
    expect((await admin('GET', `/admin/groups/${group.id}/budget`)).body.data.limit_usd).to.equal(9)
    const raised = { limit_usd: 10, period: 'week', on_exceed: 'refuse' }
    const { changes } = await plan({ budgets: { groups: [{ group: group.id, budget: raised }] } })
    expect(changes).to.deep.equal([
      {
        ...{ action: 'change', type: 'budget', id: group.id, name: 'group "Support"' },
        fields: { limit_usd: { from: 9, to: 10 } },
      },
    ])
    const audit = await user.call('GET', '/v1/audit')
    const reasons = audit.body.data.filter(({ reason }: { reason?: string }) => reason === 'first')
    expect(reasons.length).to.be.at.least(3)
    expect((await plan(file)).changes).to.deep.equal([])
  })

  it('exports a file that changes nothing, with ids or for another gateway by name', async () => {
    await apply({
      groups: [{ name: 'Support', description: 'All', members: [user.id] }],
      policies: [{ ...POLICY, applies_to: { groups: ['Support'], users: [user.id] } }],
      users: [{ user: 'someone', routing_rules: [routingRule({ set_mode: 'cost' })] }],
      budgets: {
        overall: { limit_usd: 100, period: 'month', warn_ratio: 0.5, on_exceed: 'refuse' },
        groups: [{ group: 'Support', budget: { limit_usd: 9, period: 'week', on_exceed: 'refuse' } }],
      },
    })
    for (const query of ['', '?names=true']) {
      const file = await exported(query)
      expect((await plan(file)).changes, query).to.deep.equal([])
      expect(JSON.stringify(file).includes('"id"')).to.equal(query === '')
    }
    expect(Object.keys(await exported('?sections=policies,groups'))).to.deep.equal(['groups', 'policies'])
    expect((await admin('GET', `${PATH}?sections=keys`)).status).to.equal(400)
    expect(JSON.stringify(await exported())).not.to.contain(user.key)
  })

  it('shows new groups of a policy by name, and applies it once to what is referred to twice', async () => {
    await apply({ groups: [{ name: 'Legal' }] })
    const [{ id }] = (await admin('GET', '/admin/groups')).body.data
    const groups = [{ name: 'Support' }, { name: 'Legal' }]
    const applies_to = { groups: ['Support', 'Legal', id], users: [user.id, user.id] }
    const file = { groups, policies: [{ ...POLICY, applies_to }] }
    const { changes } = await plan(file)
    const shown = changes.find(({ type }: { type: string }) => type === 'policy').fields.applies_to.to
    expect(shown).to.deep.equal({ groups: ['Support', id], users: [user.id] })
    expect((await apply(file)).status).to.equal(200)
    const [policy] = (await admin('GET', '/admin/policies')).body.data
    expect(policy.applies_to.groups).to.have.length(2)
    expect((await plan(await exported())).changes).to.deep.equal([])
    expect((await plan(file)).changes).to.deep.equal([])
  })

  it('plans what changes field by field, without changing it', async () => {
    const policy = await newPolicy(gateway, {
      name: 'Old name',
      firewall: [firewallRule({ name: 'A' }), firewallRule({ name: 'B', pattern: 'b' })],
    })
    const file = await exported()
    const [entry] = file.policies
    Object.assign(entry, { name: 'New name', priority: 5 })
    entry.firewall_rules = [{ ...entry.firewall_rules[0], action: 'warn' }, firewallRule({ name: 'C' })]
    const { changes } = await plan(file)
    expect(changes).to.have.length(1)
    const [{ fields, firewall_rules: rules, ...change }] = changes
    expect(change).to.deep.equal({ action: 'change', type: 'policy', id: policy.id, name: 'New name' })
    expect(fields).to.deep.equal({
      name: { from: 'Old name', to: 'New name' },
      priority: { from: 0, to: 5 },
    })
    expect(rules.added.map(({ name }: { name: string }) => name)).to.deep.equal(['C'])
    const [changed] = rules.changed
    expect(changed).to.deep.equal({
      id: policy.ruleIds[0],
      name: 'A',
      changes: { action: { from: 'block', to: 'warn' } },
    })
    expect(rules.removed.map(({ name }: { name: string }) => name)).to.deep.equal(['B'])
    expect((await admin('GET', policy.path)).body.data.name).to.equal('Old name')
    expect((await apply(file)).status).to.equal(200)
    expect(
      (await exported()).policies[0].firewall_rules.map(({ name }: { name: string }) => name),
    ).to.deep.equal(['A', 'C'])
  })

  it('leaves alone what the file does not name', async () => {
    await newPolicy(gateway, { name: 'Other', firewall: [firewallRule()] })
    await user.call('POST', '/v1/firewall-rules', firewallRule({ pattern: 'mine' }))
    const before = await exported()
    const { body } = await apply({ policies: [POLICY] })
    expect(body.data.changes).to.have.length(1)
    const after = await exported()
    expect(after.users).to.deep.equal(before.users)
    expect(after.policies).to.deep.include(before.policies[0])
  })

  it('removes what is marked as absent, a group only when no policy applies to it', async () => {
    await apply({ groups: [{ name: 'G' }], policies: [{ ...POLICY, applies_to: { groups: ['G'] } }] })
    const refused = await admin('POST', `${PATH}/plan`, { file: { groups: [{ name: 'G', absent: true }] } })
    expect(refused.status).to.equal(422)
    expect(refused.body.error.message).to.contain('applies to it')
    const file = {
      groups: [{ name: 'G', absent: true }],
      policies: [{ name: 'No secrets', absent: true }],
      budgets: { overall: null },
    }
    expect((await apply(file)).status).to.equal(200)
    expect(await exported('?sections=groups,policies')).to.deep.equal({ groups: [], policies: [] })
    expect((await plan(file)).changes).to.deep.equal([])
  })

  it('finds all issues at once, each with its path, and changes nothing', async () => {
    const file = {
      groups: [{ name: 'New', members: ['nobody'] }],
      policies: [
        { ...POLICY, applies_to: { groups: ['Unknown'] } },
        {
          ...POLICY,
          name: 'P',
          firewall_rules: [firewallRule({ id: 4711 }), firewallRule({ action: 'ban' })],
        },
        { name: 'Q', is_enabled: true, applies_to: { everyone: true } },
        { ...POLICY, name: 'R', routing_rules: [routingRule({ set_provder: 'openai' })] },
        { ...POLICY, name: 'S', applies_to: { users: [] } },
      ],
      budgets: { keys: [{ key: 'key_unknown', budget: null }] },
    }
    for (const path of ['plan', 'apply']) {
      const { status, headers, body } = await admin('POST', `${PATH}/${path}`, { file })
      expect([status, headers.get('x-error-code')]).to.deep.equal([422, 'validation_error'])
      expect(Object.keys(body.error.errors)).to.deep.equal([
        'groups[0].members[0]',
        'policies[0].applies_to.groups[0]',
        'policies[1].firewall_rules[0]',
        'policies[1].firewall_rules[1].action',
        'policies[2].priority',
        'policies[3].routing_rules[0].action_json',
        'policies[4].applies_to',
        'budgets.keys[0].key',
      ])
    }
    expect(await exported('?sections=groups,policies')).to.deep.equal({ groups: [], policies: [] })
  })

  it('is refused when the log has moved, or the changes would be others than those of the plan', async () => {
    const file = { policies: [POLICY] }
    const planned = await plan(file)
    await newPolicy(gateway, { name: 'No secrets' })
    for (const terms of [{ position: planned.position }, { changes: planned.changes }]) {
      const { status, body } = await apply(file, terms)
      expect(status, JSON.stringify(body)).to.equal(409)
      expect(body.error.message).to.contain('Nothing was changed.')
    }
    const again = await plan(file)
    await newUser(gateway)
    expect((await apply(file, { position: again.position })).status).to.equal(409)
    // Nothing that the file is about has changed.
    expect((await apply(file, { changes: again.changes })).status).to.equal(200)
  })

  it('says what was done and what was not when it fails in the middle, and finishes when it is repeated', async () => {
    let isAway = true
    const open = async () => {
      const log = createMemoryLog()
      const { append } = log
      log.append = async (stream, ...rest) => {
        if (isAway && stream.startsWith('policy-')) throw new EventLogUnavailableError('it is away')
        return append.call(log, stream, ...rest)
      }
      return log
    }
    const failing = await startGateway({}, { log: open })
    const file = {
      groups: [{ name: 'G' }],
      policies: [
        { ...POLICY, applies_to: { groups: ['G'] } },
        { ...POLICY, name: 'Another' },
      ],
    }
    const first = await asAdmin(failing, 'POST', `${PATH}/apply`, { file })
    expect([first.status, first.headers.get('x-error-code')]).to.deep.equal([503, 'event_log_unavailable'])
    expect(first.body.error.message).to.contain(
      'Applied before: group "G". Not applied: policy "No secrets", policy "Another". Apply the file again',
    )
    isAway = false
    const { body } = await asAdmin(failing, 'POST', `${PATH}/apply`, { file })
    const applied = body.data.applied.map(({ title }: { title: string }) => title)
    expect(applied).to.deep.equal(['policy "No secrets"', 'policy "Another"'])
    await failing.stop()
  })

  it('is applied by editors, but for budgets, and read by auditors', async () => {
    const [auditor, editor] = [await newOperator(gateway, 'auditor'), await newOperator(gateway, 'editor')]
    const file = { budgets: { overall: { limit_usd: 1, period: 'day', on_exceed: 'refuse' } } }
    expect((await auditor.call('POST', `${PATH}/plan`, { file })).status).to.equal(200)
    const { status, headers } = await editor.call('POST', `${PATH}/apply`, {
      file: { ...file, policies: [POLICY] },
    })
    expect([status, headers.get('x-error-code')]).to.deep.equal([403, 'role_required'])
    expect(await exported('?sections=policies')).to.deep.equal({ policies: [] })
    expect((await editor.call('POST', `${PATH}/apply`, { file: { policies: [POLICY] } })).status).to.equal(
      200,
    )
  })
})
