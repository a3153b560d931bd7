import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { startEventStore } from '../support/eventstore/server.ts'
import { AS_ADMIN, startGateway } from '../support/gateway.ts'
import { logged, readLog } from '../support/gateway-log.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { readScrape, scrapeUntil } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { ROOT } from '../support/root.ts'
import { ROUNDS } from '../support/rounds.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { streamText } from '../support/streams.ts'
import { waitUntil } from '../support/wait.ts'
import { connectToEach, isAlive, openConnection, workerPids } from '../support/workers.ts'
import { parseYaml } from '../support/yaml.ts'

/** A kept-alive connection would delay a rolling restart: its worker serves until the client closes it. */
const CLOSE = { connection: 'close' }

describe('several workers', function () {
  this.timeout(60_000)
  let gateway: GatewayProcess
  before(async () => {
    gateway = await startGatewayProcess({ WORKERS: '3' })
  })
  after(() => gateway.stop())

  it('print one ready line, one key and their number', async () => {
    expect(gateway.stderr().match(/Signalbox serves at/g)).to.have.length(1)
    expect(gateway.stderr().match(/SIGNALBOX_KEY=/g)).to.have.length(1)
    expect(gateway.stderr()).to.contain('workers: 3')
    const pids = await workerPids(gateway, 3)
    expect([...pids.keys()].sort()).to.deep.equal([1, 2, 3])
    expect([...pids.values()].every(isAlive)).to.equal(true)
    expect([...pids.values()]).not.to.include(gateway.process.pid)
  })

  it('share sessions of the console, which all of them end', async () => {
    const operator = await newOperator(gateway, 'editor')
    const each = [...(await connectToEach(gateway, 3)).values()]
    const signIn = await each[0]?.call('POST', '/console/session', undefined, operator.headers)
    const [cookie = ''] = (signIn?.headers.get('set-cookie') ?? '').split(';')
    const session = { authorization: '', cookie }
    const change = { ...session, 'x-csrf-token': signIn?.body.data.csrf_token }
    for (const [index, { call }] of each.entries()) {
      expect((await call('GET', '/admin/policies', undefined, session)).status).to.equal(200)
      const group = { name: `Group of worker ${index}` }
      expect((await call('POST', '/admin/groups', group, change)).status).to.equal(201)
    }
    await gateway.call('DELETE', `/admin/operators/${operator.id}`, undefined, AS_ADMIN)
    for (const { call, close } of each) {
      expect((await call('GET', '/admin/policies', undefined, session)).status).to.equal(401)
      close()
    }
  })

  it('all serve behind the same ports', async () => {
    const each = await connectToEach(gateway, 3)
    for (const connection of each.values()) {
      const { status } = await connection.call('POST', '/v1/chat/completions', chatBody('Hello'))
      expect(status).to.equal(200)
      connection.close()
    }
    for (let n = 0; n < 6; n++) {
      const response = await fetch(`${gateway.routeUrl}/route`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${gateway.demoKey}`,
          'content-type': 'application/json',
          connection: 'close',
        },
        body: JSON.stringify({ prompt: 'Hello' }),
      })
      expect(response.status).to.equal(200)
      await response.text()
    }
  })

  it('apply a change of rules to the next request, whichever worker received it', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const rule = firewallRuleBody({ name: 'Never', pattern: 'never-said', action: 'block' })
    const created = await each[0]!.call('POST', '/v1/firewall-rules', rule)
    const path = `/v1/firewall-rules/${created.body.data.id}`
    for (let n = 0; n < ROUNDS.workerChanges; n++) {
      const writer = each[n % 3]!
      const changed = await writer.call('PATCH', path, { pattern: `word-${n}-` })
      expect(changed.status).to.equal(200)
      const answers = await Promise.all(
        each.map((connection) => connection.call('POST', '/v1/chat/completions', chatBody(`word-${n}-`))),
      )
      expect(answers.map(({ status }) => status)).to.deep.equal([403, 403, 403])
      const read = await Promise.all(each.map((connection) => connection.call('GET', path)))
      for (const { body } of read) expect(body.data.pattern).to.equal(`word-${n}-`)
    }
    await each[0]!.call('DELETE', path)
    for (const connection of each) connection.close()
  })

  it('refuse a revoked key from the next request on', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    for (let n = 0; n < ROUNDS.workerKeys; n++) {
      const { body } = await each[n % 3]!.call('POST', '/admin/users/1/keys', undefined, AS_ADMIN)
      const bearer = { authorization: `Bearer ${body.data.key}` }
      const ask = () =>
        Promise.all(each.map((connection) => connection.call('GET', '/v1/models', undefined, bearer)))
      expect((await ask()).map(({ status }) => status)).to.deep.equal([200, 200, 200])
      await each[(n + 1) % 3]!.call('DELETE', `/admin/keys/${body.data.id}`, undefined, AS_ADMIN)
      expect((await ask()).map(({ status }) => status)).to.deep.equal([401, 401, 401])
    }
    for (const connection of each) connection.close()
  })

  it('apply policies and memberships to the next request, whichever worker received the change', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const admin = async (n: number, method: string, path: string, body?: object) =>
      (await each[n]!.call(method, path, body, AS_ADMIN)).body.data
    const { id: group } = await admin(0, 'POST', '/admin/groups', { name: 'Support' })
    const { id: policy } = await admin(1, 'POST', '/admin/policies', {
      ...{ name: 'Guard', is_enabled: true, priority: 0 },
      applies_to: { groups: [group] },
    })
    const rule = firewallRuleBody({ name: 'Never', pattern: 'never-said', action: 'block' })
    await admin(2, 'POST', `/admin/policies/${policy}/firewall-rules`, rule)
    const ask = async () => {
      const calls = each.map((connection) =>
        connection.call('POST', '/v1/chat/completions', chatBody('never-said')),
      )
      return (await Promise.all(calls)).map(({ status }) => status)
    }
    for (let n = 0; n < 3; n++) {
      expect(await ask()).to.deep.equal([200, 200, 200])
      await admin(n, 'PUT', `/admin/groups/${group}/members/1`)
      expect(await ask()).to.deep.equal([403, 403, 403])
      await admin((n + 1) % 3, 'PATCH', `/admin/policies/${policy}`, { is_enabled: false })
      expect(await ask()).to.deep.equal([200, 200, 200])
      await admin((n + 2) % 3, 'PATCH', `/admin/policies/${policy}`, { is_enabled: true })
      expect(await ask()).to.deep.equal([403, 403, 403])
      await admin(n, 'DELETE', `/admin/groups/${group}/members/1`)
    }
    for (const connection of each) connection.close()
  })

  it('refuse the key of a removed operator, and of one with another role, from the next request on', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const created = await each[0]!.call('POST', '/admin/operators', { name: 'Eve', role: 'admin' }, AS_ADMIN)
    const { id, key } = created.body.data
    const bearer = { authorization: `Bearer ${key}` }
    const ask = async () => {
      const calls = each.map((connection) => connection.call('GET', '/admin/users', undefined, bearer))
      return (await Promise.all(calls)).map(({ status }) => status)
    }
    expect(await ask()).to.deep.equal([200, 200, 200])
    await each[1]!.call('PATCH', `/admin/operators/${id}`, { role: 'auditor' }, AS_ADMIN)
    const create = await each[2]!.call('POST', '/admin/users', { name: 'x', plan: 'free' }, bearer)
    expect(create.status).to.equal(403)
    await each[2]!.call('DELETE', `/admin/operators/${id}`, undefined, AS_ADMIN)
    expect(await ask()).to.deep.equal([401, 401, 401])
    for (const connection of each) connection.close()
  })

  it('return the records of requests to other workers, to their owner only', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const { body } = await each[0]!.call('POST', '/v1/chat/completions', chatBody('Hello'))
    const path = `/v1/requests/${body.x_request_id}`
    for (const connection of each) {
      const shown = await connection.call('GET', path)
      expect(shown.status).to.equal(200)
      expect(shown.body.data).to.include({ x_request_id: body.x_request_id, outcome: 'answered' })
      const unknown = await connection.call('GET', '/v1/requests/req_000000000000000000000000')
      expect(unknown.status).to.equal(404)
    }
    const user = await newUser(gateway)
    expect((await user.call('GET', path)).status).to.equal(404)
    for (const connection of each) connection.close()
  })

  it('replay responses created by other workers, and not deleted ones', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const made = await each[0]!.call('POST', '/v1/responses', { model: 'gpt-4o', input: 'Hello' })
    const path = `/v1/responses/${made.body.id}`
    for (const connection of each) {
      const replayed = await connection.call('POST', path, {})
      expect(replayed.body.output).to.deep.equal(made.body.output)
    }
    expect((await each[1]!.call('DELETE', path)).status).to.equal(200)
    for (const connection of each) expect((await connection.call('GET', path)).status).to.equal(404)
    for (const connection of each) connection.close()
  })

  it('write complete log lines, each with the number of its worker', async () => {
    await Promise.all(
      Array.from({ length: 300 }, async () => {
        const connection = openConnection(gateway, { keepAlive: false })
        await connection.call('GET', '/v1/models')
      }),
    )
    const served = readLog(gateway).filter(({ msg }) => msg === 'request')
    expect(new Set(served.map(({ worker }) => worker))).to.deep.equal(new Set([1, 2, 3]))
  })
})

describe('several workers on EventStoreDB', function () {
  this.timeout(60_000)

  it('accept a new key from the next request on', async () => {
    const server = await startEventStore()
    const gateway = await startGatewayProcess({ WORKERS: '2', EVENTSTORE_URL: server.connectionString })
    const each = [...(await connectToEach(gateway, 2)).values()]
    for (let n = 0; n < ROUNDS.workerKeys; n++) {
      const made = await each[n % 2]!.call('POST', '/admin/users/1/keys', undefined, AS_ADMIN)
      const bearer = { authorization: `Bearer ${made.body.data.key}` }
      for (const connection of each)
        expect((await connection.call('GET', '/v1/models', undefined, bearer)).status).to.equal(200)
    }
    for (const connection of each) connection.close()
    expect(await gateway.stop()).to.equal(0)
    await server.stop()
  })
})

describe('the rate limit of several workers', function () {
  this.timeout(60_000)
  let two: GatewayProcess
  before(async () => {
    const settings = await withSettings('timeouts: { keep_alive_ms: 500 }')
    two = await startGatewayProcess({ ...settings, WORKERS: '2' })
  })
  after(() => two.stop())

  it('allows 64 clients on 2 of them exactly as many requests as the limit', () => expectExactLimit(two))

  it('allows 64 clients on 3 of them exactly as many requests as the limit', async () => {
    const three = await startGatewayProcess({ WORKERS: '3', CONFIG: '' })
    await expectExactLimit(three)
    await three.stop()
  })

  async function expectExactLimit(gateway: GatewayProcess): Promise<void> {
    const user = await newUser(gateway, 'free')
    const statuses = await Promise.all(
      Array.from({ length: 64 }, async () => {
        const connection = openConnection(gateway, { keepAlive: true })
        const answers = []
        for (let n = 0; n < 4; n++) {
          const bearer = { authorization: `Bearer ${user.key}` }
          answers.push((await connection.call('GET', '/v1/models', undefined, bearer)).status)
        }
        connection.close()
        return answers
      }),
    )
    const count = (status: number) => statuses.flat().filter((one) => one === status).length
    expect({ allowed: count(200), refused: count(429) }).to.deep.equal({ allowed: 60, refused: 196 })
  }

  it('continues its count through a rolling restart', async () => {
    const remaining = async () =>
      (await two.call('GET', '/v1/models', undefined, CLOSE)).headers.get('x-ratelimit-remaining-requests')
    expect(await remaining()).to.equal('599')
    two.process.kill('SIGHUP')
    await logged(two, 'rolling restart completed')
    expect(await remaining()).to.equal('598')
  })
})

async function scrape(url: string, headers = {}) {
  const response = await fetch(url, { headers: { ...headers, ...CLOSE } })
  expect(response.status).to.equal(200)
  expect(response.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/)
  return readScrape(await response.text())
}

describe('the metrics of several workers', function () {
  this.timeout(60_000)
  const REQUESTS = 'signalbox_http_requests_total'
  const MODELS = { endpoint: '/v1/models', status: '200' }

  async function askOften(gateway: GatewayProcess, times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      const connection = openConnection(gateway, { keepAlive: false })
      expect((await connection.call('GET', '/v1/models')).status).to.equal(200)
    }
  }

  let gateway: GatewayProcess
  let startedAfter: number
  before(async () => {
    startedAfter = Math.floor(Date.now() / 1000)
    gateway = await startGatewayProcess({ WORKERS: '2' })
  })
  after(() => gateway.stop())

  it('are all documented', async () => {
    const text = await readFile(new URL('docs/metrics.md', ROOT), 'utf8')
    const { names } = await scrape(`${gateway.url}/metrics`, AS_ADMIN)
    const bases = [...names].map((name) => name.replace(/_(bucket|sum|count)$/, ''))
    expect(
      bases.filter((name) => !/^(nodejs|process)_/.test(name) && !text.includes(`\`${name}\``)),
    ).to.deep.equal([])
  })

  it('have, with those of a single process, every name and label that dashboard and alerts use', async () => {
    const single = await startGateway()
    await single.call('POST', '/v1/chat/completions', chatBody('Hello'))
    await streamText(single, chatBody('Hello'))
    await single.call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern: 'Hello', action: 'warn' }))
    await single.call('POST', '/v1/chat/completions', chatBody('Hello'))
    const { names, samples } = await scrapeUntil(
      single,
      ({ sum }) => sum('signalbox_rule_actions_total') === 1,
    )
    const ofSeveral = await scrape(`${gateway.url}/metrics`, AS_ADMIN)
    await single.stop()
    const [allNames, allSamples] = [
      [...names, ...ofSeveral.names],
      [...samples, ...ofSeveral.samples],
    ]
    const dashboard = JSON.parse(
      await readFile(new URL('config/deploy/grafana/dashboard.json', ROOT), 'utf8'),
    )
    const alerts = parseYaml(await readFile(new URL('config/deploy/alerts.yml', ROOT), 'utf8'))
    const expressions: string[] = [
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }: { expr: string }) => expr)),
      ...alerts.groups.flatMap(({ rules }: { rules: { expr: string }[] }) => rules.map(({ expr }) => expr)),
    ]
    expect(expressions.length).to.be.above(30)
    // `up` is a metric of Prometheus itself.
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

  it('are sums over all workers, and never decrease when a worker is replaced', async () => {
    const page = () => scrape(`${gateway.url}/metrics`, AS_ADMIN)
    const settled = async (requests: number) => {
      let metrics = await page()
      while (metrics.sum(REQUESTS, MODELS) < requests) metrics = await page()
      expect(metrics.sum(REQUESTS, MODELS)).to.equal(requests)
      return metrics
    }
    await askOften(gateway, 20)
    const { sum, names } = await settled(20)
    expect(sum('signalbox_workers', { state: 'serving' })).to.equal(2)
    expect(sum('signalbox_event_log_followed')).to.equal(1)
    expect(sum('signalbox_projection_position')).to.be.within(1, 10)
    expect(sum('process_start_time_seconds')).to.be.within(startedAfter, Date.now() / 1000)
    expect([...names]).to.include.members(['signalbox_overhead_seconds_bucket', 'process_cpu_seconds_total'])

    const [first = 0] = (await workerPids(gateway, 2)).values()
    process.kill(first, 'SIGKILL')
    await workerPids(gateway, 3)
    await askOften(gateway, 10)
    const { sum: afterDeath } = await settled(30)
    expect(afterDeath('signalbox_worker_restarts_total', { reason: 'exited' })).to.equal(1)

    gateway.process.kill('SIGHUP')
    let asked = 30
    while (!gateway.stderr().includes('rolling restart completed')) {
      await askOften(gateway, 1)
      await settled(++asked)
    }
    const { sum: afterRenewal } = await settled(asked)
    expect(afterRenewal('signalbox_worker_restarts_total', { reason: 'restarted' })).to.equal(2)
    expect(
      afterRenewal('signalbox_http_request_duration_seconds_count', { endpoint: '/v1/models' }),
    ).to.equal(asked)
  })
})

describe('a rolling restart', function () {
  this.timeout(120_000)

  it('refuses no connection, fails no request, interrupts no stream and stops no metrics', async () => {
    const settings = await withSettings(`${UNLIMITED}timeouts: { keep_alive_ms: 3000 }`)
    const gateway = await startGatewayProcess({ ...settings, WORKERS: '2', METRICS_PORT: '0' })
    const metrics = gateway.stderr().match(/http:\/\/[\d.:]+\/metrics/)?.[0] ?? ''
    const hidden = await fetch(`${gateway.url}/metrics`, { headers: { ...AS_ADMIN, ...CLOSE } })
    expect(hidden.status).to.equal(404)
    const before = await workerPids(gateway, 2)
    const traffic = startTraffic(gateway)
    const stream = streamText(gateway, chatBody('A long one [[sandbox:token-delay=150]]'))
    await traffic.sent(50)

    gateway.process.kill('SIGHUP')
    let pages = 0
    while (!gateway.stderr().includes('rolling restart completed')) {
      const { sum } = await scrape(metrics)
      expect(sum('signalbox_workers', { state: 'serving' })).to.equal(2)
      pages++
    }
    expect(pages).to.be.above(3)
    expect(await stream)
      .to.match(/\[DONE\]\s*$/)
      .and.not.to.contain('error')
    await traffic.sent(50)

    const { failures, sent } = await traffic.stop()
    expect(failures).to.deep.equal([])
    expect(sent).to.be.above(100)
    const after = await workerPids(gateway, 4)
    expect([...before.values()].filter(isAlive)).to.deep.equal([])
    expect([...after.values()].every(isAlive)).to.equal(true)
    expect(await gateway.stop()).to.equal(0)
  })
})

/** Starts clients that send requests in sequence: on kept-alive connections, with pauses, and on new ones. */
function startTraffic(gateway: GatewayProcess) {
  const failures: string[] = []
  let sent = 0
  let stopped = false
  const client = async (keepAlive: boolean, pauseMs: number) => {
    const connection = openConnection(gateway, { keepAlive })
    while (!stopped) {
      try {
        const { status } = await connection.call('POST', '/v1/chat/completions', chatBody('Hello'))
        if (status !== 200) failures.push(`status ${status}`)
      } catch (error) {
        failures.push(String(error))
      }
      sent++
      await sleep(pauseMs)
    }
    connection.close()
  }
  const clients = [
    ...[0, 0, 10, 50, 300, 1000].map((pauseMs) => client(true, pauseMs)),
    ...[0, 20, 50].map((pauseMs) => client(false, pauseMs)),
  ]
  return {
    /** Resolves once so many more requests have ended. */
    async sent(more: number) {
      const enough = sent + more
      await waitUntil(() => sent >= enough)
    },
    async stop() {
      stopped = true
      await Promise.all(clients)
      return { failures, sent }
    },
  }
}
