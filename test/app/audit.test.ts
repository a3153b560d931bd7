import { expect } from 'chai'
import { firewallRuleBody, routingRuleBody, toolRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'

const routing = (more: object = {}) =>
  routingRuleBody({ name: 'A route', action_json: { set_mode: 'cost' }, ...more })

const firewall = (more: object = {}) => firewallRuleBody({ name: 'A wall', ...more })

const KINDS = [
  { path: '/v1/routing-rules', rule: routing, kind: 'routing' },
  { path: '/v1/firewall-rules', rule: firewall, kind: 'firewall' },
  { path: '/v1/tool-rules', rule: toolRuleBody, kind: 'tool' },
]

const words = (data: readonly { event: string }[]) => data.map(({ event }) => event)

describe('audit endpoints', () => {
  let gateway: RunningGateway

  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const create = async (user: TestUser, path: string, rule: object) =>
    (await user.call('POST', path, rule)).body.data

  /** The position of the user's newest event. */
  const now = async (user: TestUser): Promise<number> =>
    (await user.call('GET', '/v1/audit?limit=1')).body.data[0].position

  for (const { path, rule, kind } of KINDS) {
    describe(`${path}/{id}/history`, () => {
      it('lists every event of the rule, oldest first, with before and after', async () => {
        const user = await newUser(gateway)
        const made = await user.call('POST', path, rule())
        const one = `${path}/${made.body.data.id}`
        const changed = await user.call('PATCH', one, { priority: 7 })
        await create(user, path, rule({ name: 'Another' }))
        const removed = await user.call('DELETE', one)

        const { status, body } = await user.call('GET', `${one}/history`)

        expect(status).to.equal(200)
        const [first, second, third] = body.data
        const actor = { type: 'key', id: user.keyId, name: 'someone' }
        const common = { actor, kind, id: made.body.data.id }
        expect(body.data).to.have.length(3)
        expect(first).to.deep.include({ ...common, event: 'created', revision: 1, before: null })
        expect(first.after).to.deep.equal(made.body.data)
        expect(first.time).to.equal(made.body.data.created_at)
        expect(first.request_id).to.equal(made.headers.get('x-request-id'))
        expect(second).to.deep.include({ ...common, event: 'updated', revision: 2 })
        expect(second.before).to.deep.equal(made.body.data)
        expect(second.after).to.deep.equal(changed.body.data)
        expect(third).to.deep.include({ ...common, event: 'deleted', revision: 3, after: null })
        expect(third.before).to.deep.equal(changed.body.data)
        expect(third.request_id).to.equal(removed.headers.get('x-request-id'))
        expect(first.position).to.be.below(second.position)
        expect(second.position).to.be.below(third.position)
      })

      it("returns the same 404 for unknown, malformed and other users' ids, and for ids of the other kind", async () => {
        const [owner, other] = [await newUser(gateway), await newUser(gateway)]
        const { id } = await create(owner, path, rule())
        const wrong = KINDS.find((candidate) => candidate.path !== path)
        const foreign = await create(other, wrong?.path ?? '', wrong?.rule() ?? {})
        const answers = await Promise.all(
          [id, foreign.id, other.id, 999999, 'abc'].map((some) =>
            other.call('GET', `${path}/${some}/history`),
          ),
        )
        for (const { status, body } of answers) {
          expect(status).to.equal(404)
          expect(body).to.deep.equal(answers[0]?.body)
        }
      })

      it('requires a paid plan', async () => {
        const user = await newUser(gateway, 'free')
        expect((await user.call('GET', `${path}/1/history`)).status).to.equal(403)
        expect((await user.call('POST', `${path}/1/revert`, { revision: 1 })).status).to.equal(403)
        expect((await user.call('GET', '/v1/rules/diff?from=0')).status).to.equal(403)
      })
    })

    describe(`${path}?as_of`, () => {
      it('returns list and rule as they were at a position or a time', async () => {
        const user = await newUser(gateway)
        const first = await create(user, path, rule({ name: 'First' }))
        const [earlyPosition, earlyTime] = [await now(user), first.updated_at]
        const second = await create(user, path, rule({ name: 'Second', priority: 5 }))
        const changed = (await user.call('PATCH', `${path}/${first.id}`, { name: 'Changed' })).body.data
        const late = await now(user)
        await user.call('DELETE', `${path}/${first.id}`)

        for (const moment of [earlyPosition, earlyTime]) {
          const list = await user.call('GET', `${path}?as_of=${moment}`)
          expect(list.body.data).to.deep.equal([first])
          const one = await user.call('GET', `${path}/${first.id}?as_of=${moment}`)
          expect(one.body.data).to.deep.equal(first)
          expect(one.headers.get('etag')).to.equal('"1"')
          expect((await user.call('GET', `${path}/${second.id}?as_of=${moment}`)).status).to.equal(404)
        }
        expect((await user.call('GET', `${path}?as_of=${late}`)).body.data).to.deep.equal([second, changed])
        expect((await user.call('GET', `${path}?as_of=0`)).body.data).to.deep.equal([])
        expect((await user.call('GET', path)).body.data).to.deep.equal([second])
      })

      it('accepts times in other zones, and dates', async () => {
        const user = await newUser(gateway)
        const { updated_at } = await create(user, path, rule())
        const inAnHour = new Date(Date.parse(updated_at) + 3_600_000).toISOString()
        // The same moment, to the microsecond.
        const elsewhere = `${inAnHour.slice(0, 19)}${updated_at.slice(19, -1)}%2B01:00`
        expect((await user.call('GET', `${path}?as_of=${elsewhere}`)).body.data).to.have.length(1)
        expect((await user.call('GET', `${path}?as_of=2020-02-29`)).body.data).to.deep.equal([])
      })

      it('returns 400 for malformed and future moments, and names the parameter', async () => {
        const user = await newUser(gateway)
        const { id } = await create(user, path, rule())
        const malformed = [
          'yesterday',
          '-1',
          '1.5',
          '2026-02-30',
          '2026-13-01T00:00:00Z',
          '2026-03-01T00:00:00',
          '',
        ]
        for (const moment of [...malformed, '999999999', '2999-01-01T00:00:00Z', '1&as_of=2']) {
          for (const place of [path, `${path}/${id}`]) {
            const { status, body } = await user.call('GET', `${place}?as_of=${moment}`)
            expect(status, moment).to.equal(400)
            expect(body.error.message).to.contain('as_of')
          }
        }
      })
    })

    describe(`${path}/{id}/revert`, () => {
      const revert = (user: TestUser, id: number, revision: unknown, headers = {}) =>
        user.call('POST', `${path}/${id}/revert`, { revision }, headers)

      it('appends an event with the old content, and responds like an update', async () => {
        const user = await newUser(gateway)
        const made = await create(user, path, rule())
        await user.call('PATCH', `${path}/${made.id}`, { name: 'Worse', priority: 9, is_enabled: false })

        const { status, headers, body } = await revert(user, made.id, 1)

        expect(status).to.equal(200)
        expect(headers.get('etag')).to.equal('"3"')
        expect(body.data).to.deep.equal({ ...made, updated_at: body.data.updated_at })
        expect(body.data.updated_at > made.updated_at).to.equal(true)
        const { data } = (await user.call('GET', `${path}/${made.id}/history`)).body
        expect(words(data)).to.deep.equal(['created', 'updated', 'reverted'])
        expect(data[2]).to.deep.include({ revision: 3, reverted_to: 1, after: body.data })
      })

      it('restores a deleted rule under its id, with its creation time and continued revisions', async () => {
        const user = await newUser(gateway)
        const made = await create(user, path, rule())
        await user.call('DELETE', `${path}/${made.id}`)

        const { status, headers, body } = await revert(user, made.id, 1)

        expect(status).to.equal(200)
        expect(headers.get('etag')).to.equal('"3"')
        expect(body.data).to.deep.equal({ ...made, updated_at: body.data.updated_at })
        expect((await user.call('GET', `${path}/${made.id}`)).body.data).to.deep.equal(body.data)
        const patched = await user.call('PATCH', `${path}/${made.id}`, { priority: 1 }, { 'if-match': '"3"' })
        expect(patched.headers.get('etag')).to.equal('"4"')
        const { data } = (await user.call('GET', `${path}/${made.id}/history`)).body
        expect(words(data)).to.deep.equal(['created', 'deleted', 'reverted', 'updated'])
        expect(data.map(({ revision }: { revision: number }) => revision)).to.deep.equal([1, 2, 3, 4])
      })

      it('honours If-Match, for deleted rules too', async () => {
        const user = await newUser(gateway)
        const { id } = await create(user, path, rule())
        await user.call('PATCH', `${path}/${id}`, { priority: 2 })
        expect((await revert(user, id, 1, { 'if-match': '"1"' })).status).to.equal(412)
        expect((await revert(user, id, 1, { 'if-match': '"2"' })).status).to.equal(200)
        await user.call('DELETE', `${path}/${id}`)
        expect((await revert(user, id, 1, { 'if-match': '"3"' })).status).to.equal(412)
        expect((await revert(user, id, 1, { 'if-match': '"4"' })).status).to.equal(200)
      })

      it('refuses revisions that do not exist, and the revision of a deletion', async () => {
        const user = await newUser(gateway)
        const { id } = await create(user, path, rule())
        await user.call('DELETE', `${path}/${id}`)
        for (const revision of [0, 2, 3, -1, 1.5, '1', null, undefined]) {
          const { status, body } = await revert(user, id, revision)
          expect(status, String(revision)).to.equal(400)
          expect(body.error.message.toLowerCase()).to.contain('revision')
        }
      })

      it("returns the same 404 for unknown and other users' ids", async () => {
        const [owner, other] = [await newUser(gateway), await newUser(gateway)]
        const { id } = await create(owner, path, rule())
        const answers = [await revert(other, id, 1), await revert(other, 999999, 1)]
        for (const { status, body } of answers) {
          expect(status).to.equal(404)
          expect(body).to.deep.equal(answers[0]?.body)
        }
      })

      it('records every revert when a deleted rule is restored many times at once', async () => {
        const user = await newUser(gateway)
        const { id } = await create(user, path, rule())
        await user.call('DELETE', `${path}/${id}`)
        const answers = await Promise.all(Array.from({ length: 8 }, () => revert(user, id, 1)))
        expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200))
        const { data } = (await user.call('GET', `${path}/${id}/history`)).body
        expect(data.map(({ revision }: { revision: number }) => revision)).to.deep.equal(
          Array.from({ length: 10 }, (_, index) => index + 1),
        )
        const { headers } = await user.call('GET', `${path}/${id}`)
        expect(headers.get('etag')).to.equal('"10"')
      })
    })
  }

  describe('GET /v1/audit', () => {
    it('lists events of rules, keys and plans, newest first, without secrets', async () => {
      const user = await newUser(gateway)
      const { id } = await create(user, '/v1/firewall-rules', firewall())
      await create(user, '/v1/routing-rules', routing())
      const key = await user.issueKey()
      await user.revokeKey(key.id)
      await user.setPlan('free')
      await user.setPlan('paid')
      await user.call('DELETE', `/v1/firewall-rules/${id}`)

      const { status, body } = await user.call('GET', '/v1/audit')

      expect(status).to.equal(200)
      expect(body.next_cursor).to.equal(null)
      expect(
        body.data.map(({ kind, event }: { kind: string; event: string }) => `${kind} ${event}`),
      ).to.deep.equal([
        'firewall deleted',
        'user plan_changed',
        'user plan_changed',
        'key revoked',
        'key created',
        'routing created',
        'firewall created',
        'key created',
        'user created',
      ])
      const [, plan, , revoked] = body.data
      expect(plan.before.plan).to.equal('free')
      expect(plan.after).to.deep.include({ id: user.id, plan: 'paid' })
      expect(plan.actor).to.deep.equal({ type: 'root', id: 'root', name: 'root' })
      expect(revoked.id).to.equal(key.id)
      expect(revoked.before.revoked_at).to.equal(null)
      expect(revoked.after).to.have.all.keys('id', 'created_at', 'revoked_at')
      const text = JSON.stringify(body)
      expect(text).not.to.match(/hash|[0-9a-f]{64}/)
      expect(text).not.to.contain(key.key)
    })

    it('shows only events of the caller', async () => {
      const [one, two] = [await newUser(gateway), await newUser(gateway)]
      await create(one, '/v1/routing-rules', routing())
      const { data } = (await two.call('GET', '/v1/audit')).body
      expect(words(data)).to.deep.equal(['created', 'created'])
      expect(data[1].id).to.equal(two.id)
    })

    it('works on the free plan, for events of keys', async () => {
      const user = await newUser(gateway, 'free')
      expect((await user.call('GET', '/v1/audit?kind=key')).body.data).to.have.length(1)
    })

    it('filters by kind, actor and time, bounds included', async () => {
      const user = await newUser(gateway)
      for (let n = 0; n < 4; n++) await create(user, '/v1/routing-rules', routing({ name: `Rule ${n}` }))
      const find = async (query: string) => (await user.call('GET', `/v1/audit?${query}`)).body.data
      const all = await find('kind=routing')
      expect(all).to.have.length(4)
      expect(await find(`actor=${user.keyId}`)).to.deep.equal(all)
      expect(await find('actor=root')).to.have.length(2)
      expect(await find('actor=nobody')).to.deep.equal([])
      const [newest, third, second] = all
      expect(await find(`since=${third.time}`)).to.deep.equal([newest, third])
      expect(await find(`since=${third.position}`)).to.deep.equal([newest, third])
      expect(await find(`since=${second.time}&until=${third.time}`)).to.deep.equal([third, second])
      expect(await find('until=2999-01-01')).to.have.length(6)
      expect(await find('until=2020-01-01')).to.deep.equal([])
    })

    it('returns every event once, page by page, while new events arrive', async () => {
      const user = await newUser(gateway)
      for (let n = 0; n < 7; n++) await create(user, '/v1/routing-rules', routing({ name: `Rule ${n}` }))
      const whole = (await user.call('GET', '/v1/audit')).body.data
      const seen: unknown[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const { body } = await user.call('GET', `/v1/audit?limit=2${cursor && `&cursor=${cursor}`}`)
        expect(body.data).to.have.length.at.most(2)
        seen.push(...body.data)
        cursor = body.next_cursor
        await create(user, '/v1/firewall-rules', firewall())
      }
      expect(seen).to.deep.equal(whole)
    })

    it('returns 400 for an invalid parameter and names it', async () => {
      const user = await newUser(gateway)
      const bad = {
        since: ['x', ''],
        until: ['2026-99-01'],
        kind: ['rule', ''],
        limit: ['0', '501', 'ten', '1.5', '-1'],
        cursor: ['x', 'YmVsb3c6eA', ''],
        acter: ['someone'],
      }
      for (const [param, values] of Object.entries(bad)) {
        for (const value of values) {
          const { status, body } = await user.call('GET', `/v1/audit?${param}=${value}`)
          expect(status, `${param}=${value}`).to.equal(400)
          expect(body.error.param).to.equal(param)
          expect(body.error.message).to.contain(param)
        }
      }
      expect((await user.call('GET', '/v1/audit?kind=key&kind=user')).body.error.param).to.equal('kind')
    })
  })

  describe('GET /v1/rules/diff', () => {
    it('lists rules added, changed (field by field) and removed, of all kinds', async () => {
      const user = await newUser(gateway)
      const kept = await create(user, '/v1/routing-rules', routing({ name: 'Kept' }))
      const removed = await create(user, '/v1/firewall-rules', firewall({ name: 'Removed' }))
      const touched = await create(user, '/v1/firewall-rules', firewall({ name: 'Touched' }))
      const from = await now(user)
      await user.call('PATCH', `/v1/routing-rules/${kept.id}`, {
        priority: 3,
        action_json: { set_mode: 'quality' },
      })
      await user.call('PATCH', `/v1/firewall-rules/${touched.id}`, { priority: 3 })
      await user.call('PATCH', `/v1/firewall-rules/${touched.id}`, { priority: 0 })
      await user.call('DELETE', `/v1/firewall-rules/${removed.id}`)
      const to = await now(user)
      const added = await create(user, '/v1/routing-rules', routing({ name: 'Added' }))

      const { status, body } = await user.call('GET', `/v1/rules/diff?from=${from}`)

      const changes = {
        priority: { from: 0, to: 3 },
        action_json: { from: { set_mode: 'cost' }, to: { set_mode: 'quality' } },
      }
      expect(status).to.equal(200)
      expect(body.data).to.deep.equal({
        from,
        to: await now(user),
        routing: { added: [added], changed: [{ id: kept.id, name: 'Kept', changes }], removed: [] },
        firewall: { added: [], changed: [], removed: [removed] },
        tool: { added: [], changed: [], removed: [] },
      })
      const until = await user.call('GET', `/v1/rules/diff?from=${from}&to=${to}`)
      expect(until.body.data.routing.added).to.deep.equal([])
      const back = await user.call('GET', `/v1/rules/diff?from=${to}&to=${from}`)
      expect(back.body.data.firewall.added).to.deep.equal([removed])
    })

    it('is empty between equal moments, and lists every rule as added since position 0', async () => {
      const user = await newUser(gateway)
      const rule = await create(user, '/v1/routing-rules', routing())
      const at = encodeURIComponent(rule.created_at)
      const { data } = (await user.call('GET', `/v1/rules/diff?from=${at}&to=${at}`)).body
      expect(data.routing).to.deep.equal({ added: [], changed: [], removed: [] })
      expect((await user.call('GET', '/v1/rules/diff?from=0')).body.data.routing.added).to.deep.equal([rule])
    })

    it('returns 400 for an invalid parameter and names it', async () => {
      const user = await newUser(gateway)
      const cases = {
        '': 'from',
        'to=1': 'from',
        'from=x': 'from',
        'from=2999-01-01': 'from',
        'from=0&to=999999999': 'to',
        'from=0&too=1': 'too',
      }
      for (const [query, param] of Object.entries(cases)) {
        const { status, body } = await user.call('GET', `/v1/rules/diff?${query}`)
        expect(status, query).to.equal(400)
        expect(body.error.param).to.equal(param)
      }
    })
  })

  describe('POST /v1/simulate', () => {
    const chat = (content: string, more: object = {}) => ({
      model: 'gpt-4o',
      messages: [{ role: 'user', content }],
      ...more,
    })
    const simulate = (user: TestUser, body: unknown) => user.call('POST', '/v1/simulate', body)

    it('returns the request and targets, with the trace that a live request has', async () => {
      const user = await newUser(gateway)
      await create(user, '/v1/firewall-rules', firewall())
      await create(user, '/v1/firewall-rules', firewall({ name: 'Careful', action: 'warn', pattern: 'my' }))
      await create(
        user,
        '/v1/routing-rules',
        routing({ action_json: { set_mode: 'quality', add_warning: 'w' } }),
      )
      const live = await user.call('POST', '/v1/chat/completions', chat('my secret'), {
        'x-include-trace': 'true',
      })

      const { status, body } = await simulate(user, chat('my secret'))

      expect(status).to.equal(200)
      const { metadata, model, provider } = live.body
      expect(body.data.outcome).to.equal('allowed')
      expect(body.data.blocked_by).to.equal(null)
      expect(body.data.request).to.deep.equal(chat('my [redacted]'))
      expect(body.data.warnings).to.deep.equal(metadata.warnings)
      expect(body.data.rule_trace).to.deep.equal(metadata.rule_trace)
      expect(body.data.rules_position).to.equal(metadata.rules_position)
      expect(body.data.targets[0]).to.deep.equal({ provider, model })
      expect(body.data.routing_mode).to.equal('quality')
      expect(body.data.routing_reason).to.contain('routing rule set the mode quality')
      expect(body.data.routing_score).to.be.within(0, 1)
    })

    it('names the rule that would block the request', async () => {
      const user = await newUser(gateway)
      const { id } = await create(user, '/v1/firewall-rules', firewall({ action: 'block' }))
      const { status, body } = await simulate(user, chat('my secret'))
      expect(status).to.equal(200)
      expect(body.data).to.deep.include({
        outcome: 'refused',
        blocked_by: { rule_id: id, name: 'A wall' },
        request: null,
        targets: [],
      })
      expect(body.data.error).to.deep.include({
        code: 'firewall_blocked',
        http_status: 403,
        meta: { rule_id: id },
      })
      expect(body.data.rule_trace).to.have.length(1)
    })

    it('reports other reasons to refuse the request', async () => {
      const user = await newUser(gateway)
      const { data } = (await simulate(user, chat('x', { model: 'no-such-model' }))).body
      expect(data.outcome).to.equal('refused')
      expect(data.error).to.deep.include({ code: 'model_not_found', http_status: 404, param: 'model' })
    })

    it('calls no provider and keeps no request record', async () => {
      const user = await newUser(gateway)
      const { status, headers } = await simulate(user, chat('[[sandbox:hang]]'))
      expect(status).to.equal(200)
      expect((await user.call('GET', `/v1/requests/${headers.get('x-request-id')}`)).status).to.equal(404)
    })

    it('simulates the other endpoints, recognized by their fields or by name', async () => {
      const user = await newUser(gateway)
      await create(user, '/v1/firewall-rules', firewall())
      const responses = await simulate(user, {
        model: 'gpt-4o',
        instructions: 'no secret',
        input: 'a secret',
      })
      expect(responses.body.data.request.messages).to.deep.equal([
        { role: 'system', content: 'no [redacted]' },
        { role: 'user', content: 'a [redacted]' },
      ])
      const route = await simulate(user, {
        prompt: 'a secret',
        cost_priority: 'cost',
        model_preferences: ['gpt-4.1'],
      })
      expect(route.body.data.routing_mode).to.equal('cost')
      expect(route.body.data.targets[0].model).to.equal('gpt-4.1')
      expect((await simulate(user, { endpoint: 'route', prompt: 'x' })).body.data.outcome).to.equal('allowed')
      expect((await simulate(user, { endpoint: 'route', ...chat('x') })).body.error.param).to.equal('prompt')
    })

    it('continues stored responses as the Responses API does', async () => {
      const user = await newUser(gateway)
      const first = await user.call('POST', '/v1/responses', { model: 'gpt-4o', input: 'remember me' })
      const { data } = (await simulate(user, { input: 'go on', previous_response_id: first.body.id })).body
      expect(data.request.messages[0]).to.deep.equal({ role: 'user', content: 'remember me' })
      const stranger = await newUser(gateway)
      const foreign = await simulate(stranger, { input: 'go on', previous_response_id: first.body.id })
      expect(foreign.status).to.equal(400)
    })

    it('decides with the rules and the plan as of a moment', async () => {
      const user = await newUser(gateway)
      const { id } = await create(user, '/v1/firewall-rules', firewall({ action: 'block' }))
      const blocking = await now(user)
      await user.setPlan('free')
      const suspended = await now(user)
      await user.setPlan('paid')
      await user.call('DELETE', `/v1/firewall-rules/${id}`)
      const asOf = async (as_of: unknown) => (await simulate(user, chat('my secret', { as_of }))).body.data
      expect((await asOf(blocking)).blocked_by.rule_id).to.equal(id)
      expect((await asOf(String(blocking))).rules_position).to.equal(blocking)
      expect((await asOf(suspended)).warnings[0].code).to.equal('plan')
      expect((await asOf(suspended)).outcome).to.equal('allowed')
      expect(await asOf(0)).to.deep.include({ outcome: 'allowed', warnings: [], rule_trace: [] })
      expect((await asOf(await now(user))).rule_trace).to.deep.equal([])
    })

    it('adds draft rules to the stored ones, and replaces those with the same id', async () => {
      const user = await newUser(gateway)
      const stored = await create(user, '/v1/firewall-rules', firewall({ name: 'Stored' }))
      const rules = {
        firewall: [
          firewall({ name: 'New', action: 'warn', pattern: 'a' }),
          { id: stored.id, replacement: '***' },
        ],
        routing: [routing({ action_json: { set_model: 'gpt-4.1' } })],
      }
      const { data } = (await simulate(user, chat('a secret', { rules }))).body
      expect(data.request.messages[0].content).to.equal('a ***')
      expect(data.targets).to.deep.equal([{ provider: 'openai', model: 'gpt-4.1' }])
      expect(data.rule_trace.map(({ rule_id }: { rule_id: number }) => rule_id)).to.deep.equal([
        stored.id,
        -2,
        -1,
      ])
      const off = { firewall: [{ id: stored.id, is_enabled: false }] }
      expect((await simulate(user, chat('a secret', { rules: off }))).body.data.rule_trace).to.deep.equal([])
      expect((await user.call('GET', '/v1/firewall-rules')).body.data).to.deep.equal([stored])
      expect((await user.call('GET', '/v1/routing-rules')).body.data).to.deep.equal([])
    })

    it('validates drafts like rules, and names the invalid one', async () => {
      const user = await newUser(gateway)
      const cases: [object, number, string][] = [
        [{ firewall: [firewall(), firewall({ scope: 'both' })] }, 400, 'rules.firewall[1]'],
        [{ routing: [routing({ priority: 5000 })] }, 422, 'rules.routing[0]'],
        [{ routing: [{ name: 'Half' }] }, 400, 'rules.routing[0]'],
        [{ routing: [{ id: 999999, priority: 1 }] }, 404, 'rules.routing[0]'],
        [{ routing: [{ id: 'one' }] }, 400, 'rules.routing[0].id'],
        [{ routing: {} }, 400, 'rules.routing'],
        [{ rooting: [] }, 400, 'rooting'],
      ]
      for (const [rules, expected, says] of cases) {
        const { status, body } = await simulate(user, chat('x', { rules }))
        expect(status, says).to.equal(expected)
        expect(body.error.message).to.contain(says)
      }
      const { body } = await simulate(user, chat('x', { rules: { routing: [routing({ priority: 5000 })] } }))
      expect(body.error.errors).to.have.all.keys('priority')
    })

    it('tells callers on the free plan that their drafts would not be applied', async () => {
      const user = await newUser(gateway, 'free')
      const rules = { firewall: [firewall({ action: 'block' })] }
      const { data } = (await simulate(user, chat('a secret', { rules }))).body
      expect(data.outcome).to.equal('allowed')
      expect(data.warnings[0].code).to.equal('plan')
    })

    it('returns 400 for an invalid body and names the field', async () => {
      const user = await newUser(gateway)
      const cases: [unknown, string][] = [
        [{ model: 'gpt-4o' }, 'messages'],
        [chat('x', { endpoint: 'elsewhere' }), 'endpoint'],
        [chat('x', { as_of: 'soon' }), 'as_of'],
        [chat('x', { as_of: 999999999 }), 'as_of'],
        [chat('x', { as_of: -1 }), 'as_of'],
        [chat('x', { as_of: null }), 'as_of'],
        [chat('x', { temperature: 3 }), 'temperature'],
        [chat('x', { n: 2 }), 'n'],
      ]
      for (const [body, param] of cases) {
        const answer = await simulate(user, body)
        expect(answer.status, param).to.equal(400)
        expect(answer.body.error.param).to.equal(param)
      }
      for (const body of ['{', '[]', '']) expect((await simulate(user, body)).status).to.equal(400)
    })

    it('requires a key', async () => {
      const { status } = await gateway.call('POST', '/v1/simulate', chat('x'), { authorization: 'Bearer x' })
      expect(status).to.equal(401)
    })
  })
})
