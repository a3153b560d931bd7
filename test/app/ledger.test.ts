import { copyFile, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const chat = (content: string, more = {}) => ({
  model: 'gpt-4o',
  messages: [{ role: 'user', content }],
  ...more,
})

describe('the request ledger', () => {
  let gateway: RunningGateway

  before(async () => {
    gateway = await startGateway()
  })

  after(() => gateway.stop())

  const send = (user: TestUser, content: string, more = {}) =>
    user.call('POST', '/v1/chat/completions', chat(content, more))

  const requestIdOf = ({ headers }: { headers: Headers }) => headers.get('x-request-id') ?? ''

  async function recordOf(user: TestUser, answer: { headers: Headers }) {
    const { status, body } = await user.call('GET', `/v1/requests/${requestIdOf(answer)}`)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }

  it('records who asked what, and what it cost', async () => {
    const user = await newUser(gateway)
    const answer = await send(user, 'hello')
    const record = await recordOf(user, answer)
    expect(record).to.include({
      x_request_id: requestIdOf(answer),
      user_id: user.id,
      key_id: user.keyId,
      endpoint: '/v1/chat/completions',
      outcome: 'answered',
      status: 200,
      requested_model: 'gpt-4o',
      provider: 'openai',
      model: 'gpt-4o',
      stream: false,
      first_token_ms: null,
      aborted: false,
      cache_hit: false,
    })
    const { prompt_tokens, completion_tokens } = answer.body.usage
    expect(record.tokens).to.include({ input: prompt_tokens, output: completion_tokens })
    expect(record.cost_usd).to.equal((prompt_tokens * 2.5 + completion_tokens * 10) / 1e6)
    expect(record.latency_ms).to.be.at.least(record.attempts[0].ms)
  })

  it('records every dialect, on both addresses', async () => {
    const user = await newUser(gateway)
    const answers = [
      await send(user, 'hello'),
      await user.call('POST', '/v1/responses', { model: 'gpt-4o', input: 'hello' }),
      await user.route({ prompt: 'hello' }),
    ]
    for (const [index, endpoint] of ['/v1/chat/completions', '/v1/responses', '/route'].entries())
      expect(await recordOf(user, answers[index]!)).to.include({ endpoint, outcome: 'answered' })
  })

  it('records streams once they have ended', async () => {
    const user = await newUser(gateway)
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(chat('hello', { stream: true })),
    })
    await response.text()
    const record = await recordOf(user, response)
    expect(record).to.include({ stream: true, outcome: 'answered', model: 'gpt-4o' })
    expect(record.first_token_ms).to.be.within(0, record.latency_ms)
    expect(record.tokens.output).to.be.greaterThan(0)
  })

  it('records requests that were refused, with the error and without the text', async () => {
    const user = await newUser(gateway)
    const rule = firewallRuleBody({ name: 'No secrets', pattern: 'secret', action: 'block' })
    const { body: created } = await user.call('POST', '/v1/firewall-rules', rule)
    const blocked = await send(user, 'my secret number 4711')
    expect(blocked.status).to.equal(403)
    const record = await recordOf(user, blocked)
    expect(record).to.include({ outcome: 'failed', status: 403, provider: null, model: null, cost_usd: 0 })
    expect(record.error).to.deep.include({
      code: 'firewall_blocked',
      http_status: 403,
      meta: { rule_id: created.data.id },
    })
    expect(JSON.stringify(record)).not.to.contain('4711')

    const unknown = await send(user, 'hello', { model: 'no-such-model' })
    expect(await recordOf(user, unknown)).to.deep.include({ status: 404, requested_model: 'no-such-model' })
    const invalid = await user.call('POST', '/v1/chat/completions', { messages: 7 })
    expect((await recordOf(user, invalid)).error).to.include({ http_status: 400 })
    const malformed = await user.call('POST', '/v1/chat/completions', '{"messages":')
    expect((await recordOf(user, malformed)).error.code).to.equal('malformed_body')
  })

  it('records nothing of strangers, and nothing but inference', async () => {
    const user = await newUser(gateway)
    const stranger = await gateway.call('POST', '/v1/chat/completions', chat('hello'), {
      authorization: 'Bearer tr_nobody',
    })
    expect(stranger.status).to.equal(401)
    await user.call('GET', '/v1/models')
    await user.call('POST', '/v1/responses/input_tokens', { model: 'gpt-4o', input: 'hello' })
    const { body } = await user.call('GET', '/v1/requests')
    expect(body).to.deep.equal({ data: [], next_cursor: null })
    const { body: all } = await gateway.call('GET', '/admin/requests?status=401', undefined, AS_ADMIN)
    expect(all.data).to.deep.equal([])
  })

  it('lists the own requests in stable pages, and filters them', async () => {
    const [user, other] = [await newUser(gateway), await newUser(gateway)]
    await send(other, 'not yours')
    const ids: string[] = []
    for (const model of ['gpt-4o', 'gpt-4o-mini', 'no-such-model', 'gpt-4o']) {
      ids.unshift(requestIdOf(await send(user, 'hello', { model })))
      // Requests of one millisecond have no order.
      for (const sentAt = Date.now(); Date.now() === sentAt; ) await setImmediate()
    }
    const list = async (query: string) => (await user.call('GET', `/v1/requests?${query}`)).body
    const idsOf = (page: { data: { x_request_id: string }[] }) =>
      page.data.map(({ x_request_id }) => x_request_id)
    const first = await list('limit=3')
    await send(user, 'a newer one')
    const second = await list(`limit=3&cursor=${first.next_cursor}`)
    expect(idsOf(first)).to.deep.equal(ids.slice(0, 3))
    expect(idsOf(second)).to.deep.equal(ids.slice(3))
    expect(second.next_cursor).to.equal(null)
    expect(idsOf(await list('model=gpt-4o-mini'))).to.deep.equal([ids[2]])
    expect(idsOf(await list('status=404'))).to.deep.equal([ids[1]])
    expect(idsOf(await list('q=NO-SUCH'))).to.deep.equal([ids[1]])
    expect(idsOf(await list('until=2020-01-01'))).to.deep.equal([])
    expect((await list('since=yesterday')).error.param).to.equal('since')
    expect((await list('since=2026-02-02&until=2026-02-01')).error.param).to.equal('since')
    expect((await list('cursor=nonsense')).error.param).to.equal('cursor')
    expect((await list(`user=${other.id}`)).error.param).to.equal('user')
  })

  it('shows operators all requests, by rule and by action', async () => {
    const user = await newUser(gateway)
    const rule = firewallRuleBody({ name: 'A', pattern: 'blockme', action: 'block' })
    const { body: created } = await user.call('POST', '/v1/firewall-rules', rule)
    const blocked = await send(user, 'blockme')
    await send(user, 'hello')
    const list = async (query: string) =>
      (await gateway.call('GET', `/admin/requests?${query}`, undefined, AS_ADMIN)).body.data.map(
        ({ x_request_id }: { x_request_id: string }) => x_request_id,
      )
    expect(await list(`rule=firewall:${created.data.id}`)).to.deep.equal([requestIdOf(blocked)])
    expect(await list(`user=${user.id}&action=block`)).to.deep.equal([requestIdOf(blocked)])
    expect(await list(`user=${user.id}`)).to.have.length(2)
    expect(await list(`key=${user.keyId}&endpoint=/v1/chat/completions&provider=openai`)).to.have.length(1)
    expect((await user.call('GET', '/admin/requests')).status).to.equal(401)
  })

  it('exports requests as JSON lines and as CSV, which spreadsheets do not run', async () => {
    const user = await newUser(gateway)
    await send(user, 'hello')
    await send(user, 'hello', { model: '=cmd|"calc"!A1,x' })
    const read = async (format: string) => {
      const response = await fetch(`${gateway.url}/v1/requests?format=${format}`, {
        headers: { authorization: `Bearer ${user.key}` },
      })
      return { type: response.headers.get('content-type'), text: await response.text() }
    }
    const lines = await read('jsonl')
    expect(lines.type).to.equal('application/jsonl; charset=utf-8')
    const records = lines.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const { body } = await user.call('GET', '/v1/requests')
    expect(records).to.deep.equal(body.data)
    const csv = await read('csv')
    expect(csv.type).to.equal('text/csv; charset=utf-8')
    const [header, newest, oldest] = csv.text.trimEnd().split('\r\n')
    expect(header).to.match(/^x_request_id,time,user_id,/)
    expect(newest).to.contain(`"'=cmd|""calc""!A1,x"`)
    expect(oldest?.split(',')[0]).to.equal(records[1].x_request_id)
  })

  it('knows the groups that a user was in at the time', async () => {
    const [user, other] = [await newUser(gateway), await newUser(gateway)]
    const admin = async (method: string, path: string, body?: unknown) =>
      (await gateway.call(method, path, body, AS_ADMIN)).body
    const [first, second] = await Promise.all(
      ['First', 'Second'].map(async (name) => (await admin('POST', '/admin/groups', { name })).data.id),
    )
    const ungrouped = await send(user, 'before')
    for (const id of [first, second]) await admin('PUT', `/admin/groups/${id}/members/${user.id}`)
    const grouped = await send(user, 'in both')
    await admin('DELETE', `/admin/groups/${first}/members/${user.id}`)
    const later = await send(user, 'in one')
    await send(other, 'in none')
    expect((await recordOf(user, ungrouped)).group_ids).to.deep.equal([])
    expect((await recordOf(user, grouped)).group_ids).to.deep.equal([first, second].sort((a, b) => a - b))
    const listed = async (id: number) =>
      (await admin('GET', `/admin/requests?group=${id}`)).data.map(
        ({ x_request_id }: { x_request_id: string }) => x_request_id,
      )
    expect(await listed(first)).to.deep.equal([requestIdOf(grouped)])
    expect(await listed(second)).to.deep.equal([requestIdOf(later), requestIdOf(grouped)])
    const usage = (await admin('GET', '/admin/usage?group_by=group')).data
    const requestsOf = (id: number) => usage.find(({ group }: { group: number }) => group === id).requests
    expect([requestsOf(first), requestsOf(second)]).to.deep.equal([1, 2])
    const cost = (await recordOf(user, later)).cost_usd
    expect((await admin('GET', `/admin/usage?group=${first}`)).data[0].cost_usd).to.equal(cost)
    const metrics = await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN }).then((page) => page.text())
    expect(metrics).to.contain(`signalbox_group_cost_usd_total{group="${first}"} ${cost}`)
    expect((await user.call('GET', `/v1/requests?group=${first}`)).status).to.equal(400)
    expect((await user.call('GET', '/v1/usage?group_by=group')).status).to.equal(400)
  })

  it('sums up usage, to the last digit', async () => {
    const user = await newUser(gateway)
    const second = await user.issueKey()
    const costs: number[] = []
    for (const model of ['gpt-4o', 'gpt-4o-mini', 'gpt-4o-mini']) {
      const answer = await send(user, 'hello', { model })
      costs.push((await recordOf(user, answer)).cost_usd)
    }
    await user.call('POST', '/v1/chat/completions', chat('hi', { model: 'none' }), {
      authorization: `Bearer ${second.key}`,
    })
    const nano = costs.map((cost) => Math.round(cost * 1e9))
    const usage = async (query: string) => (await user.call('GET', `/v1/usage?${query}`)).body
    const total = await usage('')
    expect(total.data).to.have.length(1)
    expect(total.data[0]).to.include({ requests: 4, errors: 1, unknown_costs: 0 })
    expect(total.data[0].cost_usd).to.equal(nano.reduce((sum, cost) => sum + cost) / 1e9)
    const byModel = await usage('group_by=model&group_by=day')
    const today = new Date().toISOString().slice(0, 10)
    expect(
      byModel.data.map(({ model, day, requests }: Record<string, unknown>) => [model, day, requests]),
    ).to.have.deep.members([
      ['gpt-4o', today, 1],
      ['gpt-4o-mini', today, 2],
      [null, today, 1],
    ])
    const byKey = await usage(`group_by=key&key=${second.id}`)
    expect(byKey.data).to.have.length(1)
    expect(byKey.data[0]).to.include({ key: second.id, requests: 1, errors: 1, cost_usd: 0 })
    const admin = async (query: string) =>
      (await gateway.call('GET', `/admin/usage?${query}`, undefined, AS_ADMIN)).body.data
    expect(await admin(`user=${user.id}`)).to.deep.equal(total.data)
    expect(
      (await admin('group_by=user')).find(({ user: id }: { user: number }) => id === user.id),
    ).to.include({ requests: 4 })
    expect((await usage('group_by=user')).error.param).to.contain('group_by')
    expect((await usage('since=2026-02-02&until=2026-02-01')).error.param).to.equal('since')
  })

  it('returns records after a restart', async () => {
    const first = await startGateway()
    const { dataDir, demoKey } = first
    const { headers } = await first.call('POST', '/v1/chat/completions', chat('hello'))
    await first.stop()
    const second = await startGateway({}, { dataDir, demoKey })
    const { body } = await second.call('GET', `/v1/requests/${headers.get('x-request-id')}`)
    expect(body.data).to.include({ outcome: 'answered', model: 'gpt-4o' })
    await second.stop()
  })

  it('sets the file of another event log aside, which has other users', async () => {
    const first = await startGateway()
    const { headers } = await first.call('POST', '/v1/chat/completions', chat('hello'))
    await first.stop()
    const dataDir = await makeFolder()
    await copyFile(path.join(first.dataDir, 'ledger.db'), path.join(dataDir, 'ledger.db'))
    const second = await startGateway({}, { dataDir })
    const { status } = await second.call('GET', `/v1/requests/${headers.get('x-request-id')}`)
    expect(status).to.equal(404)
    expect(second.stderr()).to.contain('the request ledger belonged to another event log; set aside')
    const files = (await readdir(dataDir)).filter((name) => /^ledger.*\.db$/.test(name))
    expect(files).to.have.length(2)
    const { mode } = await stat(path.join(dataDir, 'ledger.db'))
    expect(mode & 0o777).to.equal(0o600)
    await second.stop()
  })

  it('records streams that the client leaves', async () => {
    const user = await newUser(gateway)
    const leaving = new AbortController()
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(chat('hello [[sandbox:token-delay=200]]', { stream: true })),
      signal: leaving.signal,
    })
    await response.body?.getReader().read()
    leaving.abort()
    const record = await waitUntil(async () => (await user.call('GET', '/v1/requests')).body.data[0])
    expect(record).to.include({ status: 200, aborted: true, stream: true, model: 'gpt-4o' })
  })

  it('records requests over the limit', async () => {
    const limited = await startGateway(
      await withSettings('rate_limits: { requests_per_minute: { free: 1, paid: 2 } }\n'),
    )
    const user = await newUser(limited)
    for (const status of [200, 200, 429]) expect((await send(user, 'hello')).status).to.equal(status)
    const { body } = await limited.call('GET', `/admin/requests?user=${user.id}`, undefined, AS_ADMIN)
    expect(body.data.map(({ status }: { status: number }) => status)).to.deep.equal([429, 200, 200])
    expect(body.data[0].error.code).to.equal('rate_limit_exceeded')
    await limited.stop()
  })
})
