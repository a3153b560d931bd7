import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { AS_ADMIN } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { type Scrape, scrapePage } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import { ROUNDS } from '../support/rounds.ts'
import { withSettings } from '../support/settings.ts'
import { streamText } from '../support/streams.ts'
import { waitUntil } from '../support/wait.ts'
import { expectExactLimit, isAlive, openConnection, workerPids } from '../support/workers.ts'

/** A kept-alive connection would delay a rolling restart: its worker serves until the client closes it. */
const CLOSE = { connection: 'close' }

/** Between requests during a restart, which takes seconds: enough of them happen in each phase. */
const PACE_MS = 50

/** Asked by nothing but the test that counts it. */
const COUNTED = '/v1/firewall-rules'

describe('two workers that are replaced', function () {
  this.timeout(180_000)
  let gateway: GatewayProcess
  let metrics: string
  let startedAfter: number

  before(async () => {
    const settings = await withSettings(
      'timeouts: { keep_alive_ms: 3000 }\nrate_limits: { requests_per_minute: { free: 60, paid: null } }\n',
    )
    startedAfter = Math.floor(Date.now() / 1000)
    gateway = await startGatewayProcess({ ...settings, WORKERS: '2', METRICS_PORT: '0' })
    metrics = gateway.stderr().match(/http:\/\/[\d.:]+\/metrics/)?.[0] ?? ''
  })
  after(() => gateway?.stop())

  async function askOften(times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      const connection = openConnection(gateway, { keepAlive: false })
      expect((await connection.call('GET', COUNTED)).status).to.equal(200)
    }
  }

  /** The metrics once all of these requests are counted, and no more. */
  function settled(requests: number): Promise<Scrape> {
    return waitUntil(async () => {
      const page = await scrapePage(metrics, CLOSE)
      const counted = page.sum('signalbox_http_requests_total', { endpoint: COUNTED, status: '200' })
      if (counted < requests) return undefined
      expect(counted).to.equal(requests)
      return page
    }) as Promise<Scrape>
  }

  it('allow 64 clients exactly as many requests as the rate limit', () => expectExactLimit(gateway))

  it('fail no request and no stream, lose no count, and stop no metrics', async () => {
    const hidden = await fetch(`${gateway.url}/metrics`, { headers: { ...AS_ADMIN, ...CLOSE } })
    expect(hidden.status).to.equal(404)
    await askOften(20)
    const { sum, names } = await settled(20)
    expect(sum('signalbox_workers', { state: 'serving' })).to.equal(2)
    expect(sum('signalbox_event_log_followed')).to.equal(1)
    expect(sum('signalbox_projection_position')).to.be.within(1, 20)
    expect(sum('process_start_time_seconds')).to.be.within(startedAfter, Date.now() / 1000)
    expect([...names]).to.include.members(['signalbox_overhead_seconds_bucket', 'process_cpu_seconds_total'])

    const [first = 0] = (await workerPids(gateway, 2)).values()
    process.kill(first, 'SIGKILL')
    const before = await workerPids(gateway, 3)
    await askOften(10)
    const { sum: afterDeath } = await settled(30)
    expect(afterDeath('signalbox_worker_restarts_total', { reason: 'exited' })).to.equal(1)

    const limited = await newUser(gateway, 'free')
    const remaining = async () => {
      const { headers } = await limited.call('GET', '/v1/models', undefined, CLOSE)
      return headers.get('x-ratelimit-remaining-requests')
    }
    expect(await remaining()).to.equal('59')
    const traffic = startTraffic(gateway)
    const stream = streamText(gateway, chatBody('A long one [[sandbox:token-delay=150]]'), CLOSE)
    await traffic.sent(50)

    gateway.process.kill('SIGHUP')
    let asked = 30
    while (!gateway.stderr().includes('rolling restart completed')) {
      await askOften(1)
      const { sum } = await settled(++asked)
      expect(sum('signalbox_workers', { state: 'serving' })).to.equal(2)
      await Promise.race([gateway.stderrChanged(), sleep(PACE_MS)])
    }
    expect(asked).to.be.above(33)
    expect(await stream)
      .to.match(/\[DONE\]\s*$/)
      .and.not.to.contain('error')
    await traffic.sent(50)
    const { failures, sent } = await traffic.stop()
    expect(failures).to.deep.equal([])
    expect(sent).to.be.above(100)

    expect(await remaining()).to.equal('58')
    const { sum: afterRestart } = await settled(asked)
    expect(afterRestart('signalbox_worker_restarts_total', { reason: 'restarted' })).to.equal(2)
    expect(afterRestart('signalbox_http_request_duration_seconds_count', { endpoint: COUNTED })).to.equal(
      asked,
    )
    const after = await workerPids(gateway, 5)
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
    ...ROUNDS.restartTraffic.keptAlive.map((pauseMs) => client(true, pauseMs)),
    ...ROUNDS.restartTraffic.fresh.map((pauseMs) => client(false, pauseMs)),
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
