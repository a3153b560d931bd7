import { expect } from 'chai'
import {
  firewallRuleBody as firewallRule,
  routingRuleBody as routingRule,
  toolRuleBody as toolRule,
} from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser as createUser, type TestUser } from '../support/new-user.ts'

const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

describe('rule endpoints', () => {
  let gateway: RunningGateway

  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const newUser = (plan?: string) => createUser(gateway, plan)

  for (const { path, rule } of [
    { path: '/v1/routing-rules', rule: routingRule },
    { path: '/v1/firewall-rules', rule: firewallRule },
    { path: '/v1/tool-rules', rule: toolRule },
  ]) {
    describe(path, () => {
      it('lists no rules as an empty array', async () => {
        const user = await newUser()
        const { status, body } = await user.call('GET', path)
        expect(status).to.equal(200)
        expect(body).to.deep.equal({ data: [] })
      })

      it('creates a rule with 201, its owner, times in microseconds and an ETag', async () => {
        const user = await newUser()
        const { status, headers, body } = await user.call('POST', path, rule())
        expect(status).to.equal(201)
        expect(body.data).to.include({ name: 'A rule', user_id: user.id, is_enabled: true })
        expect(body.data.id).to.be.a('number')
        expect(body.data.created_at).to.match(MICROSECONDS)
        expect(body.data.updated_at).to.equal(body.data.created_at)
        expect(headers.get('etag')).to.equal('"1"')
      })

      it('returns one rule', async () => {
        const user = await newUser()
        const created = await user.call('POST', path, rule())
        const { status, body } = await user.call('GET', `${path}/${created.body.data.id}`)
        expect(status).to.equal(200)
        expect(body.data).to.deep.equal(created.body.data)
      })

      it('lists by priority descending, then by id ascending', async () => {
        const user = await newUser()
        const ids: number[] = []
        for (const priority of [1, 5, 1, -3, 5]) {
          ids.push((await user.call('POST', path, rule({ priority }))).body.data.id)
        }
        const { body } = await user.call('GET', path)
        const [a, b, c, d, e] = ids
        expect(body.data.map(({ id }: { id: number }) => id)).to.deep.equal([b, e, a, c, d])
      })

      it('lists the revisions of rules if they are asked for', async () => {
        const user = await newUser()
        const { id } = (await user.call('POST', path, rule())).body.data
        await user.call('PATCH', `${path}/${id}`, { priority: 2 })
        const plain = (await user.call('GET', path)).body.data
        const { body } = await user.call('GET', `${path}?revisions=true`)
        expect(body.data).to.deep.equal([{ ...plain[0], revision: 2 }])
        const refused = await user.call('GET', `${path}?revisions=true&as_of=3`)
        expect([refused.status, refused.body.error.message]).to.deep.equal([
          400,
          'revisions and as_of exclude each other. Leave one out.',
        ])
      })

      it('updates the given fields and updated_at only', async () => {
        const user = await newUser()
        const { body: created } = await user.call('POST', path, rule())
        const { status, body } = await user.call('PATCH', `${path}/${created.data.id}`, { is_enabled: false })
        expect(status).to.equal(200)
        expect(body.data).to.deep.equal({
          ...created.data,
          is_enabled: false,
          updated_at: body.data.updated_at,
        })
        expect(body.data.updated_at > created.data.updated_at).to.equal(true)
      })

      it('ignores fields that the server assigns', async () => {
        const user = await newUser()
        const { body: created } = await user.call('POST', path, rule())
        const { status, body } = await user.call('PATCH', `${path}/${created.data.id}`, {
          ...created.data,
          id: 1,
          user_id: 1,
          created_at: 'never',
          name: 'Renamed',
        })
        expect(status).to.equal(200)
        expect(body.data).to.include({ id: created.data.id, user_id: user.id, name: 'Renamed' })
      })

      it('deletes a rule', async () => {
        const user = await newUser()
        const { body: created } = await user.call('POST', path, rule())
        const { status, body } = await user.call('DELETE', `${path}/${created.data.id}`)
        expect(status).to.equal(200)
        expect(body).to.deep.equal({ success: true })
        expect((await user.call('GET', `${path}/${created.data.id}`)).status).to.equal(404)
        expect((await user.call('DELETE', `${path}/${created.data.id}`)).status).to.equal(404)
      })

      it("returns the same 404 for unknown, malformed and other users' ids", async () => {
        const [owner, other] = [await newUser(), await newUser()]
        const { body: created } = await owner.call('POST', path, rule())
        const answers = await Promise.all(
          [created.data.id, 999999, 'abc', '1.5', '-1'].map((id) => other.call('GET', `${path}/${id}`)),
        )
        for (const { status, body } of answers) {
          expect(status).to.equal(404)
          expect(body).to.deep.equal(answers[0]?.body)
          expect(body.error).to.include({ type: 'not_found_error', http_status: 404 })
        }
        expect((await other.call('GET', path)).body.data).to.deep.equal([])
      })

      it('refuses a stale If-Match with 412 and accepts the current one', async () => {
        const user = await newUser()
        const { body: created } = await user.call('POST', path, rule())
        const one = `${path}/${created.data.id}`
        const first = await user.call('PATCH', one, { priority: 1 }, { 'if-match': '"1"' })
        expect(first.headers.get('etag')).to.equal('"2"')
        expect((await user.call('PATCH', one, { priority: 2 }, { 'if-match': '"1"' })).status).to.equal(412)
        expect((await user.call('DELETE', one, undefined, { 'if-match': '"1"' })).status).to.equal(412)
        expect((await user.call('DELETE', one, undefined, { 'if-match': '"2"' })).status).to.equal(200)
      })

      it('returns 400 for a body that is not a JSON object', async () => {
        const user = await newUser()
        for (const body of ['{', '[]', '"text"', '']) {
          const answer = await user.call('POST', path, body)
          expect(answer.status).to.equal(400)
          const { message, ...others } = answer.body.error
          expect(message).to.be.a('string')
          expect(others).to.deep.equal({
            type: 'invalid_request_error',
            code: 'malformed_body',
            http_status: 400,
          })
        }
      })

      it('returns 401 without a valid key', async () => {
        const { status, body } = await gateway.call('GET', path, undefined, {
          authorization: 'Bearer nobody',
        })
        expect(status).to.equal(401)
        expect(body.error.type).to.equal('authentication_error')
      })

      it('returns 405 with the allowed methods', async () => {
        const user = await newUser()
        const { status, headers } = await user.call('PUT', path, {})
        expect(status).to.equal(405)
        expect(headers.get('allow')?.split(', ').sort()).to.deep.equal(['GET', 'HEAD', 'POST'])
      })
    })
  }

  describe('validation of routing rules', () => {
    it('names the first missing field with 400', async () => {
      const user = await newUser()
      const { status, body } = await user.call('POST', '/v1/routing-rules', { priority: 5000, nmae: 'x' })
      expect(status).to.equal(400)
      const { errors, ...error } = body.error
      expect(error).to.deep.equal({
        message: 'The name field is required.',
        type: 'invalid_request_error',
        code: 'invalid_rule',
        http_status: 400,
      })
      expect(Object.keys(errors)).to.deep.equal([
        ...['name', 'is_enabled', 'priority', 'match_json', 'action_json', 'nmae'],
      ])
      expect(errors.nmae[0]).to.contain('nmae is not a field')
    })

    it('reports all issues of all fields with 422', async () => {
      const user = await newUser()
      const { status, body } = await user.call(
        'POST',
        '/v1/routing-rules',
        routingRule({
          name: 'x'.repeat(129),
          priority: 1001,
          match_json: { contain: 'x', task: 1 },
          action_json: '[]',
        }),
      )
      expect(status).to.equal(422)
      expect(body.error).to.include({ type: 'validation_error', http_status: 422 })
      expect(Object.keys(body.error.errors)).to.have.members([
        'name',
        'priority',
        'match_json',
        'action_json',
      ])
      expect(body.error.errors.match_json).to.have.length(2)
    })

    it('accepts documents as JSON text and returns them as objects', async () => {
      const user = await newUser()
      const { body } = await user.call(
        'POST',
        '/v1/routing-rules',
        routingRule({ match_json: '{"mode":"Balanced"}', action_json: '{"set_mode":"fast"}' }),
      )
      expect(body.data.match_json).to.deep.equal({ mode: 'balance' })
      expect(body.data.action_json).to.deep.equal({ set_mode: 'latency' })
    })

    it('accepts the five providers and no other', async () => {
      const user = await newUser()
      const create = (set_provider: string) =>
        user.call('POST', '/v1/routing-rules', routingRule({ action_json: { set_provider } }))
      for (const id of ['openai', 'anthropic', 'gemini', 'mistral', 'deepseek']) {
        expect((await create(id)).status).to.equal(201)
      }
      expect((await create('OpenAI')).status).to.equal(422)
    })

    it('warns about a condition that never matches', async () => {
      const user = await newUser()
      const { status, body } = await user.call(
        'POST',
        '/v1/routing-rules',
        routingRule({ match_json: { contains: ['', ''] } }),
      )
      expect(status).to.equal(201)
      expect(body.warnings[0].code).to.equal('condition_never_matches')
    })
  })

  it('refuse unknown keys of a warning', async () => {
    const user = await newUser()
    const { status, body } = await user.call(
      'POST',
      '/v1/routing-rules',
      routingRule({ action_json: { add_warning: { message: 'Hello', mesage: 'Hi' } } }),
    )
    expect(status).to.equal(422)
    expect(body.error.errors.action_json[0]).to.contain('add_warning')
  })

  describe('validation of firewall rules', () => {
    it('names the field and the allowed values with 400', async () => {
      const user = await newUser()
      const wrong = async (more: object) =>
        (await user.call('POST', '/v1/firewall-rules', firewallRule(more))).body
      const { error } = await wrong({ name: undefined, nmae: 'x', priority: 1.5 })
      expect(error).to.include({
        message: 'The name field is required.',
        type: 'invalid_request_error',
        code: 'invalid_rule',
        http_status: 400,
      })
      expect(Object.keys(error.errors)).to.deep.equal(['name', 'priority', 'nmae'])
      expect((await wrong({ scope: 'both' })).error.message).to.contain('one of prompt, response')
      expect((await wrong({ priority: 1.5 })).error.message).to.contain('-1000 to 1000')
    })

    it('accepts a pattern that cannot be evaluated, with a warning', async () => {
      const user = await newUser()
      const { status, body } = await user.call(
        'POST',
        '/v1/firewall-rules',
        firewallRule({ type: 'regex', pattern: '(unclosed' }),
      )
      expect(status).to.equal(201)
      expect(body.warnings[0].code).to.equal('pattern_not_evaluable')
      const listed = await user.call('GET', '/v1/firewall-rules')
      expect(listed.body.data[0].pattern_error).to.be.a('string')
    })

    it('warns that response rules are not evaluated', async () => {
      const user = await newUser()
      const { body } = await user.call('POST', '/v1/firewall-rules', firewallRule({ scope: 'response' }))
      expect(body.warnings[0].code).to.equal('scope_not_evaluated')
    })
  })

  describe('a batch', () => {
    const batch = (user: TestUser, ...operations: object[]) =>
      user.call('POST', '/v1/rules/batch', { operations })

    it('swaps two priorities atomically', async () => {
      const user = await newUser()
      const one = (await user.call('POST', '/v1/routing-rules', routingRule({ priority: 1 }))).body.data
      const two = (await user.call('POST', '/v1/routing-rules', routingRule({ priority: 2 }))).body.data
      const { status, body } = await batch(
        user,
        { kind: 'routing', op: 'update', id: one.id, data: { priority: 2 } },
        { kind: 'routing', op: 'update', id: two.id, data: { priority: 1 } },
      )
      expect(status).to.equal(200)
      expect(body.data.map(({ priority }: { priority: number }) => priority)).to.deep.equal([2, 1])
      const listed = await user.call('GET', '/v1/routing-rules')
      expect(listed.body.data.map(({ id }: { id: number }) => id)).to.deep.equal([one.id, two.id])
    })

    it('creates, updates and deletes rules of both kinds, with results in order', async () => {
      const user = await newUser()
      const old = (await user.call('POST', '/v1/firewall-rules', firewallRule())).body.data
      const { body } = await batch(
        user,
        { kind: 'routing', op: 'create', data: routingRule({ name: 'New route' }) },
        { kind: 'firewall', op: 'delete', id: old.id },
        { kind: 'firewall', op: 'create', data: firewallRule({ name: 'New wall' }) },
      )
      expect(body.data[0]).to.include({ name: 'New route', user_id: user.id })
      expect(body.data[1]).to.deep.equal({ success: true })
      expect(body.data[2]).to.include({ name: 'New wall' })
      expect(body.data[0].updated_at).to.equal(body.data[2].updated_at)
    })

    it('changes nothing when one operation is refused, and names it', async () => {
      const user = await newUser()
      const good = { kind: 'firewall', op: 'create', data: firewallRule() }
      const cases: [object, number][] = [
        [{ kind: 'firewall', op: 'create', data: firewallRule({ scope: 'both' }) }, 400],
        [{ kind: 'routing', op: 'create', data: routingRule({ priority: 5000 }) }, 422],
        [{ kind: 'firewall', op: 'delete', id: 999999 }, 404],
        [{ kind: 'routing', op: 'update', data: {} }, 400],
        [{ kind: 'routing', op: 'rename', id: 1 }, 400],
      ]
      for (const [bad, expected] of cases) {
        const { status, body } = await batch(user, good, bad)
        expect(status).to.equal(expected)
        expect(body.error.message).to.contain('operations[1]')
      }
      expect((await user.call('GET', '/v1/firewall-rules')).body.data).to.deep.equal([])
    })

    it('checks revisions if they are given', async () => {
      const user = await newUser()
      const { id } = (await user.call('POST', '/v1/firewall-rules', firewallRule())).body.data
      await user.call('PATCH', `/v1/firewall-rules/${id}`, { priority: 3 })
      const update = (revision: number) =>
        batch(user, { kind: 'firewall', op: 'update', id, revision, data: { priority: 4 } })
      expect((await update(1)).status).to.equal(412)
      expect((await update(2)).status).to.equal(200)
    })

    it('requires a paid plan', async () => {
      const user = await newUser('free')
      expect((await batch(user, { kind: 'firewall', op: 'create', data: firewallRule() })).status).to.equal(
        403,
      )
    })
  })

  describe('the record of a request', () => {
    const chat = (user: TestUser, content: string) =>
      user.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages: [{ role: 'user', content }] })

    it('reports target, attempts and the effects of rules', async () => {
      const user = await newUser()
      await user.call('POST', '/v1/routing-rules', routingRule({ action_json: { set_mode: 'cost' } }))
      const { body } = await chat(user, 'hello')
      const { body: record } = await user.call('GET', `/v1/requests/${body.x_request_id}`)
      expect(record.data).to.include({ outcome: 'answered', requested_model: 'gpt-4o', model: body.model })
      expect(record.data.rule_trace[0]).to.include({
        kind: 'routing',
        action: 'set_mode',
        outcome: 'applied',
      })
      expect(record.data.attempts[0]).to.include({ model: body.model, outcome: 'ok' })
    })

    it('names the rule that blocked it', async () => {
      const user = await newUser()
      const { body: rule } = await user.call('POST', '/v1/firewall-rules', firewallRule({ action: 'block' }))
      const { headers } = await chat(user, 'a secret')
      const { body: record } = await user.call('GET', `/v1/requests/${headers.get('x-request-id')}`)
      expect(record.data.outcome).to.equal('failed')
      expect(record.data.error).to.deep.include({ code: 'firewall_blocked', meta: { rule_id: rule.data.id } })
      expect(record.data.rule_trace).to.deep.include({
        kind: 'firewall',
        rule_id: rule.data.id,
        name: 'A rule',
        action: 'block',
        outcome: 'applied',
      })
    })

    it('is visible to its owner only', async () => {
      const [owner, other] = [await newUser(), await newUser()]
      const { body } = await chat(owner, 'hello')
      expect((await other.call('GET', `/v1/requests/${body.x_request_id}`)).status).to.equal(404)
      expect((await owner.call('GET', '/v1/requests/req_unknown')).status).to.equal(404)
    })
  })

  describe('the plan', () => {
    it('returns 403 on the free plan, in the format of each endpoint', async () => {
      const user = await newUser('free')
      const routing = await user.call('POST', '/v1/routing-rules', routingRule())
      expect(routing.status).to.equal(403)
      expect(routing.body.error).to.include({ type: 'authorization_error', http_status: 403 })
      const firewall = await user.call('GET', '/v1/firewall-rules')
      expect(firewall.status).to.equal(403)
      expect(firewall.body.error).to.include({ type: 'authorization_error', http_status: 403 })
      expect(firewall.body.error.code).to.equal('plan_required')
    })

    it("keeps a downgraded user's rules without applying them, with a warning", async () => {
      const user = await newUser()
      await user.call('POST', '/v1/firewall-rules', firewallRule({ action: 'block' }))
      const chat = () =>
        user.call('POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'my secret' }] })
      expect((await chat()).status).to.equal(403)
      await user.setPlan('free')
      const suspended = await chat()
      expect(suspended.status).to.equal(200)
      expect(suspended.body.metadata.warnings[0].code).to.equal('plan')
      await user.setPlan('paid')
      expect((await chat()).status).to.equal(403)
    })
  })

  describe('the effect of rules on the next request', () => {
    const chat = (user: TestUser, content: string, more: object = {}, headers = {}) =>
      user.call(
        'POST',
        '/v1/chat/completions',
        { model: 'gpt-4o', messages: [{ role: 'user', content }], ...more },
        headers,
      )

    it('masks text before it reaches the provider', async () => {
      const user = await newUser()
      await user.call('POST', '/v1/firewall-rules', firewallRule())
      await user.call(
        'POST',
        '/v1/firewall-rules',
        firewallRule({ type: 'regex', pattern: '/(\\d{4})-(\\d{4})/', replacement: '$1-****' }),
      )
      const { body } = await chat(user, 'my SECRET is 1234-5678')
      expect(body.choices[0].message.content).to.contain('my [redacted] is 1234-****')
    })

    it('warns once per rule', async () => {
      const user = await newUser()
      await user.call('POST', '/v1/firewall-rules', firewallRule({ name: 'One', action: 'warn' }))
      await user.call('POST', '/v1/firewall-rules', firewallRule({ name: 'Two', action: 'warn' }))
      const { body } = await chat(user, 'a secret')
      expect(body.metadata.warnings).to.deep.equal([
        { code: 'firewall', message: 'Firewall rule "One" triggered.' },
        { code: 'firewall', message: 'Firewall rule "Two" triggered.' },
      ])
    })

    it('does not apply disabled rules', async () => {
      const user = await newUser()
      const { body: rule } = await user.call(
        'POST',
        '/v1/firewall-rules',
        firewallRule({ is_enabled: false }),
      )
      expect((await chat(user, 'a secret')).body.choices[0].message.content).to.contain('a secret')
      await user.call('PATCH', `/v1/firewall-rules/${rule.data.id}`, { is_enabled: true })
      expect((await chat(user, 'a secret')).body.choices[0].message.content).to.contain('a [redacted]')
    })

    it('routes by contains, metadata, task and mode', async () => {
      const user = await newUser()
      const set = (match_json: object, set_model: string) =>
        user.call('POST', '/v1/routing-rules', routingRule({ match_json, action_json: { set_model } }))
      await set({ contains: ['cheap', 'klein'] }, 'gpt-6-luna')
      await set({ metadata_equals: { team: 'red', level: 3 } }, 'gpt-4.1')
      await set({ task: 'summary' }, 'gpt-4.1-mini')
      await set({ mode: 'quality' }, 'gpt-6-astra')
      const model = async (content: string, more: object = {}) => (await chat(user, content, more)).body.model
      expect(await model('something CHEAP')).to.equal('gpt-6-luna')
      expect(await model('x', { metadata: { team: 'red', level: '3' } })).to.equal('gpt-4.1')
      expect(await model('x', { user: '{"task":"summary"}' })).to.equal('gpt-4.1-mini')
      expect(await model('x', { model: 'auto:quality' })).to.equal('gpt-6-astra')
      expect(await model('x', { metadata: { team: 'red' } })).to.equal('gpt-4o')
    })

    it('applies the first matching rule and explains it in the trace', async () => {
      const user = await newUser()
      const set = (priority: number, action_json: object) =>
        user.call('POST', '/v1/routing-rules', routingRule({ priority, action_json }))
      const { body: low } = await set(1, { set_model: 'gpt-4.1', add_warning: 'low' })
      const { body: high } = await set(2, {
        set_model: 'gpt-6-luna',
        set_mode: 'cost',
        add_warning: { message: 'high' },
      })
      const { body } = await chat(user, 'x', {}, { 'x-include-trace': 'true' })
      expect(body.model).to.equal('gpt-6-luna')
      expect(body.metadata.warnings.map(({ message }: { message: string }) => message)).to.deep.equal([
        'high',
        'low',
      ])
      const [h, l] = [high.data.id, low.data.id]
      expect(body.metadata.rule_trace).to.deep.equal([
        { kind: 'routing', rule_id: h, name: 'A rule', action: 'set_model', outcome: 'applied' },
        {
          kind: 'routing',
          rule_id: h,
          name: 'A rule',
          action: 'set_mode',
          outcome: 'skipped',
          reason: 'mode_unused_model_pinned',
        },
        { kind: 'routing', rule_id: h, name: 'A rule', action: 'add_warning', outcome: 'applied' },
        {
          kind: 'routing',
          rule_id: l,
          name: 'A rule',
          action: 'set_model',
          outcome: 'skipped',
          reason: 'already_set_by_rule',
        },
        { kind: 'routing', rule_id: l, name: 'A rule', action: 'add_warning', outcome: 'applied' },
      ])
    })

    it('reports the log position of the rules', async () => {
      const user = await newUser()
      const before = (await chat(user, 'x')).body.metadata.rules_position
      await user.call('POST', '/v1/firewall-rules', firewallRule())
      const after = (await chat(user, 'x')).body.metadata.rules_position
      expect(after).to.be.greaterThan(before)
      expect((await chat(user, 'x')).body.metadata.rules_position).to.equal(after)
    })
  })
})
