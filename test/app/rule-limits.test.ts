import { expect } from 'chai'
import { firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, newPolicy } from '../support/policies.ts'

const SETTINGS = { is_enabled: true, priority: 0, applies_to: { everyone: true } }

const firewallRule = (more: object) =>
  firewallRuleBody({ type: 'regex', pattern: 'x', action: 'warn', ...more })

describe('the limits of rules', function () {
  this.timeout(180_000)
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    gateway = await startGateway()
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(() => gateway?.stop())

  const create = (more: object) => user.call('POST', '/v1/firewall-rules', firewallRule(more))
  const batch = (rules: readonly object[]) =>
    user.call('POST', '/v1/rules/batch', {
      operations: rules.map((data) => ({ kind: 'firewall', op: 'create', data: firewallRule(data) })),
    })

  it('refuse a replacement of more than 1,000 characters', async () => {
    const { status, body } = await create({ action: 'mask', replacement: 'x'.repeat(1001) })
    expect(status).to.equal(400)
    expect(body.error.message).to.contain('replacement').and.contain('1000')
    expect((await create({ action: 'mask', replacement: 'x'.repeat(1000) })).status).to.equal(201)
  })

  it('refuse a substring that is too long to be searched, also in a batch and in a change', async () => {
    const tooLong = { type: 'substring', pattern: 'я'.repeat(5000) }
    const { status, body } = await create(tooLong)
    expect([status, body.error.message]).to.deep.equal([
      400,
      'The pattern of 5000 characters is too long for a substring. Shorten it.',
    ])
    const inBatch = await batch([{}, tooLong])
    expect(inBatch.status).to.equal(400)
    expect(inBatch.body.error.message).to.match(/^operations\[1\]: The pattern of 5000/)
    const { body: made } = await create({ pattern: tooLong.pattern })
    const change = await user.call('PATCH', `/v1/firewall-rules/${made.data.id}`, { type: 'substring' })
    expect(change.status).to.equal(400)
  })

  it('refuse what is too large before any pattern is analyzed, on all ways to write rules', async () => {
    const large = (n: number) => firewallRule({ name: `Rule ${n}`, pattern: `${n}${'(a|b)?'.repeat(150)}` })
    // An analysis would refuse the first rule by itself.
    const substring = firewallRule({ type: 'substring', pattern: 'я'.repeat(5000) })
    const rules = [substring, ...Array.from({ length: 600 }, (_, n) => large(n))]
    const operations = rules.map((data) => ({ kind: 'firewall', op: 'create', data }))
    const SIZE = /^The patterns of all rules together would have 5\d{5} characters; 500000 are allowed\./
    const policy = await newPolicy(gateway, { firewall: [] })
    for (const answer of [
      await user.call('POST', '/v1/rules/batch', { operations }),
      await asAdmin(gateway, 'POST', `/admin/policies/${policy.id}/rules/batch`, { operations }),
    ]) {
      expect(answer.status).to.equal(400)
      expect(answer.body.error.message).to.match(SIZE)
    }
    const simulation = { request: { messages: [] }, rules: { firewall: rules } }
    const simulated = await user.call('POST', '/v1/simulate', simulation)
    expect([simulated.status, simulated.body.error.message]).to.satisfy(
      ([status, message]: [number, string]) => status === 400 && SIZE.test(message),
    )
    for (const path of ['/admin/rules/file/plan', '/admin/rules/file/apply', '/admin/what-if']) {
      const file = { policies: [{ name: 'Large', ...SETTINGS, firewall_rules: rules }] }
      const { status, body } = await asAdmin(gateway, 'POST', path, { file })
      expect(status, path).to.equal(422)
      expect(Object.keys(body.error.errors ?? body.errors), path).to.deep.equal(['policies[0]'])
    }
  })

  it('accept and find a substring of a thousand characters of any script', async () => {
    for (const letter of ['a', 'я', '漢']) {
      const pattern = letter.repeat(1000)
      expect((await create({ type: 'substring', pattern, action: 'block' })).status).to.equal(201)
      const messages = [{ role: 'user', content: `a ${pattern} b` }]
      const { status } = await user.call('POST', '/v1/chat/completions', { messages })
      expect(status, letter).to.equal(403)
    }
  })

  it('refuse warnings that would be too long in an answer, each and together', async () => {
    const warning = (length: number) => routingRuleBody({ action_json: { add_warning: 'x'.repeat(length) } })
    const { status, body } = await user.call('POST', '/v1/routing-rules', warning(1001))
    expect(status).to.equal(422)
    expect(body.error.errors.action_json?.[0]).to.contain('1000')
    const operations = Array.from({ length: 600 }, () => ({
      kind: 'routing',
      op: 'create',
      data: warning(1000),
    }))
    expect((await user.call('POST', '/v1/rules/batch', { operations })).status).to.equal(200)
    const more = await user.call('POST', '/v1/rules/batch', { operations })
    expect([more.status, more.body.error.message]).to.deep.equal([
      400,
      'The actions of all rules together would have 1221600 characters; 1000000 are allowed. ' +
        'Shorten or delete some.',
    ])
  })

  it('refuse a text of more than 1,000 characters in contains', async () => {
    for (const contains of ['x'.repeat(1001), ['x', 'x'.repeat(1001)]]) {
      const { status, body } = await user.call(
        'POST',
        '/v1/routing-rules',
        routingRuleBody({ match_json: { contains } }),
      )
      expect(status).to.equal(422)
      expect(body.error.errors.match_json[0]).to.contain('1000 characters')
    }
  })

  it('refuse patterns of more than 500,000 characters of one user, in single writes, batches and drafts', async () => {
    const large = Array.from({ length: 51 }, (_, n) => ({ pattern: `${n}`.padEnd(9990, 'x') }))
    const { status, body } = await batch(large)
    expect(status).to.equal(400)
    expect(body.error.message).to.contain('500000 are allowed')
    expect((await batch(large.slice(1))).status).to.equal(200)
    expect((await create({ pattern: 'y'.repeat(600) })).status).to.equal(400)
    expect((await create({ pattern: 'y' })).status).to.equal(201)
    const simulation = await user.call('POST', '/v1/simulate', {
      messages: [{ role: 'user', content: 'x' }],
      rules: { firewall: large.map(firewallRule) },
    })
    expect(simulation.status).to.equal(400)
    const { body: other } = await (await newUser(gateway)).call('GET', '/v1/firewall-rules')
    expect(other.data).to.deep.equal([])
  })

  it('give the warnings of single writes in batches, too', async () => {
    const { status, body } = await batch([
      { pattern: 'fine' },
      { pattern: '(broken' },
      { scope: 'response' },
      { pattern: `(${'x'.repeat(2000)}` },
    ])
    expect(status).to.equal(200)
    const warnings = body.warnings.map((each: { operation: number; code: string }) => [
      each.operation,
      each.code,
    ])
    expect(warnings).to.deep.equal([
      [1, 'pattern_not_evaluable'],
      [2, 'scope_not_evaluated'],
      [3, 'pattern_not_evaluable'],
    ])
    expect(body.data[3].pattern_error).to.equal('A group has no closing parenthesis')
  })
})
