import { readFile, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { budgetOf, readBudget, setBudget } from '../support/budgets.ts'
import { DIALECTS, readRecords } from '../support/dialects.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { logged } from '../support/gateway-log.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { type HoldingProvider, startHoldingProvider, UNANSWERED } from '../support/holding-provider.ts'
import { type RunningRedis, requireRedis } from '../support/redis.ts'
import { openResponseSocket } from '../support/response-socket.ts'
import { withSettings } from '../support/settings.ts'
import { receivedText } from '../support/streams.ts'
import { connectToEach, workerPids } from '../support/workers.ts'

type Dialect = (typeof DIALECTS)[keyof typeof DIALECTS]

const LIMITS = 'rate_limits: { requests_per_minute: { free: null, paid: null }, redis_timeout_ms: 10000 }\n'

const STREAMS = 6

/** A request whose reply is cut. */
interface CutRequest {
  readonly dialect: keyof typeof DIALECTS
  readonly isStream: boolean
  readonly status: number
  readonly id: string
  readonly text: string
}

/** Sends a request and resolves with what arrives of its response. */
async function ask(gateway: RunningGateway, name: keyof typeof DIALECTS, prompt: string, isStream: boolean) {
  const dialect: Dialect = DIALECTS[name]
  const response = await fetch(dialect.url(gateway), {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...dialect.body('gpt-4o', prompt), ...(isStream && { stream: true }) }),
  })
  const id = response.headers.get('x-request-id') ?? ''
  return { dialect: name, isStream, status: response.status, id, text: await receivedText(response) }
}

/** Streams that have begun, streams and whole requests that nobody has answered yet, in every dialect. */
function askInEveryWay(gateway: RunningGateway): Promise<CutRequest>[] {
  const names = Object.keys(DIALECTS) as (keyof typeof DIALECTS)[]
  return names.flatMap((name) => {
    const { streams } = DIALECTS[name]
    const begun = streams ? Array.from({ length: STREAMS }, () => ask(gateway, name, 'A tale', true)) : []
    const waiting = streams ? [ask(gateway, name, UNANSWERED, true)] : []
    return [...begun, ...waiting, ask(gateway, name, UNANSWERED, false)]
  })
}

const WAYS = 4 * (STREAMS + 1) + 5

/** Every client was told in its dialect that the reply is incomplete. */
function expectErrors(cut: readonly CutRequest[]): void {
  for (const { dialect, isStream, status, text } of cut) {
    const context = `${dialect}, stream ${isStream}: ${status} ${text}`
    if (status === (dialect === 'messages' ? 529 : 503)) {
      expect(JSON.parse(text).error.message, context).to.match(/shutting down/)
      continue
    }
    expect(isStream, context).to.equal(true)
    const last = readRecords(text).at(-1)
    if (dialect === 'responses') expect(last?.type, context).to.equal('response.failed')
    else if (dialect === 'messages') expect(text, context).to.contain('event: error\n')
    expect((last?.response ?? last)?.error?.message, context).to.match(/shutting down/)
    expect(text, context).not.to.contain('[DONE]')
  }
}

/** Each request has one record with the estimated cost, and the budget of its user counts all of them. */
async function expectRecorded(gateway: RunningGateway, cut: readonly CutRequest[]): Promise<void> {
  const { body } = await gateway.call('GET', '/admin/requests?limit=1000', undefined, AS_ADMIN)
  const records: { x_request_id: string; cost_usd: number; outcome: string }[] = body.data
  expect(records.map(({ x_request_id }) => x_request_id)).to.have.members(cut.map(({ id }) => id))
  for (const record of records) {
    expect(record.cost_usd, JSON.stringify(record)).to.be.greaterThan(0)
    expect(record.outcome, JSON.stringify(record)).to.equal('failed')
  }
  const sum = records.reduce((total, { cost_usd }) => total + cost_usd, 0)
  expect((await readBudget(gateway, budgetOf.user(1))).spent_usd).to.be.closeTo(sum, 1e-9)
}

describe('requests that the end of a gateway interrupts', function () {
  this.timeout(120_000)
  let provider: HoldingProvider
  beforeEach(async () => {
    provider = await startHoldingProvider()
  })
  afterEach(() => provider.close())

  const settingsOf = async (more = '', environment: Record<string, string> = {}) => ({
    ...(await withSettings(`${LIMITS}timeouts: { drain_ms: 400, stream_keep_alive_ms: 60000 }\n${more}`)),
    ...{ OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: provider.url, ...environment },
  })

  /** Starts a gateway whose user has a budget for all requests. */
  async function start(environment: Record<string, string>): Promise<GatewayProcess> {
    const gateway = await startGatewayProcess(environment)
    await setBudget(gateway, budgetOf.user(1), { limit_usd: 100 })
    return gateway
  }

  /** Starts a gateway with requests in flight in every way. */
  async function startAsked(environment: Record<string, string>) {
    const gateway = await start(environment)
    const asked = askInEveryWay(gateway)
    await provider.received(WAYS)
    return { gateway, asked }
  }

  async function restart({ dataDir, demoKey }: RunningGateway, environment: Record<string, string>) {
    return startGatewayProcess(environment, { dataDir, demoKey })
  }

  /** Stops the gateway and starts the next one, which has what the first one recorded and counted. */
  async function expectStop(
    gateway: GatewayProcess,
    asked: readonly Promise<CutRequest>[],
    environment: Record<string, string>,
  ): Promise<void> {
    expect(await gateway.stop()).to.equal(0)
    const cut = await Promise.all(asked)
    expectErrors(cut)
    const next = await restart(gateway, environment)
    await expectRecorded(next, cut)
    await next.stop()
  }

  for (const WORKERS of ['1', '2'])
    for (const evidence of ['optional', 'required'])
      it(`are answered, recorded and counted: ${WORKERS} process(es), evidence ${evidence}`, async () => {
        const environment = await settingsOf(`ledger: { evidence: ${evidence} }\n`, { WORKERS })
        const { gateway, asked } = await startAsked(environment)
        await expectStop(gateway, asked, environment)
      })

  for (const WORKERS of ['1', '2'])
    it(`are answered, recorded and counted if a second signal follows: ${WORKERS} process(es)`, async () => {
      const environment = await settingsOf('', { WORKERS })
      const { gateway, asked } = await startAsked(environment)
      gateway.process.kill('SIGTERM')
      await logged(gateway, 'stopping; waiting for requests in flight')
      await expectStop(gateway, asked, environment)
    })

  it('are answered on WebSocket connections', async () => {
    const environment = await settingsOf()
    const gateway = await start(environment)
    const sockets = await Promise.all([1, 2, 3].map(() => openResponseSocket(gateway.url, gateway.demoKey)))
    const asked = sockets.map(({ create }) => create({ model: 'gpt-4o', input: 'A tale' }))
    await provider.received(3)
    await gateway.stop()
    for (const events of await Promise.all(asked)) expect(events.at(-1)?.type).to.equal('response.failed')
    const next = await restart(gateway, environment)
    const { body } = await next.call('GET', '/admin/requests', undefined, AS_ADMIN)
    expect(body.data.map(({ cost_usd }: { cost_usd: number }) => cost_usd > 0)).to.deep.equal([
      true,
      true,
      true,
    ])
    await next.stop()
  })

  it('are answered, recorded and counted when a rolling restart replaces or retires their worker', async () => {
    const environment = await settingsOf('workers: 3\n')
    const gateway = await start(environment)
    const each = await connectToEach(gateway, 3)
    const asked = askInEveryWay(gateway)
    await provider.received(WAYS)
    const settings = await readFile(environment.CONFIG, 'utf8')
    await writeFile(environment.CONFIG, settings.replace('workers: 3', 'workers: 2'))
    gateway.process.kill('SIGHUP')
    await logged(gateway, 'rolling restart completed')
    expect((await workerPids(gateway, 5)).size).to.equal(3)
    const cut = await Promise.all(asked)
    expectErrors(cut)
    for (const connection of each.values()) connection.close()
    await expectRecorded(gateway, cut)
    await gateway.stop()
  })

  it('are answered, recorded and counted if every process gets the signal', async () => {
    const environment = await settingsOf('', { WORKERS: '2' })
    const { gateway, asked } = await startAsked(environment)
    for (const pid of (await workerPids(gateway, 2)).values()) process.kill(pid, 'SIGTERM')
    await expectStop(gateway, asked, environment)
  })

  describe('with Redis', () => {
    let redis: RunningRedis
    before(async function () {
      redis = await requireRedis(this, 'a-redis-password')
    })
    after(() => redis?.stop())

    it('are counted there before the process ends', async () => {
      const environment = await settingsOf('', { REDIS_URL: redis.url, WORKERS: '2' })
      const { gateway, asked } = await startAsked(environment)
      await expectStop(gateway, asked, environment)
    })
  })
})
