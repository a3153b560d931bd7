import { expect } from 'chai'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator, type TestOperator } from '../support/operators.ts'
import { firewallRule, newPolicy } from '../support/policies.ts'

describe('scopes of operators', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const asRoot = (method: string, path: string, body?: unknown) => gateway.call(method, path, body, AS_ADMIN)

  async function newGroup(name: string): Promise<number> {
    return (await asRoot('POST', '/admin/groups', { name })).body.data.id
  }

  it('are everything unless they are set, and shown', async () => {
    const everything = await newOperator(gateway, 'auditor')
    const path = `/admin/operators/${everything.id}`
    expect((await asRoot('GET', path)).body.data.scope).to.equal(null)
    const group = await newGroup('Support')
    const { body } = await asRoot('PATCH', path, { scope: { groups: [group] } })
    expect(body.data).to.deep.include({ role: 'auditor', scope: { groups: [group] } })
  })

  it('name groups that exist', async () => {
    const scope = { groups: [999_999] }
    const { status, body } = await asRoot('POST', '/admin/operators', { name: 'A', role: 'admin', scope })
    expect(status).to.equal(400)
    expect(body.error).to.include({ code: 'invalid_value', param: 'scope.groups[0]' })
    const empty = await asRoot('POST', '/admin/operators', {
      name: 'A',
      role: 'admin',
      scope: { groups: [] },
    })
    expect(empty.status).to.equal(400)
  })

  it('are events, in force as soon as the change is answered', async () => {
    const group = await newGroup('Support')
    const operator = await newOperator(gateway, 'admin')
    const operators = () => operator.call('GET', '/admin/operators')
    expect((await operators()).status).to.equal(200)
    await asRoot('PATCH', `/admin/operators/${operator.id}`, { scope: { groups: [group] } })
    const refused = await operators()
    expect(refused.status).to.equal(403)
    expect(refused.headers.get('x-error-code')).to.equal('endpoint_not_allowed')
    await asRoot('PATCH', `/admin/operators/${operator.id}`, { scope: null })
    expect((await operators()).status).to.equal(200)
    const { body } = await asRoot('GET', `/admin/operators/${operator.id}/history`)
    expect(body.data.map(({ event }: { event: string }) => event)).to.deep.equal([
      'created',
      'updated',
      'updated',
    ])
    expect(body.data[1].after.scope).to.deep.equal({ groups: [group] })
  })
})

describe('operators with a scope', () => {
  let gateway: RunningGateway
  let inside: number
  let second: number
  let outside: number
  let admin: TestOperator
  let member: TestUser
  let stranger: TestUser

  const asRoot = (method: string, path: string, body?: unknown) => gateway.call(method, path, body, AS_ADMIN)
  const code = ({ status, headers }: Answer) => [status, headers.get('x-error-code')]

  before(async () => {
    // With the limits of plans.
    gateway = await startGateway({ CONFIG: '' })
    const newGroup = async (name: string): Promise<number> =>
      (await asRoot('POST', '/admin/groups', { name })).body.data.id
    inside = await newGroup('Support')
    second = await newGroup('Field service')
    outside = await newGroup('Secret project')
    member = await newUser(gateway, 'paid', 'Mia Member')
    stranger = await newUser(gateway, 'paid', 'Stan Stranger')
    await asRoot('PUT', `/admin/groups/${inside}/members/${member.id}`)
    await asRoot('PUT', `/admin/groups/${outside}/members/${member.id}`)
    await asRoot('PUT', `/admin/groups/${outside}/members/${stranger.id}`)
    admin = await newOperator(gateway, 'admin', 'Sue', { scope: { groups: [inside] } })
  })
  after(() => gateway.stop())

  it('see the members of their groups, without their other groups', async () => {
    const { body } = await admin.call('GET', '/admin/users')
    expect(body.data.map(({ id, groups }: TestUser & { groups: unknown }) => ({ id, groups }))).to.deep.equal(
      [{ id: member.id, groups: [inside] }],
    )
    expect((await admin.call('GET', `/admin/users/${member.id}`)).body.data.groups).to.deep.equal([inside])
    const searched = await admin.call('GET', '/admin/users?q=Stan')
    expect(searched.body).to.deep.equal({ data: [], next_cursor: null })
  })

  it('get 404 for all others, as for ids that do not exist', async () => {
    const paths = (user: number, key: string, group: number) =>
      [
        ['GET', `/admin/users/${user}`],
        ['PATCH', `/admin/users/${user}`, { name: 'X' }],
        ['DELETE', `/admin/users/${user}`],
        ['GET', `/admin/users/${user}/history`],
        ['GET', `/admin/users/${user}/keys`],
        ['POST', `/admin/users/${user}/keys`],
        ['GET', `/admin/keys/${key}`],
        ['DELETE', `/admin/keys/${key}`],
        ['GET', `/admin/keys/${key}/history`],
        ['POST', `/admin/keys/${key}/rotate`, { overlap_seconds: 0 }],
        ['GET', `/admin/users/${user}/budget`],
        ['PUT', `/admin/users/${user}/budget`, { limit_usd: 1, period: 'day', on_exceed: 'refuse' }],
        ['DELETE', `/admin/users/${user}/budget`],
        ['GET', `/admin/users/${user}/budget/history`],
        ['GET', `/admin/keys/${key}/budget`],
        ['GET', `/admin/users/${user}/firewall-rules`],
        ['POST', `/admin/users/${user}/firewall-rules`, firewallRule()],
        ['GET', `/admin/users/${user}/rules/diff?from=1`],
        ['GET', `/admin/users/${user}/effective-rules`],
        ['GET', `/admin/groups/${group}`],
        ['GET', `/admin/groups/${group}/history`],
        ['GET', `/admin/groups/${group}/members`],
        ['GET', `/admin/groups/${group}/budget`],
        ['PUT', `/admin/groups/${group}/members/${member.id}`],
        ['DELETE', `/admin/groups/${group}/members/${member.id}`],
        ['PUT', `/admin/groups/${inside}/members/${user}`],
      ] as const
    const noKey = `key_${'0'.repeat(24)}`
    const hidden = paths(stranger.id, stranger.keyId, outside)
    const missing = paths(999_999, noKey, 999_999)
    for (const [index, [method, path, body]] of hidden.entries()) {
      const answer = await admin.call(method, path, body)
      expect(code(answer), `${method} ${path}`).to.deep.equal([404, 'not_found'])
      const [, otherPath = '', otherBody] = missing[index] ?? []
      const other = await admin.call(method, otherPath, otherBody)
      expect(code(other), otherPath).to.deep.equal([404, 'not_found'])
      const redacted = (text: string) =>
        text
          .replaceAll(stranger.keyId, 'ID')
          .replaceAll(new RegExp(`\\b(?:${stranger.id}|${outside})\\b`, 'g'), 'ID')
      expect(redacted(answer.body.error.message)).to.equal(
        other.body.error.message.replaceAll('999999', 'ID').replaceAll(noKey, 'ID'),
      )
    }
  })

  it('cannot see memberships in other groups in histories and ETags', async () => {
    const { body } = await admin.call('GET', `/admin/users/${member.id}/history`)
    expect(body.data.length).to.be.above(2)
    expect(JSON.stringify(body)).not.to.match(new RegExp(`\\b${outside}\\b`))
    const path = `/admin/users/${member.id}`
    const etag = (await admin.call('GET', path)).headers.get('etag') ?? ''
    await asRoot('DELETE', `/admin/groups/${outside}/members/${member.id}`)
    expect((await admin.call('GET', path)).headers.get('etag')).to.equal(etag)
    await asRoot('PUT', `/admin/groups/${outside}/members/${member.id}`)
    const renamed = await admin.call('PATCH', path, { name: 'Mia M.' }, { 'if-match': etag })
    expect(renamed.status).to.equal(200)
    const stale = await admin.call('PATCH', path, { name: 'Mia' }, { 'if-match': etag })
    expect(code(stale)).to.deep.equal([412, 'revision_mismatch'])
  })

  it('create users in their groups', async () => {
    const created = await admin.call(
      'POST',
      '/admin/users',
      { name: 'Nia', plan: 'paid' },
      { 'idempotency-key': 'n' },
    )
    expect(created.body.data.groups).to.deep.equal([inside])
    const again = await admin.call(
      'POST',
      '/admin/users',
      { name: 'Nia', plan: 'paid' },
      { 'idempotency-key': 'n' },
    )
    expect(again.body).to.deep.equal(created.body)
    const other = { name: 'Oz', plan: 'paid', groups: [outside] }
    expect(code(await admin.call('POST', '/admin/users', other))).to.deep.equal([400, 'invalid_value'])
    const both = await newOperator(gateway, 'admin', 'Bo', { scope: { groups: [inside, second] } })
    const unnamed = await both.call('POST', '/admin/users', { name: 'Pia', plan: 'free' })
    expect(code(unnamed)).to.deep.equal([400, 'missing_parameter'])
    const named = await both.call('POST', '/admin/users', { name: 'Pia', plan: 'free', groups: [second] })
    expect(named.body.data.groups).to.deep.equal([second])
  })

  it('do not get a key, or a user, again that is out of their scope since', async () => {
    const operator = await newOperator(gateway, 'admin', 'Ida', { scope: { groups: [inside] } })
    const headers = { 'idempotency-key': 'again' }
    const create = () => operator.call('POST', '/admin/users', { name: 'Una', plan: 'paid' }, headers)
    const user = (await create()).body.data.id
    const issue = () =>
      operator.call('POST', `/admin/users/${user}/keys`, undefined, { 'idempotency-key': 'key' })
    const { key } = (await issue()).body.data
    expect((await issue()).body.data.key).to.equal(key)
    await asRoot('PATCH', `/admin/operators/${operator.id}`, { scope: { groups: [second] } })
    expect(code(await issue())).to.deep.equal([404, 'not_found'])
    expect(code(await create())).to.deep.equal([404, 'not_found'])
  })

  it('cannot take users out of their groups', async () => {
    const path = `/admin/groups/${inside}/members/${member.id}`
    expect(code(await admin.call('DELETE', path))).to.deep.equal([403, 'scope_exceeded'])
    const both = await newOperator(gateway, 'admin', 'Bo', { scope: { groups: [inside, second] } })
    expect((await both.call('PUT', `/admin/groups/${second}/members/${member.id}`)).status).to.equal(200)
    expect((await both.call('DELETE', path)).status).to.equal(200)
    expect((await both.call('PUT', path)).status).to.equal(200)
    expect((await both.call('DELETE', `/admin/groups/${second}/members/${member.id}`)).status).to.equal(200)
  })

  it('set budgets and limits up to those of the group and the plan', async () => {
    const budget = (limit_usd: number) => ({ limit_usd, period: 'month', on_exceed: 'refuse' })
    await asRoot('PUT', `/admin/groups/${inside}/budget`, budget(100))
    await asRoot('PUT', `/admin/groups/${outside}/budget`, budget(1))
    for (const path of [`/admin/users/${member.id}/budget`, `/admin/keys/${member.keyId}/budget`]) {
      expect((await admin.call('PUT', path, budget(100))).status).to.equal(200)
      const above = await admin.call('PUT', path, budget(100.5))
      expect(code(above)).to.deep.equal([403, 'scope_exceeded'])
      expect(above.body.error.param).to.equal('limit_usd')
    }
    expect(code(await admin.call('PUT', `/admin/groups/${inside}/budget`, budget(1)))).to.deep.equal([
      403,
      'endpoint_not_allowed',
    ])
    const limit = (requests_per_minute: number | null) =>
      admin.call('PATCH', `/admin/users/${member.id}`, { requests_per_minute })
    expect((await limit(1)).status).to.equal(200)
    expect(code(await limit(1_000_000))).to.deep.equal([403, 'scope_exceeded'])
    expect(code(await limit(null))).to.deep.equal([403, 'scope_exceeded'])
  })

  it('manage policies that apply to their groups only', async () => {
    const policy = (applies_to: object) => ({ name: 'Own', is_enabled: true, priority: 0, applies_to })
    const everyone = await newPolicy(gateway, {
      name: 'For all',
      firewall: [firewallRule({ pattern: 'hush' })],
    })
    const mixed = await newPolicy(gateway, { name: 'Mixed', applies_to: { groups: [inside, outside] } })
    const created = await admin.call('POST', '/admin/policies', policy({ groups: [inside] }))
    expect(created.status).to.equal(201)
    const path = `/admin/policies/${created.body.data.id}`
    expect(
      (await admin.call('GET', '/admin/policies')).body.data.map(({ id }: TestUser) => id),
    ).to.deep.equal([created.body.data.id])
    for (const { path: hidden } of [everyone, mixed])
      for (const part of ['', '/history', '/firewall-rules', '/rules/diff?from=1'])
        expect(code(await admin.call('GET', hidden + part))).to.deep.equal([404, 'not_found'])
    expect(code(await admin.call('DELETE', everyone.path))).to.deep.equal([404, 'not_found'])
    const wider = (applies_to: object) => admin.call('PATCH', path, { applies_to })
    expect(code(await wider({ everyone: true }))).to.deep.equal([403, 'scope_exceeded'])
    expect(code(await wider({ users: [member.id] }))).to.deep.equal([403, 'scope_exceeded'])
    expect(code(await wider({ groups: [inside, outside] }))).to.deep.equal([400, 'invalid_value'])
    expect((await admin.call('POST', `${path}/firewall-rules`, firewallRule())).status).to.equal(201)

    const effective = await admin.call('GET', `/admin/users/${member.id}/effective-rules`)
    const patterns = effective.body.data.firewall.map(({ pattern }: { pattern?: string }) => pattern)
    expect(patterns, 'the content of the policy for everyone is hidden').to.have.members([
      undefined,
      'secret',
    ])

    await asRoot('PATCH', mixed.path, { applies_to: { groups: [inside] } })
    const history = await admin.call('GET', `${mixed.path}/history`)
    expect(JSON.stringify(history.body)).not.to.match(new RegExp(`\\b${outside}\\b`))
    await Promise.all([everyone.remove(), mixed.remove(), admin.call('DELETE', path)])
  })

  it('see nothing once their groups are deleted', async () => {
    const { body } = await asRoot('POST', '/admin/groups', { name: 'Short-lived' })
    const operator = await newOperator(gateway, 'admin', 'Lea', { scope: { groups: [body.data.id] } })
    const user = (await operator.call('POST', '/admin/users', { name: 'Q', plan: 'free' })).body.data.id
    await asRoot('DELETE', `/admin/groups/${body.data.id}`)
    expect((await operator.call('GET', '/admin/users')).body.data).to.deep.equal([])
    expect((await operator.call('GET', `/admin/users/${user}`)).status).to.equal(404)
    const refused = await operator.call('POST', '/admin/users', { name: 'R', plan: 'free' })
    expect(code(refused)).to.deep.equal([403, 'scope_exceeded'])
  })
})
