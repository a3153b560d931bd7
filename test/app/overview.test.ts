import path from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { SESSION_HOURS } from '../../plugins/auth/sessions.ts'
import { MAX_VIEWERS } from '../../plugins/overview/live-endpoint.ts'
import { adjustClock } from '../support/clock.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { recordIn, watchLive } from '../support/live.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { asAdmin, firewallRule, newPolicy } from '../support/policies.ts'
import { withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const ask = (user: TestUser, content: string, more = {}) =>
  user.call('POST', '/v1/chat/completions', {
    model: 'gpt-4o',
    messages: [{ role: 'user', content }],
    ...more,
  })

describe('what operators look at', () => {
  let gateway: RunningGateway
  let user: TestUser
  let ruleId: number

  before(async () => {
    gateway = await startGateway()
    user = await newUser(gateway)
    const policy = await newPolicy(gateway, {
      name: 'P',
      firewall: [
        firewallRule({ name: 'Secrets' }),
        firewallRule({ name: 'Numbers', pattern: '4711', action: 'mask' }),
      ],
    })
    ruleId = policy.ruleIds[0]!
  })
  after(() => gateway.stop())

  const read = async (path: string) => {
    const { status, body } = await asAdmin(gateway, 'GET', path)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }

  describe('GET /admin/overview', () => {
    before(async () => {
      for (const text of ['hello', 'a secret', 'my number is 4711']) await ask(user, text)
    })

    for (const [range, steps, step_seconds] of [
      ['1h', 60, 60],
      ['24h', 24, 3600],
      ['7d', 168, 3600],
    ] as const)
      it(`has the figures of ${range}, in total and over time`, async () => {
        const { totals, series, ...rest } = await read(`/admin/overview?range=${range}`)
        expect(rest).to.include({ range, step_seconds })
        expect(series).to.have.length(steps)
        const counts = { requests: 3, errors: 1, blocks: 1, masks: 1 }
        expect(totals).to.include(counts)
        expect(totals.cost_usd).to.be.above(0)
        expect(totals.latency_p50_ms).to.be.at.most(totals.latency_p95_ms)
        const sums = Object.keys(counts).map((name) =>
          series.reduce((sum: number, point: Record<string, number>) => sum + (point[name] ?? 0), 0),
        )
        expect(sums).to.deep.equal(Object.values(counts))
        const empty = series.find((point: { requests: number }) => point.requests === 0)
        expect(empty).to.include({ cost_usd: 0, latency_p50_ms: null })
        expect(Date.parse(series[0].time)).to.equal(Date.parse(rest.since))
      })

    const HOUR_MS = 3_600_000
    const DAY_MS = 24 * HOUR_MS

    for (const [length, lengthMs, step_seconds, steps] of [
      ['two hours', 2 * HOUR_MS, 60, 120],
      ['six hours', 6 * HOUR_MS, 300, 72],
      ['30 days', 30 * DAY_MS, 86_400, 30],
      ['a year and a day', 366 * DAY_MS, 604_800, 53],
    ] as const)
      it(`has the figures of ${length} that end at a given time`, async () => {
        const until = Math.ceil((Date.now() + 1) / HOUR_MS) * HOUR_MS
        const times = [until - lengthMs, until].map((time) => new Date(time).toISOString())
        const [since, end] = times
        const { totals, series, ...rest } = await read(`/admin/overview?since=${since}&until=${end}`)
        expect(rest).to.include({ range: null, since, until: end, step_seconds })
        expect(series).to.have.length(steps)
        expect(series[0].time).to.equal(since)
        expect(totals).to.include({ requests: 3, blocks: 1, masks: 1 })
        const counts = series.map(({ requests, blocks }: Record<string, number>) => [requests, blocks])
        // All of them were sent within the last hour.
        const filled = counts.flatMap(([requests]: number[], at: number) => (requests ? [at] : []))
        expect(filled[0], String(filled)).to.be.at.least(
          Math.floor(steps - HOUR_MS / (step_seconds * 1000) - 2),
        )
        expect(counts.reduce((sum: number, [requests]: number[]) => sum + requests!, 0)).to.equal(3)
        expect(counts.reduce((sum: number, [, blocks]: number[]) => sum + blocks!, 0)).to.equal(1)
      })

    it('has nothing of before and after a given range', async () => {
      const [since, until] = [Date.now() - 40 * DAY_MS, Date.now() - 20 * DAY_MS].map((time) =>
        new Date(time).toISOString(),
      )
      const { totals, changes } = await read(`/admin/overview?since=${since}&until=${until}`)
      expect(totals.requests).to.equal(0)
      expect(changes).to.deep.equal([])
    })

    for (const [query, param, advice] of [
      ['until=2026-01-01', 'until', 'until needs since.'],
      ['range=1h&since=2026-01-01', 'range', 'Give either range or since, not both.'],
      ['since=2026-01-02&until=2026-01-01', 'since', 'since must not be after until.'],
      ['since=9999-01-01', 'since', 'since must not be after until, or now.'],
      ['since=1990-01-01', 'since', 'since and until must be at most ten years apart.'],
      ['since=yesterday', 'since', 'since must be an ISO 8601 time'],
    ] as const)
      it(`refuses ${query}`, async () => {
        const { status, body } = await asAdmin(gateway, 'GET', `/admin/overview?${query}`)
        expect(status).to.equal(400)
        expect(body.error.param).to.equal(param)
        expect(body.error.message).to.contain(advice)
      })

    it('has the changes of rules, with who made them and why', async () => {
      const { changes } = await read('/admin/overview?range=1h')
      const summaries = changes.map(({ summary }: { summary: string }) => summary)
      expect(summaries).to.include(`Firewall rule ${ruleId} "Secrets" created`)
      expect(changes[0].position).to.be.above(changes.at(-1).position)
      expect(changes[0].actor.type).to.equal('root')
    })
  })

  it('does not know what rules did to requests that are no longer recorded', async () => {
    const other = await startGateway()
    await newPolicy(other, { name: 'P', firewall: [firewallRule({ name: 'Secrets' })] })
    await ask(await newUser(other), 'a secret')
    const figuresOf = async (range: string) => {
      const { totals, series } = (await asAdmin(other, 'GET', `/admin/overview?range=${range}`)).body.data
      return [totals, ...series]
        .filter(({ requests }: { requests: number }) => requests > 0)
        .map(({ errors, blocks, masks }: Record<string, number>) => [errors, blocks, masks])
    }
    expect(await figuresOf('24h')).to.deep.equal(Array(2).fill([1, 1, 0]))
    const ledger = new SqliteDatabase(path.join(other.dataDir, 'ledger.db'))
    ledger.prepare('delete from requests').run()
    ledger.close()
    expect(await figuresOf('7d')).to.deep.equal(Array(2).fill([1, null, null]))
    await other.stop()
  })

  it('is there without the audit trail', async () => {
    const other = await startGateway(await withSettings('plugins: { remove: [audit] }\n'))
    await newPolicy(other, { name: 'Q' })
    expect((await asAdmin(other, 'GET', '/admin/audit')).status).to.equal(404)
    const { body } = await asAdmin(other, 'GET', '/admin/overview?range=1h')
    expect(body.data.changes[0].summary).to.match(/^Policy \d+ "Q" created$/)
    await other.stop()
  })

  it('has the process that answers at GET /admin/node', async () => {
    const { processes, ...node } = await read('/admin/node')
    expect(node).to.include({ event_log: 'embedded', ledger: 'embedded', shares_counts: false })
    expect(node.version).to.match(/^\d+\.\d+\.\d+/)
    expect(processes).to.have.length(1)
    const [{ figures, ...only }] = processes
    expect(only).to.deep.equal({ role: 'single', number: null, state: 'serving', is_leader: true, lag: 0 })
    expect(figures).to.include({ pid: process.pid, log_state: 'following', requests_in_flight: 1 })
    expect(figures.position).to.be.above(0)
    expect(figures.heap_used_bytes).to.be.within(1, figures.memory_bytes)
    expect(Date.parse(figures.started_at)).to.be.below(Date.now())
  })

  describe('GET /admin/status', () => {
    it('has providers, stores and what needs attention', async () => {
      const budget = { limit_usd: 0.000001, period: 'day', on_exceed: 'refuse' }
      const put = await asAdmin(gateway, 'PUT', `/admin/users/${user.id}/budget`, budget)
      expect(put.status, JSON.stringify(put.body)).to.equal(200)
      await ask(user, 'hello')
      const status = await read('/admin/status')
      expect(status.event_log.state).to.equal('following')
      expect(status.ledger).to.deep.equal({ is_available: true })
      expect(
        status.providers.find(({ provider }: { provider: string }) => provider === 'openai'),
      ).to.deep.equal({
        provider: 'openai',
        is_configured: true,
        state: 'closed',
        open_models: [],
        affected_callers: 0,
      })
      const codes = status.attention.map(({ code, severity }: { code: string; severity: string }) => [
        code,
        severity,
      ])
      expect(codes).to.deep.include.members([
        ['budget_spent', 'error'],
        ['sandbox', 'warning'],
      ])
      expect(codes[0][1]).to.equal('error')
      await asAdmin(gateway, 'DELETE', `/admin/users/${user.id}/budget`)
    })
  })

  describe('GET /admin/requests/{id}', () => {
    it('explains a refusal with the rule as it was, when it has changed or is gone', async () => {
      const refused = await ask(user, 'a secret')
      const path = `/admin/requests/${refused.headers.get('x-request-id')}`
      const [unchanged] = (await read(path)).rules
      expect(unchanged).to.deep.include({ kind: 'firewall', id: ruleId, state: 'unchanged' })
      expect(unchanged.as_decided).to.deep.equal(unchanged.current)
      const own = await newUser(gateway)
      const { id } = (await own.call('POST', '/v1/firewall-rules', firewallRule({ pattern: 'first' }))).body
        .data
      const blocked = await ask(own, 'the first')
      await own.call('PATCH', `/v1/firewall-rules/${id}`, { pattern: 'second' })
      const mine = `/admin/requests/${blocked.headers.get('x-request-id')}`
      const changed = await read(mine)
      expect(changed).to.include({ user_id: own.id, status: 403 })
      expect(changed.rules[0]).to.include({ id, state: 'changed' })
      expect([changed.rules[0].as_decided.pattern, changed.rules[0].current.pattern]).to.deep.equal([
        'first',
        'second',
      ])
      await own.call('DELETE', `/v1/firewall-rules/${id}`)
      expect((await read(mine)).rules[0]).to.include({ state: 'deleted', current: null })
    })

    it('is not there for an unknown request', async () => {
      const { status } = await asAdmin(gateway, 'GET', '/admin/requests/req_gGvBxwr2CTTZ4RYVqXhM0SkL')
      expect(status).to.equal(404)
    })
  })

  describe('GET /admin/live', () => {
    const watch = (query?: string, headers?: Readonly<Record<string, string>>) =>
      watchLive(gateway, query, headers)

    it('streams the records of requests as they are written, with filters', async () => {
      const all = await watch()
      const failed = await watch(`?failed=true&user=${user.id}`)
      const ids = []
      for (const text of ['hello', 'a secret']) ids.push((await ask(user, text)).headers.get('x-request-id'))
      const seen = [recordIn(await all.next()), recordIn(await all.next())]
      expect(seen.map(({ x_request_id }) => x_request_id)).to.deep.equal(ids)
      const refused = recordIn(await failed.next())
      expect(refused).to.include({ x_request_id: ids[1], status: 403, outcome: 'failed' })
      expect(refused.error.code).to.equal('firewall_blocked')
      all.leave()
      failed.leave()
    })

    it('ends when the operator is removed', async () => {
      const operator = await newOperator(gateway, 'auditor')
      const watching = await watch('', operator.headers)
      await gateway.call('DELETE', `/admin/operators/${operator.id}`, undefined, AS_ADMIN)
      await ask(user, 'hello')
      expect(await watching.next()).to.equal('')
    })

    it('ends when the session of the console ends', async () => {
      const operator = await newOperator(gateway, 'auditor')
      const signIn = await gateway.call('POST', '/console/session', undefined, operator.headers)
      const [cookie = ''] = (signIn.headers.get('set-cookie') ?? '').split(';')
      const watching = await watch('', { cookie })
      await ask(user, 'hello')
      expect(recordIn(await watching.next())).to.include({ user_id: user.id })
      const clock = adjustClock()
      clock.adjust(SESSION_HOURS * 3_600_000)
      try {
        await ask(user, 'hello')
        expect(await watching.next()).to.equal('')
      } finally {
        clock.restore()
      }
    })

    it('refuses viewers beyond the limit, and serves others when one has left', async () => {
      const watching = await Promise.all(Array.from({ length: MAX_VIEWERS }, () => watch()))
      const refused = await asAdmin(gateway, 'GET', '/admin/live')
      expect(refused.status).to.equal(429)
      expect(refused.headers.get('x-error-code')).to.equal('too_many_viewers')
      expect(refused.headers.get('retry-after')).to.equal('30')
      expect(refused.body.error.message).to.contain('Close another one, or try again later.')
      watching[0]?.leave()
      await waitUntil(async () => {
        const { status, body } = await fetch(`${gateway.url}/admin/live`, { headers: AS_ADMIN })
        await body?.cancel()
        return status === 200
      })
      for (const { leave } of watching) leave()
    })

    it('ends when the gateway stops', async () => {
      // Waiting for the drain time would take longer than the test may.
      const other = await startGateway(await withSettings('timeouts: { drain_ms: 600000 }'))
      const answer = await fetch(`${other.url}/admin/live`, { headers: AS_ADMIN })
      const text = answer.text()
      await other.stop()
      expect(await text).to.equal(': watching\n\n')
    })
  })
})
