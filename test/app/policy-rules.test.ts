import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy, routingRule } from '../support/policies.ts'
import { withSettings } from '../support/settings.ts'

describe('the rules of a policy', () => {
  let gateway: RunningGateway
  let path: string
  let id: number
  before(async () => {
    gateway = await startGateway(await withSettings('firewall: { evaluate_responses: true }\n'))
  })
  beforeEach(async () => {
    ;({ id, path } = await newPolicy(gateway, { is_enabled: false }))
  })
  after(() => gateway.stop())

  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    asAdmin(gateway, method, path, body, headers)
  const expectError = ({ status, headers, body }: Answer, expected: [number, string]) => {
    expect([status, headers.get('x-error-code')], JSON.stringify(body)).to.deep.equal(expected)
  }
  const history = async (rule: string) => (await admin('GET', `${rule}/history`)).body.data

  it('are created, listed, read, changed and deleted like those of a user', async () => {
    for (const [kind, rule] of [
      ['firewall', firewallRule()],
      ['routing', routingRule({ set_mode: 'cost' })],
      ['tool', toolRuleBody({ match: { tool: 'a*' } })],
    ] as const) {
      const rules = `${path}/${kind}-rules`
      const created = await admin('POST', rules, rule)
      expect([created.status, created.headers.get('etag')]).to.deep.equal([201, '"1"'])
      const { data } = created.body
      expect(data).to.deep.include({ ...rule, policy_id: id })
      expect(data).not.to.have.property('user_id')
      const first = (await admin('POST', rules, { ...rule, priority: 5 })).body.data
      expect((await admin('GET', rules)).body.data).to.deep.equal([first, data])

      const one = `${rules}/${data.id}`
      const changed = await admin('PATCH', one, { ...data, name: 'New' }, { 'if-match': '"1"' })
      expect(changed.body.data).to.include({ id: data.id, policy_id: id, name: 'New' })
      expectError(await admin('PATCH', one, { name: 'B' }, { 'if-match': '"1"' }), [412, 'revision_mismatch'])
      expect((await admin('GET', one)).body).to.deep.equal(changed.body)
      expect((await admin('DELETE', one)).body).to.deep.equal({ success: true })
      expectError(await admin('GET', one), [404, 'not_found'])
    }
  })

  it('belong to one policy and to no user', async () => {
    const rule = (await admin('POST', `${path}/firewall-rules`, firewallRule())).body.data
    const other = await newPolicy(gateway, { is_enabled: false })
    expectError(await admin('GET', `${other.path}/firewall-rules/${rule.id}`), [404, 'not_found'])
    const user = await newUser(gateway)
    expectError(await user.call('DELETE', `/v1/firewall-rules/${rule.id}`), [404, 'not_found'])
    expectError(await user.call('GET', `${path}/firewall-rules`), [401, 'invalid_api_key'])
    expectError(await admin('GET', '/admin/policies/999999/firewall-rules'), [404, 'not_found'])
  })

  it('are validated, and repeated with an Idempotency-Key', async () => {
    expectError(await admin('POST', `${path}/firewall-rules`, { name: 'x' }), [400, 'invalid_rule'])
    const invalid = routingRule({ set_modle: 'x' })
    expectError(await admin('POST', `${path}/routing-rules`, invalid), [422, 'validation_error'])
    const broken = await admin(
      'POST',
      `${path}/firewall-rules`,
      firewallRule({ type: 'regex', pattern: '(' }),
    )
    expectError(broken, [422, 'validation_error'])

    const headers = { 'idempotency-key': `rule of ${id}`.replaceAll(' ', '-') }
    const first = await admin('POST', `${path}/firewall-rules`, firewallRule(), headers)
    await admin('PATCH', `${path}/firewall-rules/${first.body.data.id}`, { name: 'Later' })
    const again = await admin('POST', `${path}/firewall-rules`, firewallRule(), headers)
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(again.body).to.deep.equal(first.body)
  })

  it('must have patterns that can be evaluated, however they are written', async () => {
    const broken = firewallRule({ name: 'Broken', type: 'regex', pattern: '(?<=a+)b(?{1})' })
    const refused = [422, 'validation_error'] as [number, string]
    const created = await admin('POST', `${path}/firewall-rules`, broken)
    expectError(created, refused)
    expect(created.body.error.errors.pattern[0]).to.contain('would never match')
    const fine = (await admin('POST', `${path}/firewall-rules`, firewallRule())).body.data
    const rule = `${path}/firewall-rules/${fine.id}`
    expectError(await admin('PATCH', rule, { type: 'regex', pattern: '(' }), refused)
    const disabled = { type: 'regex', pattern: '(', is_enabled: false }
    expect((await admin('PATCH', rule, disabled)).status).to.equal(200)
    expectError(await admin('PATCH', rule, { is_enabled: true }), refused)
    const operations = [{ kind: 'firewall', op: 'create', data: broken }]
    expectError(await admin('POST', `${path}/rules/batch`, { operations }), refused)
    await admin('PATCH', rule, { type: 'substring', pattern: 'fine', is_enabled: true })
    const revisions = (await history(rule)).length
    expect(revisions).to.equal(3)
    const user = await newUser(gateway)
    const request = { model: 'auto', messages: [{ role: 'user', content: 'Hi' }] }
    const drafts = { policies: [{ policy_id: id, firewall: [broken] }] }
    expectError(await admin('POST', '/admin/simulate', { user_id: user.id, request, drafts }), refused)
    const file = { policies: [{ name: 'New', firewall_rules: [broken] }] }
    const planned = await admin('POST', '/admin/rules/file/plan', { file })
    expect(JSON.stringify(planned.body)).to.contain('would never match')
    expect(planned.status).to.be.within(400, 422)
    const own = { file: { users: [{ user: user.id, firewall_rules: [broken] }] } }
    const ofUser = await admin('POST', '/admin/rules/file/plan', own)
    expect(ofUser.status, JSON.stringify(ofUser.body)).to.equal(200)
    expect(JSON.stringify(ofUser.body)).to.contain('pattern_not_evaluable')
  })

  it('have a history, past states, differences and reverts', async () => {
    const created = (await admin('POST', `${path}/firewall-rules`, firewallRule())).body.data
    const rule = `${path}/firewall-rules/${created.id}`
    const [{ position }] = await history(rule)
    await admin('PATCH', rule, { pattern: 'other' })
    await admin('DELETE', rule)
    expect((await history(rule)).map(({ event }: { event: string }) => event)).to.deep.equal([
      'created',
      'updated',
      'deleted',
    ])
    const updated = (await history(rule))[1]
    expect(updated).to.include({ kind: 'firewall', id: created.id })
    expect(updated.actor).to.include({ type: 'root' })

    const past = (await admin('GET', `${path}/firewall-rules?as_of=${position}`)).body.data
    expect(past).to.deep.equal([created])
    expect((await admin('GET', `${rule}?as_of=${position}`)).body.data).to.deep.equal(created)
    const diff = (await admin('GET', `${path}/rules/diff?from=${position}`)).body.data
    expect(diff.firewall.removed).to.deep.equal([created])

    const reverted = await admin('POST', `${rule}/revert`, { revision: 2 })
    expect(reverted.body.data).to.include({
      id: created.id,
      pattern: 'other',
      created_at: created.created_at,
    })
    expect(reverted.headers.get('etag')).to.equal('"4"')

    await admin('DELETE', path)
    expectError(await admin('GET', `${path}/firewall-rules`), [404, 'not_found'])
    expectError(await admin('POST', `${path}/firewall-rules`, firewallRule()), [404, 'not_found'])
    expectError(await admin('POST', `${rule}/revert`, { revision: 1 }), [404, 'not_found'])
    expect(await history(rule)).to.have.length(4)
    const kept = (await admin('GET', `${path}/firewall-rules?as_of=${position}`)).body.data
    expect(kept).to.deep.equal([created])
  })

  it('are changed in batches, together or not at all', async () => {
    const rule = (await admin('POST', `${path}/firewall-rules`, firewallRule())).body.data
    const create = { kind: 'routing', op: 'create', data: routingRule({ set_mode: 'cost' }) }
    const failing = { kind: 'firewall', op: 'delete', id: rule.id, revision: 9 }
    expectError(await admin('POST', `${path}/rules/batch`, { operations: [create, failing] }), [
      412,
      'revision_mismatch',
    ])
    expect((await admin('GET', `${path}/routing-rules`)).body.data).to.deep.equal([])
    const operations = [create, { kind: 'firewall', op: 'delete', id: rule.id }]
    const { body } = await admin('POST', `${path}/rules/batch`, { operations })
    expect(body.data[0]).to.include({ policy_id: id })
    expect(body.data[1]).to.deep.equal({ success: true })
    expect((await admin('GET', `${path}/firewall-rules`)).body.data).to.deep.equal([])
  })

  it('inspect replies, before those of the user, whole and streamed', async () => {
    const user = await newUser(gateway)
    const mask = (pattern: string, replacement: string) =>
      firewallRule({ scope: 'response', action: 'mask', pattern, replacement })
    await user.call('POST', '/v1/firewall-rules', mask('second', 'third'))
    const policy = await newPolicy(gateway, {
      name: 'Replies',
      applies_to: { users: [user.id] },
      firewall: [mask('first', 'second'), firewallRule({ scope: 'response', pattern: 'forbidden' })],
    })
    const ask = (content: string, stream = false) =>
      user.call(
        'POST',
        '/v1/chat/completions',
        { model: 'gpt-4o-mini', messages: [{ role: 'user', content }], stream },
        { 'x-include-trace': 'true' },
      )
    const { body } = await ask('first')
    expect(body.choices[0].message.content).to.contain('"third"')
    const names = body.signalbox.rule_trace.map((entry: { origin?: { name: string } }) => entry.origin?.name)
    expect(names).to.deep.equal(['Replies', undefined])
    const blocked = await ask('forbidden')
    expectError(blocked, [403, 'firewall_blocked'])
    expect(blocked.body.error.meta.origin).to.deep.equal({ type: 'policy', id: policy.id, name: 'Replies' })

    const openai = gateway.openai(user.key)
    const stream = await openai.chat.completions.create({
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'first' }],
      stream: true,
    })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).to.contain('"third"')
    await policy.remove()
  })
})
