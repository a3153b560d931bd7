import { expect } from 'chai'
import { chatBody, routingRuleBody } from '../support/bodies.ts'
import { type StoppedClock, stopClock } from '../support/clock.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'

const CHAT = '/v1/chat/completions'
const DAY_MS = 86_400_000
const inFuture = (ms: number) => new Date(Date.now() + ms).toISOString()

describe('API keys', () => {
  let gateway: RunningGateway
  let user: TestUser
  before(async () => {
    gateway = await startGateway()
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(() => gateway.stop())

  const issue = (body?: unknown, headers = {}) =>
    gateway.call('POST', `/admin/users/${user.id}/keys`, body, { ...AS_ADMIN, ...headers })
  const rotate = (id: string, body: unknown, headers = {}) =>
    gateway.call('POST', `/admin/keys/${id}/rotate`, body, { ...AS_ADMIN, ...headers })
  const list = async () =>
    (await gateway.call('GET', `/admin/users/${user.id}/keys`, undefined, AS_ADMIN)).body.data
  const as = (key: string) => ({ authorization: `Bearer ${key}` })
  const chat = (key: string, body: unknown) => gateway.call('POST', CHAT, body, as(key))

  /** A function that sends a chat with a key that has these restrictions. */
  async function restricted(restrictions: object) {
    const { key } = (await issue(restrictions)).body.data
    return (model: string, more: object = {}) => chat(key, chatBody('Hello', { model, ...more }))
  }

  it('have a name, restrictions and the hour of their last use, which are listed', async () => {
    const wanted = {
      name: 'Batch job',
      expires_at: inFuture(DAY_MS),
      models: ['gpt-4o', 'anthropic/claude-sonnet-4-6'],
      endpoints: [CHAT],
    }
    const issued = await issue(wanted)
    expect(issued.status).to.equal(201)
    const { id, key } = issued.body.data
    const [, listed] = await list()
    expect(listed).to.deep.include({ ...wanted, expires_at: wanted.expires_at.replace('Z', '000Z'), id })
    expect(listed).to.include({ last_used_at: null, revoked_at: null })
    expect(JSON.stringify(listed)).not.to.match(/hash|tr_/)

    const thisHour = () => new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString()
    const before = thisHour()
    await chat(key, chatBody('Hello'))
    const hours = [before, thisHour()]
    const [unused, used] = await list()
    expect(unused.last_used_at).to.equal(null)
    expect(used.last_used_at).to.be.oneOf(hours)
  })

  it('of all users are listed in pages, by owner, name and state', async () => {
    const other = await newUser(gateway, 'free', `Robots of ${user.id}`)
    const named = (await issue({ name: `Batch ${user.id}` })).body.data
    const revoked = (await issue({ name: `Old batch ${user.id}` })).body.data
    await gateway.call('DELETE', `/admin/keys/${revoked.id}`, undefined, AS_ADMIN)
    await chat(named.key, chatBody('Hello'))
    const find = async (query: string, headers: Readonly<Record<string, string>> = AS_ADMIN) => {
      const { status, body } = await gateway.call('GET', `/admin/keys?${query}`, undefined, headers)
      expect(status).to.equal(200)
      return body
    }
    const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id)

    const batches = await find(`q=batch ${user.id}&limit=1`)
    expect(idsOf(batches)).to.deep.equal([named.id])
    const owner = { user_id: user.id, user_name: 'someone' }
    expect(batches.data[0]).to.include({ ...owner, name: `Batch ${user.id}`, state: 'active' })
    expect(batches.data[0].last_used_at).to.match(/:00:00.000Z$/)
    const rest = await find(`q=batch ${user.id}&limit=1&cursor=${batches.next_cursor}`)
    expect([idsOf(rest), rest.next_cursor]).to.deep.equal([[revoked.id], null])
    expect(rest.data[0]).to.include({ state: 'revoked', last_used_at: null })
    expect(JSON.stringify([batches, rest])).not.to.match(/hash|tr_/)

    expect(idsOf(await find(`user=${user.id}&state=revoked`))).to.deep.equal([revoked.id])
    expect((await find(`user=${other.id}`)).data).to.have.length(1)
    expect((await find(`q=ROBOTS OF ${user.id}`)).data).to.have.length(1)
    expect(idsOf(await find(`q=${named.id}`))).to.deep.equal([named.id])
    const every = await find('limit=1000')
    const paged: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await find(`limit=2${cursor && `&cursor=${cursor}`}`)
      paged.push(...idsOf(page))
      cursor = page.next_cursor
    }
    expect(paged).to.deep.equal(idsOf(every))
    expect(paged).to.include.members([named.id, revoked.id])

    const group = (await gateway.call('POST', '/admin/groups', { name: 'Robots' }, AS_ADMIN)).body.data.id
    await gateway.call('PUT', `/admin/groups/${group}/members/${other.id}`, undefined, AS_ADMIN)
    const scoped = await newOperator(gateway, 'auditor', 'Sue', { scope: { groups: [group] } })
    const seen = await find('limit=1000', as(scoped.key))
    expect(seen.data.map((key: { user_id: number }) => key.user_id)).to.deep.equal([other.id])
    const refused = await gateway.call('GET', '/admin/keys?cursor=YWZ0ZXI6Nw', undefined, AS_ADMIN)
    expect([refused.status, refused.body.error.param]).to.deep.equal([400, 'cursor'])
  })

  it('of the user who asks are listed, without secrets and without those of others', async () => {
    const other = await newUser(gateway)
    const named = (await issue({ name: 'Batch job', models: ['gpt-4o'] })).body.data
    const revoked = (await issue({ name: 'Old' })).body.data
    await gateway.call('DELETE', `/admin/keys/${revoked.id}`, undefined, AS_ADMIN)
    await chat(named.key, chatBody('Hello', { model: 'gpt-4o' }))
    const find = async (query = '') => {
      const { status, body } = await user.call('GET', `/v1/keys${query}`)
      expect(status).to.equal(200)
      return body
    }
    const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id)

    const all = await find()
    expect(idsOf(all)).to.deep.equal([user.keyId, named.id, revoked.id])
    expect(all.data[1]).to.deep.include({ name: 'Batch job', models: ['gpt-4o'], state: 'active' })
    expect(all.data[1].last_used_at).to.match(/:00:00.000Z$/)
    expect(JSON.stringify(all)).not.to.match(/hash|tr_/)
    expect(idsOf(await find('?state=revoked'))).to.deep.equal([revoked.id])
    const first = await find('?limit=2')
    expect(idsOf(await find(`?limit=2&cursor=${first.next_cursor}`))).to.deep.equal([revoked.id])
    // Neither a parameter of operators nor a cursor widens the list.
    const wider = await user.call('GET', `/v1/keys?user=${other.id}`)
    expect(idsOf({ data: wider.body.data ?? [] })).not.to.include(other.keyId)
    const { next_cursor } = await gateway
      .call('GET', '/admin/keys?limit=1', undefined, AS_ADMIN)
      .then(({ body }) => body)
    expect(idsOf(await find(`?cursor=${next_cursor}`))).to.deep.equal(idsOf(all))
    expect(idsOf((await other.call('GET', '/v1/keys')).body)).to.deep.equal([other.keyId])
    expect((await gateway.call('GET', '/v1/keys', undefined, AS_ADMIN)).status).to.equal(401)
  })

  describe('that expire', () => {
    let clock: StoppedClock
    beforeEach(() => {
      clock = stopClock()
    })
    afterEach(() => clock.restore())

    it('are refused with 401 from then on, and can be replaced before', async () => {
      const { id, key } = (await issue({ expires_at: inFuture(DAY_MS) })).body.data
      expect((await chat(key, chatBody('Hello'))).status).to.equal(200)
      clock.pass(DAY_MS)
      const { status, headers, body } = await chat(key, chatBody('Hello'))
      expect([status, headers.get('x-error-code')]).to.deep.equal([401, 'key_expired'])
      expect(body.error.message).to.contain(`The API key ${id} has expired`)
      expect((await gateway.call('GET', '/v1/models', undefined, as(key))).status).to.equal(401)
      expect((await rotate(id, { overlap_seconds: 0 })).status).to.equal(409)
    })

    it('are valid for the overlap after a rotation, and then only the new one is', async () => {
      const restrictions = { name: 'Robot', models: ['gpt-4o'] }
      const old = (await issue(restrictions)).body.data
      await gateway.call('PUT', `/admin/keys/${old.id}/budget`, BUDGET, AS_ADMIN)
      const replaced = await rotate(old.id, { overlap_seconds: 3600 })
      expect(replaced.status).to.equal(201)
      const next = replaced.body.data
      expect(next.key).to.match(/^tr_/).and.not.equal(old.key)
      const [, first, second] = await list()
      expect(first).to.deep.include({ id: old.id, expires_at: inFuture(3_600_000).replace('Z', '000Z') })
      expect(second).to.deep.include({ id: next.id, ...restrictions, budget: BUDGET })
      const statuses = async () => [
        (await chat(old.key, chatBody('Hello'))).status,
        (await chat(next.key, chatBody('Hello'))).status,
        (await chat(next.key, chatBody('Hello', { model: 'gpt-4o-mini' }))).status,
      ]
      expect(await statuses()).to.deep.equal([200, 200, 403])
      clock.pass(3_600_000)
      expect(await statuses()).to.deep.equal([401, 200, 403])
    })
  })

  it('are revoked by a rotation without overlap, which happens once per Idempotency-Key', async () => {
    const { id, key } = (await issue()).body.data
    const send = () => rotate(id, { overlap_seconds: 0 }, { 'idempotency-key': `rotate-${id}` })
    const first = await send()
    expect((await send()).body).to.deep.equal(first.body)
    expect((await chat(key, chatBody('Hello'))).headers.get('x-error-code')).to.equal('invalid_api_key')
    expect((await chat(first.body.data.key, chatBody('Hello'))).status).to.equal(200)
    expect(await list()).to.have.length(3)
    expect((await rotate(id, { overlap_seconds: 60 })).status).to.equal(409)
    expect((await rotate('key_unknown', { overlap_seconds: 0 })).status).to.equal(404)
  })

  describe('that are restricted to models', () => {
    it('are refused another model that the request names, before a provider is called', async () => {
      const send = await restricted({ models: ['gpt-4o'] })
      expect((await send('gpt-4o')).status).to.equal(200)
      expect((await send('openai:gpt-4o')).status).to.equal(200)
      for (const model of ['gpt-4o-mini', 'anthropic:claude-sonnet-4-6', 'openai:unheard-of']) {
        const { status, headers, body } = await send(model)
        expect([status, headers.get('x-error-code')], model).to.deep.equal([403, 'model_not_allowed'])
        expect(body.error.message).to.contain('It may use: gpt-4o.')
        const record = await user.call('GET', `/v1/requests/${headers.get('x-request-id')}`)
        expect(record.body.data).to.deep.include({ attempts: [] })
      }
    })

    it('are refused a model that a rule sets', async () => {
      const send = await restricted({ models: ['gpt-4o'] })
      await user.call(
        'POST',
        '/v1/routing-rules',
        routingRuleBody({ action_json: { set_model: 'gpt-4o-mini' } }),
      )
      expect((await send('gpt-4o')).headers.get('x-error-code')).to.equal('model_not_allowed')
      expect((await send('auto:cost')).headers.get('x-error-code')).to.equal('model_not_allowed')
    })

    it('are refused a provider that a rule sets if it has none of them', async () => {
      const send = await restricted({ models: ['gpt-4o'] })
      await user.call(
        'POST',
        '/v1/routing-rules',
        routingRuleBody({ action_json: { set_provider: 'gemini' } }),
      )
      expect((await send('auto')).headers.get('x-error-code')).to.equal('model_not_allowed')
    })

    it('choose automatically among them only, in every mode, and fail over among them', async () => {
      const models = ['gpt-4o-mini', 'anthropic/claude-sonnet-4-6']
      const send = await restricted({ models })
      for (const mode of ['balance', 'cost', 'quality', 'latency']) {
        const { headers } = await send(`auto:${mode}`)
        expect(headers.get('x-model')).to.be.oneOf(['gpt-4o-mini', 'claude-sonnet-4-6'])
      }
      const fault = { messages: [{ role: 'user', content: '[[sandbox:status=500]]' }] }
      const failed = await send('auto', fault)
      expect(failed.status).to.be.above(499)
      const record = await user.call('GET', `/v1/requests/${failed.headers.get('x-request-id')}`)
      expect(record.body.data.attempts.map(({ model }: { model: string }) => model)).to.have.members([
        'gpt-4o-mini',
        'claude-sonnet-4-6',
      ])
    })

    it('are shown these models only', async () => {
      const { key } = (await issue({ models: ['gpt-4o'] })).body.data
      const { data } = (await gateway.call('GET', '/v1/models', undefined, as(key))).body
      const ids = data.map(({ id }: { id: string }) => id)
      expect(ids.filter((id: string) => !id.startsWith('auto:'))).to.deep.equal(['gpt-4o'])
    })

    it('may be written as in requests', async () => {
      const names = ['claude-opus-4.5', 'anthropic/claude-sonnet-4.6', 'GPT-4o']
      const issued = (await issue({ models: names })).body.data
      for (const model of names) {
        const { status, body } = await chat(issued.key, chatBody('Hello', { model }))
        expect(status, JSON.stringify(body)).to.equal(200)
      }
      const { data } = (await gateway.call('GET', '/v1/models', undefined, as(issued.key))).body
      const ids = data.map(({ id }: { id: string }) => id).filter((id: string) => !id.startsWith('auto:'))
      expect(ids).to.have.members(['claude-opus-4-5', 'claude-sonnet-4-6', 'gpt-4o'])
    })

    it('must be known, so that a key is not useless', async () => {
      for (const model of ['gpt-4oh', 'nobody/gpt-4o']) {
        const { status, body } = await issue({ models: [model] })
        expect(status).to.equal(400)
        expect(body.error.message).to.contain(`The model ${model} is not in the catalogue`)
      }
      expect((await issue({ models: ['openai/not-in-the-catalogue'] })).status).to.equal(201)
    })
  })

  describe('that are restricted to endpoints', () => {
    it('get 403 at all others', async () => {
      const { key } = (await issue({ endpoints: [CHAT, '/v1/routing-rules'] })).body.data
      const get = (path: string) => gateway.call('GET', path, undefined, as(key))
      expect((await chat(key, chatBody('Hello'))).status).to.equal(200)
      expect((await get('/v1/routing-rules')).status).to.equal(200)
      expect((await get('/v1/routing-rules/999999')).status).to.equal(404)
      for (const path of ['/v1/firewall-rules', '/v1/models', '/v1/audit']) {
        const { status, headers } = await get(path)
        expect([status, headers.get('x-error-code')], path).to.deep.equal([403, 'endpoint_not_allowed'])
      }
      const responses = await gateway.call('POST', '/v1/responses', { input: 'Hello' }, as(key))
      expect(responses.headers.get('x-error-code')).to.equal('endpoint_not_allowed')
      const route = await fetch(`${gateway.routeUrl}/route`, { method: 'POST', headers: as(key), body: '{}' })
      expect(route.status).to.equal(403)
    })

    it('must exist, so that a key is not useless', async () => {
      expect((await issue({ endpoints: ['/v1/chat/completion'] })).status).to.equal(400)
      expect((await issue({ endpoints: ['/v1/responses', '/route'] })).status).to.equal(201)
    })
  })

  it('are not issued for unknown fields or invalid values, which the error names', async () => {
    const messages = {
      expires: { expires: inFuture(DAY_MS) },
      expires_at: { expires_at: '2020-01-01T00:00:00Z' },
      models: { models: [] },
      name: { name: '' },
    }
    for (const [field, body] of Object.entries(messages)) {
      const answer = await issue(body)
      expect(answer.status, field).to.equal(400)
      expect(answer.body.error.message).to.contain(field)
    }
    const { body } = await rotate(user.keyId, { overlap_seconds: 0, overlap: 1 })
    expect(body.error.message).to.contain('overlap')
  })

  it('have a history with their budget, and can be read as they were before', async () => {
    const { id } = (await issue({ name: 'Batch job' })).body.data
    const path = `/admin/keys/${id}`
    const budget = { limit_usd: 5, period: 'day', on_exceed: 'refuse' }
    await gateway.call('PUT', `${path}/budget`, budget, AS_ADMIN)
    await rotate(id, { overlap_seconds: 60 })
    const history = (await gateway.call('GET', `${path}/history`, undefined, AS_ADMIN)).body.data
    expect(history.map(({ event }: { event: string }) => event)).to.deep.equal([
      'created',
      'budget_set',
      'expiry_set',
    ])
    const then = await gateway.call('GET', `${path}?as_of=${history[1].position}`, undefined, AS_ADMIN)
    expect(then.body.data).to.deep.equal(history[1].after)
    expect(then.body.data).to.deep.include({ id, budget }).and.not.have.property('expires_at')
    expect((await gateway.call('GET', `${path}?as_of=1`, undefined, AS_ADMIN)).status).to.equal(404)
  })

  it('keep their restrictions after a restart', async () => {
    const first = await startGateway()
    const one = await newUser(first)
    const path = `/admin/users/${one.id}/keys`
    const { key } = (await first.call('POST', path, { models: ['gpt-4o'] }, AS_ADMIN)).body.data
    await first.stop()
    const second = await startGateway({}, first)
    const send = (model: string) => second.call('POST', CHAT, chatBody('Hello', { model }), as(key))
    expect((await send('gpt-4o')).status).to.equal(200)
    expect((await send('gpt-4o-mini')).status).to.equal(403)
    await second.stop()
  })
})

const BUDGET = { limit_usd: 5, period: 'day', on_exceed: 'refuse' }
