import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { chatBody, firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { type Scrape, scrape, scrapeUntil } from '../support/metrics.ts'
import { ROOT } from '../support/root.ts'
import { ROUNDS } from '../support/rounds.ts'
import { streamText } from '../support/streams.ts'

const ask = (gateway: RunningGateway, content: string, more: object = {}) =>
  gateway.call('POST', '/v1/chat/completions', chatBody(content, more))

const stream = (gateway: RunningGateway, content: string) => streamText(gateway, chatBody(content))

const GPT = {
  gen_ai_operation_name: 'chat',
  gen_ai_provider_name: 'openai',
  gen_ai_request_model: 'gpt-4o',
}

const firewallRule = (pattern: string, action: string, type = 'substring') =>
  firewallRuleBody({ name: pattern, pattern, action, type })

describe('metrics', () => {
  let gateway: RunningGateway
  beforeEach(async () => {
    gateway = await startGateway()
  })
  afterEach(() => gateway.stop())

  it('require the admin key and have the format of Prometheus', async () => {
    const page = (authorization: string) => fetch(`${gateway.url}/metrics`, { headers: { authorization } })
    expect((await page('')).status).to.equal(401)
    expect((await page(`Bearer ${gateway.demoKey}`)).status).to.equal(401)
    const { status, headers } = await page(AS_ADMIN.authorization)
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/)
  })

  it('count requests by endpoint, status and plan, including refused ones', async () => {
    await ask(gateway, 'Hello')
    await ask(gateway, 'Hello', { messages: [] })
    await gateway.call('GET', '/v1/routing-rules/77')
    await gateway.call('GET', '/v1/models', undefined, { authorization: 'Bearer nobody' })
    await gateway.call('GET', '/no/such/path')
    await gateway.call('DELETE', '/v1/chat/completions')
    await fetch(`${gateway.routeUrl}/route`, { method: 'POST' })
    const metrics = await scrapeUntil(gateway, ({ sum }) => sum('signalbox_http_requests_total') >= 7)
    const count = (endpoint: string, method: string, status: string, plan: string) =>
      metrics.sum('signalbox_http_requests_total', { endpoint, method, status, plan })
    expect(count('/v1/chat/completions', 'POST', '200', 'paid')).to.equal(1)
    expect(count('/v1/chat/completions', 'POST', '400', 'paid')).to.equal(1)
    expect(count('/v1/routing-rules/:id', 'GET', '404', 'paid')).to.equal(1)
    expect(count('/v1/models', 'GET', '401', 'none')).to.equal(1)
    expect(count('other', 'other', '404', 'paid')).to.equal(1)
    expect(count('other', 'other', '405', 'paid')).to.equal(1)
    expect(count('/route', 'POST', '401', 'none')).to.equal(1)
  })

  it('report calls to providers under the names of OpenTelemetry', async () => {
    await ask(gateway, 'Hello')
    expect(await stream(gateway, 'Hello')).to.contain('[DONE]')
    const duration = 'gen_ai_client_operation_duration_seconds_count'
    const metrics = await scrapeUntil(gateway, ({ sum }) => sum(duration, GPT) === 2)
    expect(metrics.sum('gen_ai_client_operation_time_to_first_chunk_seconds_count', GPT)).to.equal(1)
    for (const gen_ai_token_type of ['input', 'output']) {
      const labels = { ...GPT, gen_ai_token_type }
      expect(metrics.sum('gen_ai_client_token_usage_count', labels)).to.equal(2)
      expect(metrics.sum('gen_ai_client_token_usage_sum', labels)).to.be.above(2)
    }
    expect(metrics.sum('signalbox_provider_attempts_total', { provider: 'openai', outcome: 'ok' })).to.equal(
      2,
    )
    expect(metrics.sum('signalbox_overhead_seconds_count')).to.equal(2)
  })

  it('count provider errors by code', async () => {
    for (let request = 0; request < 3; request++) await ask(gateway, 'Hello [[sandbox:status=500]]')
    const failed = { provider: 'openai', outcome: 'provider_error' }
    const metrics = await scrapeUntil(
      gateway,
      ({ sum }) => sum('signalbox_provider_attempts_total', { provider: 'openai' }) === 6,
    )
    expect(metrics.sum('signalbox_provider_attempts_total', failed)).to.equal(6)
    expect(
      metrics.sum('gen_ai_client_operation_duration_seconds_count', { error_type: 'provider_error' }),
    ).to.equal(6)
  })

  it('count a stream that fails as a failed call', async () => {
    expect(await stream(gateway, 'Hello [[sandbox:error-mid=3 token-delay=20]]')).to.contain('error')
    const duration = 'gen_ai_client_operation_duration_seconds_count'
    const metrics = await scrapeUntil(gateway, ({ sum }) => sum(duration, GPT) === 1)
    expect(metrics.sum(duration, { ...GPT, error_type: 'provider_error' })).to.equal(1)
  })

  it('have those of learned routers also while learned routing is off', async () => {
    const { sum } = await scrapeUntil(gateway, () => true)
    expect(sum('signalbox_router_version')).to.equal(0)
    expect(sum('signalbox_router_versions_refused_total')).to.equal(0)
  })

  it('count a client that disconnects, and its cancelled call', async () => {
    const leaving = new AbortController()
    const call = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: '[[sandbox:hang]]' }] }),
    }).catch(() => undefined)
    await scrapeUntil(gateway, ({ sum }) => sum('signalbox_cache_lookups_total', { cache: 'routing' }) === 1)
    leaving.abort()
    await call
    const { sum } = await scrapeUntil(
      gateway,
      ({ sum }) => sum('signalbox_http_requests_total', { status: 'client_disconnected' }) === 1,
    )
    expect(sum('signalbox_provider_attempts_total', { outcome: 'cancelled' })).to.equal(1)
    expect(sum('signalbox_overhead_seconds_count')).to.equal(0)
  })

  it('count the effects of rules by kind and action', async () => {
    const rule = routingRuleBody({ action_json: { set_mode: 'cost' } })
    await gateway.call('POST', '/v1/routing-rules', rule)
    for (const action of ['block', 'mask', 'warn'])
      await gateway.call('POST', '/v1/firewall-rules', firewallRule(`to ${action}`, action))
    await gateway.call('POST', '/v1/firewall-rules', firewallRule('(', 'block', 'regex'))
    await ask(gateway, 'to mask and to warn', { model: 'auto' })
    await ask(gateway, 'to block', { model: 'auto' })
    const actions = 'signalbox_rule_actions_total'
    const { sum } = await scrapeUntil(gateway, ({ sum }) => sum(actions, { action: 'block' }) === 1)
    for (const action of ['block', 'mask', 'warn'])
      expect(sum(actions, { kind: 'firewall', action, outcome: 'applied' })).to.equal(1)
    expect(sum(actions, { kind: 'routing', action: 'set_mode', outcome: 'applied' })).to.equal(1)
    expect(sum('signalbox_firewall_unusable_patterns_total')).to.equal(1)
    expect(sum('signalbox_cache_lookups_total', { cache: 'firewall', outcome: 'miss' })).to.equal(1)
    expect(sum('signalbox_cache_lookups_total', { cache: 'firewall', outcome: 'hit' })).to.equal(1)
  })

  it('report appends to the event log, and the time until a rule takes effect', async () => {
    const before = await scrape(gateway)
    const { body } = await gateway.call('POST', '/v1/firewall-rules', firewallRule('x', 'warn'))
    await gateway.call('DELETE', `/v1/firewall-rules/${body.data.id}`)
    const after = await scrape(gateway)
    const more = (name: string, labels = {}) => after.sum(name, labels) - before.sum(name, labels)
    const appends = 'signalbox_event_log_append_duration_seconds_count'
    // Reserving the rule's id, creating the rule, deleting it.
    expect(more(appends, { outcome: 'written' })).to.equal(3)
    expect(more('signalbox_event_lag_seconds_count')).to.equal(3)
    expect(more('signalbox_rule_change_to_effect_seconds_count')).to.equal(2)
    expect(more('signalbox_projection_position')).to.be.at.least(3)
    expect(after.sum('signalbox_event_log_followed')).to.equal(1)
    expect(after.sum('signalbox_unknown_events_total')).to.equal(0)
  })

  it('count requests that the rate limit allows and refuses', async () => {
    await gateway.call('PATCH', '/admin/users/1', { requests_per_minute: 1 }, AS_ADMIN)
    await gateway.call('GET', '/v1/models')
    await gateway.call('GET', '/v1/models')
    const { sum } = await scrape(gateway)
    expect(sum('signalbox_rate_limit_outcomes_total', { plan: 'paid', outcome: 'allowed' })).to.equal(1)
    expect(sum('signalbox_rate_limit_outcomes_total', { plan: 'paid', outcome: 'refused' })).to.equal(1)
  })

  it('create no series from values that clients invent', async function () {
    this.timeout(180_000)
    await gateway.call('PATCH', '/admin/users/1', { requests_per_minute: null }, AS_ADMIN)
    const make = async (number: number) => {
      const user = { 'user-agent': `agent-${number}`, 'x-request-id': `made-up-${number}` }
      const messages = [{ role: 'user', content: 'Hello' }]
      const send = (method: string, where: string, body?: object, headers = {}) =>
        gateway.call(method, where, body, { ...user, ...headers })
      await send('POST', '/v1/chat/completions', { model: `openai:made-up-${number}`, messages })
      await send('POST', '/v1/chat/completions', { model: `made-up-${number}`, messages })
      await send('POST', '/v1/chat/completions', { model: `provider-${number}:x`, messages })
      await send('GET', `/made/up/${number}`)
      await send('GET', `/v1/routing-rules/${number}`)
      await send(['PROPFIND', 'REPORT', 'PURGE', 'LINK'][number % 4] ?? '', `/v1/models/${number}`)
      await send('GET', `/v1/models?made-up=${number}`, undefined, { authorization: `Bearer ${number}` })
    }
    await make(0)
    const ended = (requests: number) =>
      scrapeUntil(
        gateway,
        ({ sum, samples }) =>
          sum('signalbox_http_requests_total') -
            samples
              .filter(
                ({ name, labels }) =>
                  name === 'signalbox_http_requests_total' && labels.endpoint === '/metrics',
              )
              .reduce((total, { value }) => total + value, 0) ===
          requests,
      )
    const ours = ({ series }: Scrape) =>
      [...series].filter((name) => !/^(nodejs|process)_/.test(name) && !name.includes('/metrics')).sort()
    const before = ours(await ended(1 + 7))
    let last = 0
    const client = async () => {
      while (last < ROUNDS.inventedClients) await make(++last)
    }
    await Promise.all(Array.from({ length: 20 }, client))
    const after = await ended(1 + 7 + 7 * last)
    expect(ours(after)).to.deep.equal(before)
    expect([...after.series].join('\n')).not.to.match(/made|agent|provider-/)
  })

  it('are all documented', async () => {
    const text = await readFile(new URL('docs/metrics.md', ROOT), 'utf8')
    const { names } = await scrape(gateway)
    const bases = [...names].map((name) => name.replace(/_(bucket|sum|count)$/, ''))
    const missing = bases.filter((name) => !/^(nodejs|process)_/.test(name) && !text.includes(`\`${name}\``))
    expect(missing).to.deep.equal([])
  })
})

describe('the overhead', () => {
  it('does not include waiting for a provider', async () => {
    const gateway = await startGateway()
    await gateway.call('POST', '/v1/chat/completions', chatBody('Hello [[sandbox:first-byte=400]]'))
    const { sum } = await scrapeUntil(gateway, ({ sum }) => sum('signalbox_overhead_seconds_count') === 1)
    const duration = sum('gen_ai_client_operation_duration_seconds_sum')
    expect(duration).to.be.at.least(0.4)
    expect(sum('signalbox_overhead_seconds_sum')).to.be.within(0, duration - 0.35)
    await gateway.stop()
  })
})

describe('the addresses for operators', () => {
  it('say that there are none without an admin key', async () => {
    const gateway = await startGateway({ ADMIN_KEY: '' })
    const answers = await Promise.all(
      ['/metrics', '/admin/users'].map((path) => fetch(`${gateway.url}${path}`)),
    )
    for (const answer of answers) {
      expect(answer.status).to.equal(404)
      expect(await answer.text()).to.contain('Start it with an ADMIN_KEY')
    }
    await gateway.stop()
  })
})

const VISITORS = `import { Counter } from 'signalbox'
export default {
  name: 'visitors',
  contract: 3,
  setup(options, { metrics }) {
    const counter = new Counter({ name: 'visitors_total', help: 'Visitors.', registers: [metrics] })
    return { observe: () => counter.inc() }
  },
}`

describe('a plugin package', () => {
  it('adds its own metrics', async () => {
    const folder = await makeFolder()
    await mkdir(path.join(folder, 'node_modules'))
    await symlink(fileURLToPath(ROOT), path.join(folder, 'node_modules', 'signalbox'))
    await writeFile(path.join(folder, 'visitors.mjs'), VISITORS)
    const CONFIG = path.join(folder, 'settings.yaml')
    await writeFile(CONFIG, JSON.stringify({ plugins: ['./visitors.mjs', 'metrics'] }))
    const gateway = await startGateway({ CONFIG }, { pluginFolder: folder })
    await fetch(`${gateway.url}/healthz`)
    await scrapeUntil(gateway, ({ sum }) => sum('visitors_total') >= 1)
    await gateway.stop()
  })
})
