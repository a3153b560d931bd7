import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startEventStore } from '../support/eventstore/server.ts'
import { ADMIN_KEY, type RunningGateway, startGateway } from '../support/gateway.ts'
import { readScrape } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import { ROOT } from '../support/root.ts'
import { connectToEach, isAlive, logged, openConnection, readLog, workerPids } from '../support/workers.ts'

const chat = (content: string, more: object = {}) => ({
  model: 'gpt-4o',
  messages: [{ role: 'user', content }],
  ...more,
})

const AS_ADMIN = { authorization: `Bearer ${ADMIN_KEY}` }

describe('several workers', function () {
  this.timeout(60_000)
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway({ WORKERS: '3' })
  })
  after(() => gateway.stop())

  it('show one ready line, one key, and how many they are', async () => {
    expect(gateway.stderr().match(/Signalbox serves at/g)).to.have.length(1)
    expect(gateway.stderr().match(/SIGNALBOX_KEY=/g)).to.have.length(1)
    expect(gateway.stderr()).to.contain('workers: 3')
    const pids = await workerPids(gateway, 3)
    expect([...pids.keys()].sort()).to.deep.equal([1, 2, 3])
    expect([...pids.values()].every(isAlive)).to.equal(true)
    expect([...pids.values()]).not.to.include(gateway.process.pid)
  })

  it('all serve behind the same ports', async () => {
    const each = await connectToEach(gateway, 3)
    for (const connection of each.values()) {
      const { status } = await connection.call('POST', '/v1/chat/completions', chat('Hello'))
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

  it('obey a change of rules with the very next request, whichever of them wrote it', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const rule = {
      name: 'Never',
      is_enabled: true,
      scope: 'prompt',
      type: 'substring',
      pattern: 'never-said',
      action: 'block',
      priority: 0,
    }
    const created = await each[0]!.call('POST', '/v1/firewall-rules', rule)
    const path = `/v1/firewall-rules/${created.body.data.id}`
    const acknowledged: number[] = []
    for (let n = 0; n < 150; n++) {
      const writer = each[n % 3]!
      const begun = performance.now()
      const changed = await writer.call('PATCH', path, { pattern: `word-${n}-` })
      acknowledged.push(performance.now() - begun)
      expect(changed.status).to.equal(200)
      const answers = await Promise.all(
        each.map((connection) => connection.call('POST', '/v1/chat/completions', chat(`word-${n}-`))),
      )
      expect(answers.map(({ status }) => status)).to.deep.equal([403, 403, 403])
      const read = await Promise.all(each.map((connection) => connection.call('GET', path)))
      for (const { body } of read) expect(body.data.pattern).to.equal(`word-${n}-`)
    }
    acknowledged.sort((a, b) => a - b)
    process.stdout.write(
      `        acknowledged and in force: p50 ${acknowledged[75]?.toFixed(1)} ms, p99 ${acknowledged[148]?.toFixed(1)} ms\n`,
    )
    await each[0]!.call('DELETE', path)
    for (const connection of each) connection.close()
  })

  it('do not acknowledge a change that one of them cannot know of', async () => {
    const each = await connectToEach(gateway, 3)
    const pid = (await workerPids(gateway, 3)).get(3) ?? 0
    process.kill(pid, 'SIGSTOP')
    const user = { name: 'x', plan: 'free' }
    const refused = await each.get(1)!.call('POST', '/admin/users', user, AS_ADMIN)
    expect(refused.status).to.equal(503)
    expect(refused.body.error.message).to.contain('may or may not have been saved. Check before you retry')
    process.kill(pid, 'SIGCONT')
    expect((await each.get(1)!.call('POST', '/admin/users', user, AS_ADMIN)).status).to.equal(201)
    for (const connection of each.values()) connection.close()
  })

  it('refuse a key with the very next request after it was revoked', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    for (let n = 0; n < 30; n++) {
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

  it('know what became of requests that others have served, and show it to their owner only', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const { body } = await each[0]!.call('POST', '/v1/chat/completions', chat('Hello'))
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

  it('replay responses that others have made, and forget those that others have deleted', async () => {
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

  it('write whole lines into the log, each with the number of its worker', async () => {
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

  it('obey a change with the very next request, too', async () => {
    const server = await startEventStore()
    const gateway = await startGateway({ WORKERS: '2', EVENTSTORE_URL: server.connectionString })
    const each = [...(await connectToEach(gateway, 2)).values()]
    for (let n = 0; n < 30; n++) {
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
  for (const workers of [2, 3]) {
    it(`lets 64 clients on ${workers} of them through exactly as often as allowed`, async () => {
      const gateway = await startGateway({ WORKERS: String(workers), CONFIG: '' })
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

      await gateway.stop()
    })
  }

  it('goes on when they are renewed', async () => {
    const gateway = await startGateway({ WORKERS: '2', CONFIG: '' })
    const remaining = async () =>
      (await gateway.call('GET', '/v1/models')).headers.get('x-ratelimit-remaining-requests')
    expect(await remaining()).to.equal('599')
    gateway.process.kill('SIGHUP')
    await logged(gateway, 'rolling restart completed')
    expect(await remaining()).to.equal('598')
    await gateway.stop()
  })
})

describe('the metrics of several workers', function () {
  this.timeout(60_000)
  const REQUESTS = 'signalbox_http_requests_total'
  const MODELS = { endpoint: '/v1/models', status: '200' }

  const scrape = async (url: string, headers = {}) => {
    const response = await fetch(url, { headers: { ...headers, connection: 'close' } })
    expect(response.status).to.equal(200)
    expect(response.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/)
    return readScrape(await response.text())
  }

  async function askOften(gateway: RunningGateway, times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      const connection = openConnection(gateway, { keepAlive: false })
      expect((await connection.call('GET', '/v1/models')).status).to.equal(200)
    }
  }

  it('are those of all, and never go back when a worker is replaced', async () => {
    const gateway = await startGateway({ WORKERS: '2' })
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
    expect(sum('process_start_time_seconds')).to.be.closeTo(Date.now() / 1000, 60)
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
    await gateway.stop()
  })

  it('may have a port of their own, which answers during a restart too', async () => {
    const gateway = await startGateway({ WORKERS: '2', METRICS_PORT: '0' })
    const url = gateway.stderr().match(/http:\/\/[\d.:]+\/metrics/)?.[0] ?? ''
    expect((await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })).status).to.equal(404)
    gateway.process.kill('SIGHUP')
    let pages = 0
    while (!gateway.stderr().includes('rolling restart completed')) {
      const { sum } = await scrape(url)
      expect(sum('signalbox_workers', { state: 'serving' })).to.equal(2)
      pages++
    }
    expect(pages).to.be.above(3)
    expect(await gateway.stop()).to.equal(0)
  })

  it('are all in the documentation', async () => {
    const gateway = await startGateway({ WORKERS: '2' })
    const text = await readFile(new URL('docs/metrics.md', ROOT), 'utf8')
    const { names } = await scrape(`${gateway.url}/metrics`, AS_ADMIN)
    const bases = [...names].map((name) => name.replace(/_(bucket|sum|count)$/, ''))
    expect(
      bases.filter((name) => !/^(nodejs|process)_/.test(name) && !text.includes(`\`${name}\``)),
    ).to.deep.equal([])
    await gateway.stop()
  })
})

describe('a rolling restart', function () {
  this.timeout(120_000)

  it('refuses no connection and fails no request, and a stream runs through it', async () => {
    const gateway = await startGateway({ WORKERS: '2' })
    const before = await workerPids(gateway, 2)
    const traffic = startTraffic(gateway)
    const stream = readStream(gateway, 'A long one [[sandbox:token-delay=150]]')
    await traffic.sent(50)

    gateway.process.kill('SIGHUP')
    await logged(gateway, 'rolling restart completed')
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

/** The text of a streamed answer as it came. */
async function readStream(gateway: RunningGateway, content: string): Promise<string> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(chat(content, { stream: true })),
  })
  return response.text()
}

/** Clients that ask without a pause: on connections that are kept alive, on such that pause now and then, and on new ones. */
function startTraffic(gateway: RunningGateway) {
  const failures: string[] = []
  let sent = 0
  let stopped = false
  const client = async (keepAlive: boolean, pauseMs: number) => {
    const connection = openConnection(gateway, { keepAlive })
    while (!stopped) {
      try {
        const { status } = await connection.call('POST', '/v1/chat/completions', chat('Hello'))
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
    ...[0, 0, 10, 50, 300, 1000, 2500].map((pauseMs) => client(true, pauseMs)),
    ...[0, 20, 50].map((pauseMs) => client(false, pauseMs)),
  ]
  return {
    /** Resolves when so many more were answered. */
    async sent(more: number) {
      const enough = sent + more
      while (sent < enough) await sleep(5)
    },
    async stop() {
      stopped = true
      await Promise.all(clients)
      return { failures, sent }
    },
  }
}
