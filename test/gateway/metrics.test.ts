import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { parse } from 'yaml'
import { ADMIN_KEY, makeFolder, type RunningGateway, startGateway } from '../support/gateway.ts'
import { readScrape, type Scrape } from '../support/metrics.ts'
import { ROOT } from '../support/root.ts'

const AS_ADMIN = { authorization: `Bearer ${ADMIN_KEY}` }

async function scrape(gateway: RunningGateway): Promise<Scrape> {
  const response = await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })
  expect(response.status).to.equal(200)
  return readScrape(await response.text())
}

/** A request is counted when its answer has ended, which a client may see a moment earlier. */
async function scrapeUntil(gateway: RunningGateway, holds: (metrics: Scrape) => boolean): Promise<Scrape> {
  let metrics = await scrape(gateway)
  while (!holds(metrics)) metrics = await scrape(gateway)
  return metrics
}

const ask = (gateway: RunningGateway, content: string, more: object = {}) =>
  gateway.call('POST', '/v1/chat/completions', {
    model: 'gpt-4o',
    messages: [{ role: 'user', content }],
    ...more,
  })

async function stream(gateway: RunningGateway, content: string): Promise<string> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o', stream: true, messages: [{ role: 'user', content }] }),
  })
  return response.text()
}

const GPT = {
  gen_ai_operation_name: 'chat',
  gen_ai_provider_name: 'openai',
  gen_ai_request_model: 'gpt-4o',
}

const firewallRule = (pattern: string, action: string, type = 'substring') => ({
  name: pattern,
  is_enabled: true,
  scope: 'prompt',
  type,
  pattern,
  action,
  priority: 1,
})

describe('metrics', () => {
  let gateway: RunningGateway
  beforeEach(async () => {
    gateway = await startGateway()
  })
  afterEach(() => gateway.stop())

  it('are for the bearer of the admin key, in the format of Prometheus', async () => {
    const page = (authorization: string) => fetch(`${gateway.url}/metrics`, { headers: { authorization } })
    expect((await page('')).status).to.equal(401)
    expect((await page(`Bearer ${gateway.demoKey}`)).status).to.equal(401)
    const { status, headers } = await page(AS_ADMIN.authorization)
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/)
  })

  it('count requests by endpoint, status and plan, refused ones too', async () => {
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
    expect(count('other', 'other', '404', 'none')).to.equal(1)
    expect(count('other', 'other', '405', 'none')).to.equal(1)
    expect(count('/route', 'POST', '401', 'none')).to.equal(1)
  })

  it('tell calls to providers under the names of OpenTelemetry', async () => {
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

  it('keep the waiting for a provider out of the overhead', async () => {
    await ask(gateway, 'Hello [[sandbox:first-byte=400]]')
    const { sum } = await scrapeUntil(gateway, ({ sum }) => sum('signalbox_overhead_seconds_count') === 1)
    expect(sum('gen_ai_client_operation_duration_seconds_sum')).to.be.within(0.4, 2)
    expect(sum('signalbox_overhead_seconds_sum')).to.be.within(0, 0.35)
  })

  it('count failures of providers by code, and show what is given a rest', async () => {
    for (let request = 0; request < 3; request++) await ask(gateway, 'Hello [[sandbox:status=500]]')
    const failed = { provider: 'openai', outcome: 'provider_error' }
    const metrics = await scrapeUntil(
      gateway,
      ({ sum }) => sum('signalbox_provider_attempts_total', { provider: 'openai' }) === 6,
    )
    expect(metrics.sum('signalbox_provider_attempts_total', failed)).to.equal(5)
    expect(
      metrics.sum('gen_ai_client_operation_duration_seconds_count', { error_type: 'provider_error' }),
    ).to.equal(5)
    expect(metrics.sum('signalbox_provider_breakers', { provider: 'openai', state: 'open' })).to.equal(1)
    expect(metrics.sum('signalbox_provider_breakers', { provider: 'openai', state: 'closed' })).to.equal(0)
  })

  it('count a stream that breaks off as a failed call', async () => {
    expect(await stream(gateway, 'Hello [[sandbox:error-mid=3 token-delay=20]]')).to.contain('error')
    const duration = 'gen_ai_client_operation_duration_seconds_count'
    const metrics = await scrapeUntil(gateway, ({ sum }) => sum(duration, GPT) === 1)
    expect(metrics.sum(duration, { ...GPT, error_type: 'provider_error' })).to.equal(1)
  })

  it('count a client that leaves, and its call', async () => {
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

  it('count what rules do, by kind and action', async () => {
    const rule = {
      name: 'r',
      is_enabled: true,
      priority: 1,
      match_json: {},
      action_json: { set_mode: 'cost' },
    }
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

  it('tell what happens on the event log, and how soon a rule is in force', async () => {
    const before = await scrape(gateway)
    const { body } = await gateway.call('POST', '/v1/firewall-rules', firewallRule('x', 'warn'))
    await gateway.call('DELETE', `/v1/firewall-rules/${body.data.id}`)
    const after = await scrape(gateway)
    const more = (name: string, labels = {}) => after.sum(name, labels) - before.sum(name, labels)
    const appends = 'signalbox_event_log_append_duration_seconds_count'
    // The number of the rule, its creation, its end.
    expect(more(appends, { streams: 'history', outcome: 'written' })).to.equal(3)
    expect(more('signalbox_event_lag_seconds_count')).to.equal(3)
    expect(more('signalbox_rule_change_to_effect_seconds_count')).to.equal(2)
    expect(more('signalbox_projection_position')).to.be.at.least(3)
    expect(after.sum('signalbox_event_log_followed')).to.equal(1)
    expect(after.sum('signalbox_unknown_events_total')).to.equal(0)
  })

  it('count what the rate limit does', async () => {
    await gateway.call('PATCH', '/admin/users/1', { requests_per_minute: 1 }, AS_ADMIN)
    await gateway.call('GET', '/v1/models')
    await gateway.call('GET', '/v1/models')
    const { sum } = await scrape(gateway)
    expect(sum('signalbox_rate_limit_outcomes_total', { plan: 'paid', outcome: 'allowed' })).to.equal(1)
    expect(sum('signalbox_rate_limit_outcomes_total', { plan: 'paid', outcome: 'refused' })).to.equal(1)
  })

  it('get no new series from whatever callers make up', async function () {
    this.timeout(60_000)
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
      while (last < 600) await make(++last)
    }
    await Promise.all(Array.from({ length: 20 }, client))
    const after = await ended(1 + 7 + 7 * last)
    expect(ours(after)).to.deep.equal(before)
    expect([...after.series].join('\n')).not.to.match(/made|agent|provider-/)
  })

  it('have every name that dashboard and alerts use, with its labels', async () => {
    await ask(gateway, 'Hello')
    await stream(gateway, 'Hello')
    await gateway.call('POST', '/v1/firewall-rules', firewallRule('Hello', 'warn'))
    await ask(gateway, 'Hello')
    const { names, samples } = await scrapeUntil(
      gateway,
      ({ sum }) => sum('signalbox_rule_actions_total') === 1,
    )
    const several = await startGateway({ WORKERS: '2' })
    const ofSeveral = await scrape(several)
    await several.stop()
    const [allNames, allSamples] = [
      [...names, ...ofSeveral.names],
      [...samples, ...ofSeveral.samples],
    ]
    const dashboard = JSON.parse(
      await readFile(new URL('config/deploy/grafana/dashboard.json', ROOT), 'utf8'),
    )
    const alerts = parse(await readFile(new URL('config/deploy/alerts.yml', ROOT), 'utf8'))
    const expressions: string[] = [
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }: { expr: string }) => expr)),
      ...alerts.groups.flatMap(({ rules }: { rules: { expr: string }[] }) => rules.map(({ expr }) => expr)),
    ]
    expect(expressions.length).to.be.above(30)
    // `up` is Prometheus' own: whether the last scrape succeeded.
    for (const expression of expressions.filter((text) => !/^up\b/.test(text))) {
      const used = [
        ...expression.matchAll(/\b((?:signalbox|nodejs|process|gen_ai_client)_\w+)(?:\{(.*?)\})?/g),
      ]
      expect(used, expression).not.to.deep.equal([])
      for (const [, name = '', selector = ''] of used) {
        expect(allNames, expression).to.include(name)
        const labels = allSamples
          .filter((sample) => sample.name === name)
          .flatMap(({ labels }) => Object.keys(labels))
        for (const [, label] of selector.matchAll(/(\w+)\s*[=!]~?/g))
          expect(['instance', ...labels], expression).to.include(label)
      }
    }
  })

  it('are all in the documentation', async () => {
    const text = await readFile(new URL('docs/metrics.md', ROOT), 'utf8')
    const { names } = await scrape(gateway)
    const bases = [...names].map((name) => name.replace(/_(bucket|sum|count)$/, ''))
    const missing = bases.filter((name) => !/^(nodejs|process)_/.test(name) && !text.includes(`\`${name}\``))
    expect(missing).to.deep.equal([])
  })
})

describe('the address of the metrics', () => {
  it('may be a port of their own, without a key, and is then no other', async () => {
    const gateway = await startGateway({ METRICS_PORT: '0' })
    const url = gateway.stderr().match(/http:\/\/[\d.:]+\/metrics/)?.[0] ?? ''
    const response = await fetch(url)
    expect(response.status).to.equal(200)
    expect(await response.text()).to.contain('signalbox_projection_position')
    expect((await fetch(url.replace('/metrics', '/healthz'))).status).to.equal(404)
    expect((await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })).status).to.equal(404)
    expect(await gateway.stop()).to.equal(0)
  })

  it('is nowhere without an admin key', async () => {
    const gateway = await startGateway({ ADMIN_KEY: '' })
    expect((await fetch(`${gateway.url}/metrics`)).status).to.equal(404)
    await gateway.stop()
  })
})

const VISITORS = `import { Counter } from 'signalbox'
export default {
  name: 'visitors',
  setup(options, { metrics }) {
    const counter = new Counter({ name: 'visitors_total', help: 'Visitors.', registers: [metrics] })
    return { observeRequest: () => counter.inc() }
  },
}`

describe('a plugin package', () => {
  it('adds metrics of its own', async () => {
    const folder = await makeFolder()
    await mkdir(path.join(folder, 'node_modules'))
    await symlink(fileURLToPath(ROOT), path.join(folder, 'node_modules', 'signalbox'))
    await writeFile(path.join(folder, 'visitors.mjs'), VISITORS)
    const CONFIG = path.join(folder, 'settings.yaml')
    await writeFile(CONFIG, JSON.stringify({ plugins: ['./visitors.mjs', 'metrics'] }))
    const gateway = await startGateway({ CONFIG }, { cwd: folder })
    await fetch(`${gateway.url}/healthz`)
    await scrapeUntil(gateway, ({ sum }) => sum('visitors_total') >= 1)
    await gateway.stop()
  })
})
