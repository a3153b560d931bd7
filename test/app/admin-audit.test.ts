import { expect } from 'chai'
import { CLI_ACTOR } from '../../core/event-log/actor.ts'
import { firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { stopClock } from '../support/clock.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { openMemoryLog } from '../support/memory-logs.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator, type TestOperator } from '../support/operators.ts'

// biome-ignore lint/suspicious/noExplicitAny: assertions read fields of any entry
type Entry = any

describe('GET /admin/audit', () => {
  let gateway: RunningGateway
  let operator: TestOperator
  let ada: TestUser
  let bob: TestUser
  let ruleId: number
  before(async () => {
    gateway = await startGateway()
    operator = await newOperator(gateway, 'admin', 'Grace')
    ada = await newUser(gateway)
    bob = await newUser(gateway)
    const made = await ada.call('POST', '/v1/firewall-rules', firewallRuleBody({ name: '=HYPERLINK("x")' }))
    ruleId = made.body.data.id
    await bob.call('POST', '/v1/routing-rules', routingRuleBody())
    const reason = { 'x-change-reason': 'Ticket 4711' }
    await operator.call('PATCH', `/admin/users/${ada.id}`, { requests_per_minute: 5 }, reason)
    const budget = { limit_usd: 100, period: 'month', on_exceed: 'refuse' }
    await operator.call('PUT', '/admin/budget', budget)
  })
  after(() => gateway.stop())

  const find = async (query = ''): Promise<readonly Entry[]> => {
    const { status, body } = await operator.call('GET', `/admin/audit?${query}`)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }
  const outline = (entries: readonly Entry[]) => entries.map(({ kind, event }) => `${kind} ${event}`)

  it('lists changes of all users, of operators and of the budget, newest first, without hashes', async () => {
    const entries = await find()
    expect(outline(entries)).to.deep.equal([
      'budget set',
      'user limit_changed',
      'access signed_in',
      'routing created',
      'firewall created',
      'key created',
      'user created',
      'key created',
      'user created',
      'operator created',
      'access signed_in',
      'key created',
      'user created',
      'log created',
    ])
    const [budget, limit] = entries
    expect(budget.actor).to.deep.equal({ type: 'operator', id: operator.id, name: 'Grace' })
    expect(limit).to.deep.include({ reason: 'Ticket 4711', user_id: ada.id, id: ada.id })
    expect(limit.data).to.deep.equal({ userId: ada.id, requestsPerMinute: 5 })
    expect(JSON.stringify(entries)).not.to.match(/hash|[0-9a-f]{64}|op_|tr_[0-9A-Za-z]{43}/)
  })

  it('filters by user, actor, kind, rule, text and time', async () => {
    expect(outline(await find(`user=${ada.id}`))).to.deep.equal([
      'user limit_changed',
      'firewall created',
      'key created',
      'user created',
    ])
    expect(outline(await find(`actor=${operator.id}`))).to.deep.equal([
      'budget set',
      'user limit_changed',
      'access signed_in',
    ])
    expect(outline(await find(`actor=${ada.keyId}&kind=firewall`))).to.deep.equal(['firewall created'])
    expect(outline(await find(`rule=${ruleId}`))).to.deep.equal(['firewall created'])
    expect(outline(await find('q=ticket%204711'))).to.deep.equal(['user limit_changed'])
    expect(outline(await find('q=hyperlink'))).to.deep.equal(['firewall created'])
    expect(outline(await find('q=GRACE&kind=operator'))).to.deep.equal(['operator created'])
    expect(await find('group=1')).to.deep.equal([])
    expect(await find('policy=1')).to.deep.equal([])
    const [newest, second, third] = await find()
    expect(await find(`since=${second.position}`)).to.deep.equal([newest, second])
    expect(await find(`since=${encodeURIComponent(second.time)}&until=${second.position}`)).to.deep.equal([
      second,
    ])
    expect((await find(`until=${third.position}`))[0]).to.deep.equal(third)
  })

  it('refuses unknown parameters and values, by name', async () => {
    for (const [query, name] of [
      ['users=1', 'users'],
      ['kind=nothing', 'kind'],
      ['since=yesterday', 'since'],
      ['cursor=x', 'cursor'],
      ['format=xml', 'format'],
    ] as const) {
      const { status, body } = await operator.call('GET', `/admin/audit?${query}`)
      expect(status, query).to.equal(400)
      expect(body.error.message).to.contain(name)
    }
  })

  it('shows what was changed, before and after, of every kind', async () => {
    const admin = (method: string, path: string, body?: object) => gateway.call(method, path, body, AS_ADMIN)
    const { data: group } = (await admin('POST', '/admin/groups', { name: 'Old' })).body
    await admin('PATCH', `/admin/groups/${group.id}`, { name: 'New' })
    const policyBody = { name: 'P', is_enabled: true, priority: 1, applies_to: { everyone: true } }
    const { data: policy } = (await admin('POST', '/admin/policies', policyBody)).body
    await admin('PATCH', `/admin/policies/${policy.id}`, { priority: 2 })
    await admin('PATCH', `/admin/operators/${operator.id}`, { role: 'admin' })
    await admin('PATCH', `/admin/operators/${operator.id}`, { role: 'editor' })
    await admin('PUT', '/admin/budget', { limit_usd: 5, period: 'day', on_exceed: 'refuse' })
    await admin('PUT', '/admin/budget', { limit_usd: 6, period: 'day', on_exceed: 'refuse' })
    await admin('DELETE', '/admin/budget')

    const entries = await find('objects=true')
    const changeOf = (kind: string, event: string) => {
      const { before, after } = entries.find((entry) => entry.kind === kind && entry.event === event)
      return [before, after]
    }
    const [groupBefore, groupAfter] = changeOf('group', 'updated')
    expect([groupBefore.name, groupAfter.name]).to.deep.equal(['Old', 'New'])
    const [policyBefore, policyAfter] = changeOf('policy', 'updated')
    expect([policyBefore.priority, policyAfter.priority]).to.deep.equal([1, 2])
    const [roleBefore, roleAfter] = changeOf('operator', 'updated')
    expect([roleBefore.role, roleAfter.role, roleAfter.name]).to.deep.equal(['admin', 'editor', 'Grace'])
    const [limitBefore, limitAfter] = changeOf('user', 'limit_changed')
    expect([limitBefore.requests_per_minute, limitAfter.requests_per_minute]).to.deep.equal([undefined, 5])
    expect(changeOf('budget', 'removed')).to.deep.equal([
      { limit_usd: 6, period: 'day', on_exceed: 'refuse' },
      null,
    ])
    expect(changeOf('firewall', 'created')[0]).to.equal(null)
    expect(JSON.stringify(entries)).not.to.match(/hash|[0-9a-f]{64}|op_|tr_[0-9A-Za-z]{43}/)
  })

  it('streams everything as JSON lines or CSV, oldest first, and records that it did', async () => {
    const expected = (await find()).toReversed()
    const read = async (format: string) => {
      const response = await fetch(`${gateway.url}/admin/audit?format=${format}`, {
        headers: operator.headers,
      })
      expect(response.status).to.equal(200)
      return response.text()
    }
    const lines = (await read('jsonl')).trimEnd().split('\n')
    expect(lines.slice(0, -1).map((line) => JSON.parse(line))).to.deep.equal(expected)
    const own = JSON.parse(lines.at(-1) ?? '')
    expect(own).to.deep.include({ kind: 'access', event: 'read' })
    expect(own.actor.name).to.equal('Grace')
    expect(own.data).to.deep.equal({
      read: 'export',
      operation: 'listAuditEntries',
      path: '/admin/audit',
      query: 'format=jsonl',
    })
    const table = await read('csv')
    expect(table).to.match(
      /^position,time,actor_type,actor_id,actor_name,reason,request_id,kind,id,event,user_id,/,
    )
    expect(table.trimEnd().split('\r\n')).to.have.length(lines.length + 2)
    await gateway.call('GET', '/admin/requests?format=csv', undefined, AS_ADMIN).catch(() => undefined)
    const [request] = await find('kind=access')
    expect(request.data).to.include({ read: 'export', operation: 'listAllRequests' })
    expect(request.actor.type).to.equal('root')
  })

  it('neutralises names that a spreadsheet would run', async () => {
    const named = await newOperator(gateway, 'editor', '=1+1')
    await named.call('GET', '/admin/users')
    const response = await fetch(`${gateway.url}/admin/audit?format=csv&actor=${named.id}`, {
      headers: operator.headers,
    })
    expect(await response.text())
      .to.contain(",'=1+1,")
      .and.not.to.contain(',=1+1,')
  })

  it('has a sign-in per operator and hour', async () => {
    const signIns = async () => (await find(`kind=access&actor=${someone.id}&q=${someone.id}`)).length
    const someone = await newOperator(gateway, 'auditor', 'Hopper')
    await Promise.all([1, 2, 3].map(() => someone.call('GET', '/admin/users')))
    expect(await signIns()).to.equal(1)
    const clock = stopClock()
    clock.pass(3_600_000)
    await someone.call('GET', '/admin/users')
    await someone.call('GET', '/admin/users')
    clock.restore()
    expect(await signIns()).to.equal(2)
  })

  it('counts refused calls by source, and records them once', async () => {
    const dataDir = await makeFolder()
    const first = await startGateway({}, { dataDir })
    const auditor = await newOperator(first, 'auditor', 'Ivy')
    for (let n = 0; n < 3; n++) {
      await first.call('GET', '/admin/users', undefined, { authorization: 'Bearer wrong' })
      await auditor.call('POST', '/admin/users', {})
    }
    for (let n = 0; n < 30; n++) await (await newOperator(first, 'auditor')).call('POST', '/admin/users', {})
    await first.stop()
    const second = await startGateway({}, { dataDir })
    const { body } = await second.call('GET', '/admin/audit?kind=access&limit=500', undefined, AS_ADMIN)
    const refused = body.data.filter(({ event }: Entry) => event === 'refused')
    expect(refused.length).to.equal(21)
    expect(refused.find((entry: Entry) => entry.data.address === 'others').data.count).to.equal(12)
    const source = { address: '127.0.0.1', count: 3 }
    const stranger = refused.find(({ data }: Entry) => data.code === 'invalid_api_key')
    expect(stranger.data).to.deep.include({
      ...source,
      code: 'invalid_api_key',
      endpoint: 'GET /admin/users',
    })
    const known = refused.find(({ actor }: Entry) => actor.id === auditor.id)
    expect(known.data).to.deep.include({ ...source, code: 'role_required', endpoint: 'POST /admin/users' })
    await second.stop()
  })

  it('reads a long log in pages that neither overlap nor leave anything out', async () => {
    const dataDir = await makeFolder()
    const log = openMemoryLog(dataDir)
    const metadata = { actor: CLI_ACTOR, time: '2026-01-01T00:00:00.000000Z', schema: 1 }
    const data = (userId: number) => ({ userId, name: `User ${userId}`, plan: 'paid' })
    for (let userId = 1; userId <= 2500; userId++)
      await log.append(`user-${userId}`, [{ type: 'UserCreated', data: data(userId) }], {
        expectedRevision: -1,
        metadata,
      })
    const long = await startGateway({}, { dataDir })
    const users: number[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query = `kind=user&limit=500${cursor && `&cursor=${cursor}`}`
      const { body } = await long.call('GET', `/admin/audit?${query}`, undefined, AS_ADMIN)
      users.push(...body.data.map(({ user_id }: Entry) => user_id))
      cursor = body.next_cursor
    }
    expect(users).to.deep.equal(Array.from({ length: 2500 }, (_, index) => 2500 - index))
    await long.stop()
  })
})
