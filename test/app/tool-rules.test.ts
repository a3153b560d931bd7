import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { asAdmin, newPolicy } from '../support/policies.ts'

const PATH = '/v1/tool-rules'

describe('tool rules', () => {
  let gateway: RunningGateway
  let user: TestUser
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  beforeEach(async () => {
    user = await newUser(gateway)
  })

  const admin = (method: string, path: string, body?: unknown) => asAdmin(gateway, method, path, body)
  const issueOf = async (more: object) => {
    const { status, body } = await user.call('POST', PATH, toolRuleBody(more))
    expect([status, body.error?.code], JSON.stringify(body)).to.deep.equal([400, 'invalid_rule'])
    expect(Object.values(body.error.errors).flat()).to.include(body.error.message)
    return body.error.message
  }

  it('are refused with a message that says what to do', async () => {
    const test = (pointer: string, value: unknown) => issueOf({ match: { arguments: { [pointer]: value } } })
    expect(await issueOf({ action: 'block' })).to.match(/^The action field must be one of allow, deny, hide/)
    expect(await issueOf({ match: 'x' })).to.match(/^The match field must be an object such as/)
    expect(await issueOf({ match: undefined })).to.equal('The match field is required.')
    expect(await issueOf({ match: { sever: 'x' } })).to.match(
      /^match\.sever is not a condition\. Use server, /,
    )
    for (const name of ['', 7, 'x'.repeat(257), null])
      expect(await issueOf({ match: { tool: name } })).to.match(/^match\.tool must be a name of 1 to 256/)
    for (const list of [[], 'web', [''], Array(101).fill('web')])
      expect(await issueOf({ match: { after_reading: list } })).to.match(
        /^match\.after_reading must be a list/,
      )
    for (const pointer of ['path', '/a~', '/a~2', '#/a', `/${'x'.repeat(1000)}`])
      expect(await test(pointer, { equals: 1 })).to.match(/the name must be a JSON pointer \(RFC 6901\)/)
    for (const value of [
      1,
      {},
      { equals: 1, contains: 'x' },
      { contains: '' },
      { matches: 7 },
      { like: 'x' },
    ])
      expect(await test('/a', value)).to.match(/^match\.arguments\["\/a"\] must have exactly one of equals/)
    expect(await test('/a', { matches: '(' })).to.match(/^match\.arguments\["\/a"\] cannot be evaluated: /)
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`/${n}`, { equals: n }]))
    expect(await issueOf({ match: { arguments: many } })).to.match(/^match\.arguments must be an object with/)
    expect((await user.call('GET', PATH)).body.data).to.deep.equal([])
  })

  it('keep any JSON that they compare with, and count in the size of all rules', async () => {
    const equals = { list: [1, null, 'ü'], nested: { deep: true } }
    const match = { arguments: { '': { equals }, '/a~1b': { equals: null } }, after_reading: ['web'] }
    const { body } = await user.call('POST', PATH, toolRuleBody({ match }))
    expect((await user.call('GET', `${PATH}/${body.data.id}`)).body.data.match).to.deep.equal(match)
    const large = { arguments: { '/a': { equals: 'x'.repeat(260_000) } } }
    expect((await user.call('POST', PATH, toolRuleBody({ match: large }))).status).to.equal(201)
    const refused = await user.call('POST', PATH, toolRuleBody({ match: large }))
    expect(refused.body.error.message).to.match(/^The patterns of all rules together would have/)
  })

  it('are changed together with rules of other kinds, once for an Idempotency-Key', async () => {
    const base = { name: 'A rule', is_enabled: true, priority: 0 }
    const operations = [
      { kind: 'tool', op: 'create', data: toolRuleBody({ name: 'one' }) },
      { kind: 'routing', op: 'create', data: { ...base, match_json: {}, action_json: {} } },
      { kind: 'tool', op: 'create', data: toolRuleBody({ name: 'two' }) },
    ]
    const headers = { 'idempotency-key': `tools-${user.id}` }
    const first = await user.call('POST', '/v1/rules/batch', { operations }, headers)
    const second = await user.call('POST', '/v1/rules/batch', { operations }, headers)
    expect(first.body.data.map(({ name }: { name: string }) => name)).to.deep.equal(['one', 'A rule', 'two'])
    expect(second.body).to.deep.equal(first.body)
    expect((await user.call('GET', PATH)).body.data).to.have.length(2)
    const broken = [operations[0], { kind: 'tool', op: 'create', data: toolRuleBody({ action: 'no' }) }]
    const refused = await user.call('POST', '/v1/rules/batch', { operations: broken })
    expect(refused.body.error.message).to.match(/^operations\[1\]: The action field must be one of/)
    expect((await user.call('GET', PATH)).body.data).to.have.length(2)
  })

  it('come back as they were, under their id, when they are deleted and reverted', async () => {
    const { data } = (await user.call('POST', PATH, toolRuleBody({ match: { tool: 'a' } }))).body
    const one = `${PATH}/${data.id}`
    await user.call('PATCH', one, { match: { server: 'b' }, action: 'hide' })
    await user.call('DELETE', one)
    const reverted = await user.call('POST', `${one}/revert`, { revision: 1 })
    expect(reverted.body.data).to.deep.include({ id: data.id, match: { tool: 'a' }, action: 'deny' })
    expect(reverted.headers.get('etag')).to.equal('"4"')
    const events = (await user.call('GET', `${one}/history`)).body.data
    expect(events.map(({ event }: { event: string }) => event)).to.deep.equal([
      ...['created', 'updated', 'deleted', 'reverted'],
    ])
    const then = (await user.call('GET', `${one}?as_of=${events[1].position}`)).body.data
    expect(then).to.deep.include({ match: { server: 'b' }, action: 'hide' })
  })

  it('show users what they match only if their policy says so', async () => {
    const match = { tool: 'wire-zebra', arguments: { '/to': { contains: 'zebra' } } }
    const policy = await newPolicy(gateway, {
      applies_to: { users: [user.id] },
      tool: [toolRuleBody({ name: 'Payments', match })],
    })
    const effective = async () => (await user.call('GET', '/v1/rules/effective')).body.data.tool
    const [shown] = await effective()
    expect(shown).to.include({ name: 'Payments', action: 'deny', policy_id: policy.id })
    expect(shown).not.to.have.property('match')
    const answers = [shown, (await user.call('GET', '/v1/audit')).body]
    expect(JSON.stringify(answers)).not.to.contain('zebra')
    const [full] = (await admin('GET', `/admin/users/${user.id}/effective-rules`)).body.data.tool
    expect(full.match).to.deep.equal(match)
    await admin('PATCH', policy.path, { visibility: 'full' })
    expect((await effective())[0].match).to.deep.equal(match)
  })

  it('are hidden from operators whose scope does not include their policy', async () => {
    const groups: number[] = []
    for (const name of ['In', 'Out'])
      groups.push((await admin('POST', '/admin/groups', { name })).body.data.id)
    const [own, other] = groups.map((group) =>
      newPolicy(gateway, { applies_to: { groups: [group] }, tool: [toolRuleBody({ name: `of ${group}` })] }),
    )
    const scoped = await newOperator(gateway, 'editor', 'Scoped', { scope: { groups: [groups[0]!] } })
    const [mine, theirs] = [`${(await own!).path}/tool-rules`, `${(await other!).path}/tool-rules`]
    expect((await scoped.call('GET', mine)).body.data).to.have.length(1)
    expect((await scoped.call('POST', mine, toolRuleBody())).status).to.equal(201)
    for (const method of ['GET', 'POST'])
      expect(
        (await scoped.call(method, theirs, method === 'POST' ? toolRuleBody() : undefined)).status,
      ).to.equal(404)
    const audit = JSON.stringify((await scoped.call('GET', '/admin/audit?kind=tool')).body.data)
    expect(audit).to.contain(`of ${groups[0]}`)
    expect(audit).not.to.contain(`of ${groups[1]}`)
  })

  it('are a list of the rules file: exported, planned, applied and removed', async () => {
    const file = {
      policies: [
        {
          ...{ name: 'Tools', is_enabled: true, priority: 7, applies_to: { users: [user.id] } },
          tool_rules: [toolRuleBody({ name: 'No deletions', match: { tool: 'delete_*' } })],
        },
      ],
      users: [{ user: user.id, tool_rules: [toolRuleBody({ name: 'Mine', action: 'warn' })] }],
    }
    const plan = async (file: object) => {
      const { status, body } = await admin('POST', '/admin/rules/file/plan', { file })
      expect(status, JSON.stringify(body)).to.equal(200)
      return body.data.changes
    }
    const [policy, own] = await plan(file)
    expect(policy.tool_rules.added).to.have.length(1)
    expect(own.tool_rules.added).to.have.length(1)
    expect((await admin('POST', '/admin/rules/file/apply', { file })).status).to.equal(200)
    expect(await plan(file)).to.deep.equal([])
    const exported = (await admin('GET', '/admin/rules/file')).body.data
    expect(await plan(exported)).to.deep.equal([])
    expect((await user.call('GET', PATH)).body.data[0]).to.include({ name: 'Mine', action: 'warn' })

    const [entry] = file.policies
    const changed = { policies: [{ ...entry, tool_rules: [{ ...entry!.tool_rules[0], action: 'hide' }] }] }
    const [change] = await plan(changed)
    expect(change.tool_rules.changed[0].changes).to.deep.equal({ action: { from: 'deny', to: 'hide' } })
    const without = { policies: [{ ...entry, tool_rules: [] }] }
    expect((await plan(without))[0].tool_rules.removed).to.have.length(1)
    const invalid = { policies: [{ ...entry, tool_rules: [toolRuleBody({ match: { tol: 'x' } })] }] }
    const refused = await admin('POST', '/admin/rules/file/plan', { file: invalid })
    expect(Object.keys(refused.body.error.errors)).to.deep.equal(['policies[0].tool_rules[0].match'])
  })

  it('are drafts of simulations, and checked there', async () => {
    const simulate = (tool: readonly object[]) =>
      user.call('POST', '/v1/simulate', { messages: [{ role: 'user', content: 'x' }], rules: { tool } })
    expect((await simulate([toolRuleBody()])).status).to.equal(200)
    const refused = await simulate([toolRuleBody({ match: { arguments: { a: { equals: 1 } } } })])
    expect(refused.status).to.equal(400)
    expect(refused.body.error.message).to.match(
      /^rules\.tool\[0\]: match\.arguments\["a"\]: the name must be/,
    )
  })

  it('are named when a downgrade suspends them', async () => {
    const { data } = (await user.call('POST', PATH, toolRuleBody({ name: 'Guard' }))).body
    const { warnings } = (await user.setPlan('free')).body
    expect(warnings[0].message).to.match(new RegExp(`^Tool rule ${data.id} "Guard" does not apply any more`))
  })
})
