import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { findLeaks, place } from '../support/leaks.ts'
import { type RunningPostgres, requirePostgres } from '../support/postgres.ts'
import { ROUNDS } from '../support/rounds.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { writeSettings } from '../support/settings-file.ts'
import { waitUntil } from '../support/wait.ts'

const BLOCK = firewallRuleBody({ name: 'No secrets', pattern: 'secret', action: 'block' })

const askFor = (gateway: RunningGateway, content: string) =>
  gateway.call('POST', '/v1/chat/completions', chatBody(content))

describe('the ledger of a gateway that is killed', () => {
  for (const workers of [1, 2]) {
    it(`has every refusal that was answered, with ${workers} worker(s)`, async function () {
      this.timeout(60_000 + ROUNDS.ledgerKills * 15_000)
      const dataDir = await makeFolder()
      const refused: string[] = []
      let demoKey: string | undefined
      for (let round = 0; round < ROUNDS.ledgerKills; round++) {
        const options = { dataDir, ...(demoKey !== undefined && { demoKey }) }
        const gateway = await startGatewayProcess({ WORKERS: String(workers) }, options)
        demoKey = gateway.demoKey
        if (round === 0)
          expect((await gateway.call('POST', '/v1/firewall-rules', BLOCK)).status).to.equal(201)
        await killWhileRefusing(gateway, round, refused)
      }
      const gateway = await startGatewayProcess({}, { dataDir, demoKey: demoKey ?? '' })
      expect(refused.length).to.be.greaterThan(10 * ROUNDS.ledgerKills)
      const { body } = await gateway.call(
        'GET',
        '/admin/requests?limit=1000&action=block',
        undefined,
        AS_ADMIN,
      )
      const recorded = body.data.map(({ x_request_id }: { x_request_id: string }) => x_request_id)
      expect(recorded).to.include.members(refused)
      expect(new Set(recorded).size).to.equal(recorded.length)
      const { body: usage } = await gateway.call('GET', '/admin/usage?group_by=rule', undefined, AS_ADMIN)
      expect(usage.data[0].requests).to.equal(recorded.length)
      await gateway.stop()
    })
  }
})

/** Kills the gateway under four callers of whom every other request is refused. */
async function killWhileRefusing(gateway: GatewayProcess, round: number, refused: string[]): Promise<void> {
  let left = 20 + (round % 7)
  let killed: Promise<unknown> | undefined
  const ask = async (caller: number) => {
    for (let n = caller; killed === undefined; n++) {
      const content = n % 2 === 0 ? 'a secret' : 'hello'
      const answer = await askFor(gateway, content).catch(() => undefined)
      if (answer === undefined) return
      if (answer.status !== 403) continue
      refused.push(answer.headers.get('x-request-id') ?? '')
      if (--left === 0) killed = gateway.stop('SIGKILL')
    }
  }
  await Promise.all([0, 1, 2, 3].map(ask))
  await killed
}

describe('a gateway with its ledger in PostgreSQL', () => {
  let server: RunningPostgres

  before(async function () {
    this.timeout(60_000)
    server = await requirePostgres(this)
  })

  after(() => server?.stop())

  const metric = async (gateway: RunningGateway, name: string) => {
    const response = await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })
    const line = (await response.text()).split('\n').find((text) => text.startsWith(name))
    return Number(line?.split(' ').at(-1))
  }

  it('answers while the database is down, and records the requests when it is back', async function () {
    this.timeout(60_000)
    const gateway = await startGatewayProcess({ LEDGER_URL: server.url })
    await gateway.call('POST', '/v1/firewall-rules', BLOCK)
    const before = await askFor(gateway, 'hello')
    const path = `/v1/requests/${before.headers.get('x-request-id')}`
    expect((await gateway.call('GET', path)).status).to.equal(200)
    await server.kill()
    const blocked = await askFor(gateway, 'a secret')
    expect(blocked.status).to.equal(403)
    const answered = await askFor(gateway, 'hello')
    expect(answered.status).to.equal(200)
    const unreadable = await gateway.call('GET', path)
    expect(unreadable.status).to.equal(503)
    expect(unreadable.headers.get('x-error-code')).to.equal('ledger_unavailable')
    expect(await metric(gateway, 'signalbox_ledger_up')).to.equal(0)
    expect(gateway.stderr()).to.contain('request ledger unavailable')
    expect(gateway.stderr()).not.to.contain(server.url)

    await server.restart()
    await gateway.wrote('request ledger available again')
    for (const { headers } of [before, blocked, answered])
      expect((await gateway.call('GET', `/v1/requests/${headers.get('x-request-id')}`)).status).to.equal(200)
    expect(await metric(gateway, 'signalbox_ledger_dropped_total{reason="queue_full"}')).to.equal(0)
    expect(await gateway.stop()).to.equal(0)
  })

  it('answers while the database hangs', async function () {
    this.timeout(60_000)
    const gateway = await startGatewayProcess({ LEDGER_URL: server.url })
    await gateway.call('POST', '/v1/firewall-rules', BLOCK)
    expect((await askFor(gateway, 'a secret')).status).to.equal(403)
    const schemas = await server.query("select nspname from pg_namespace where nspname like 'log\\_%'")
    const tables = schemas.rows.map(({ nspname }) => `"${nspname}".requests`).join(', ')
    // Held by a connection that does nothing else.
    const hung = server.query(`begin; lock table ${tables} in access exclusive mode; select pg_sleep(60)`)
    hung.catch(() => undefined)
    await waitUntil(async () => {
      const { rows } = await server.query(
        "select 1 from pg_locks where mode = 'AccessExclusiveLock' and granted",
      )
      return rows.length > 0
    })
    const startedAt = performance.now()
    for (const content of ['a secret', 'another secret', 'hello'])
      expect((await askFor(gateway, content)).status).to.equal(content === 'hello' ? 200 : 403)
    expect(performance.now() - startedAt).to.be.lessThan(5000)
    expect(await metric(gateway, 'signalbox_ledger_up')).to.equal(0)
    await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()",
    )
    await gateway.wrote('request ledger available again')
    await gateway.stop()
  })

  it('keeps the prompts of all workers there, and no text of them', async function () {
    this.timeout(60_000)
    const gateway = await startGatewayProcess({
      ...(await withSettings(`${UNLIMITED}ledger: { record_prompts: full }\n`)),
      ...{ LEDGER_URL: server.url, WORKERS: '2', RECORD_KEY: randomBytes(32).toString('hex') },
    })
    const text = 'Fourteen-magenta-otters-audit-the-observatory'
    const [first] = await Promise.all(Array.from({ length: 10 }, () => askFor(gateway, text)))
    const path = `/admin/requests/${first!.headers.get('x-request-id')}/prompt`
    const { body } = await gateway.call('GET', path, undefined, AS_ADMIN)
    expect(body.data.request.messages[0].content).to.equal(text)
    const evaluated = await gateway.call('POST', '/admin/what-if', { file: {} }, AS_ADMIN)
    expect(evaluated.body.data.reproduced, JSON.stringify(evaluated.body)).to.include({
      same: 10,
      different: 0,
    })
    const { rows } = await server.query(
      "select table_schema from information_schema.tables where table_name = 'prompts'",
    )
    const stored = await Promise.all(
      rows.map(({ table_schema }) => server.query(`select data from "${table_schema}".prompts`)),
    )
    const texts = stored.flatMap((result) => result.rows.map(({ data }) => data.toString('latin1')))
    expect(texts).to.have.length(10)
    expect(
      findLeaks(
        { text },
        [...texts, gateway.stderr()].map((t) => place('row or log', t)),
      ),
    ).to.deep.equal([])
    expect(await gateway.stop()).to.equal(0)
  })

  it('shares it with another gateway, and finds what any worker answered', async function () {
    this.timeout(60_000)
    const gateway = await startGatewayProcess({ LEDGER_URL: server.url, WORKERS: '2' })
    for (let n = 0; n < 10; n++) {
      const { headers } = await askFor(gateway, 'hello')
      const { status } = await gateway.call('GET', `/v1/requests/${headers.get('x-request-id')}`)
      expect(status).to.equal(200)
    }
    const { body } = await gateway.call('GET', '/v1/usage')
    expect(body.data[0].requests).to.equal(10)
    expect(await gateway.stop()).to.equal(0)
  })
})

describe('required evidence', () => {
  let server: RunningPostgres
  let gateway: GatewayProcess

  before(async function () {
    this.timeout(60_000)
    server = await requirePostgres(this)
    const CONFIG = await writeSettings(
      'ledger: { evidence: required }\nrate_limits: { requests_per_minute: { free: null, paid: null } }\n',
    )
    gateway = await startGatewayProcess({ LEDGER_URL: server.url, CONFIG })
    await gateway.call('POST', '/v1/firewall-rules', BLOCK)
  })

  after(async () => {
    await gateway?.stop()
    await server?.stop()
  })

  const recorded = async () =>
    Number((await server.query(`select count(*) as n from "${await schema()}".requests`)).rows[0].n)

  const schema = async () =>
    (await server.query("select nspname from pg_namespace where nspname like 'log\\_%'")).rows[0].nspname

  const stream = async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...chatBody('hello'), stream: true }),
    })
    return { status: response.status, text: await response.text().catch(() => 'broken off') }
  }

  it('is in the ledger when a reply ends', async () => {
    expect((await askFor(gateway, 'hello')).status).to.equal(200)
    expect(await recorded()).to.equal(1)
    const { status, text } = await stream()
    expect(status).to.equal(200)
    expect(text).to.match(/data: \[DONE\]\n\n$/)
    expect(await recorded()).to.equal(2)
  })

  it('refuses what it cannot record, and a refusal stays a refusal', async () => {
    await server.kill()
    const first = await askFor(gateway, 'hello')
    expect(first.status).to.equal(503)
    expect(first.headers.get('x-error-code')).to.equal('ledger_unavailable')
    expect((await askFor(gateway, 'a secret')).status).to.equal(403)
    expect((await stream()).status).to.equal(503)
    await server.restart()
    await gateway.wrote('request ledger available again')
    expect((await askFor(gateway, 'hello')).status).to.equal(200)
    const statuses = await server.query(`select status from "${await schema()}".requests order by id`)
    expect(statuses.rows.map(({ status }) => status).slice(2)).to.have.members([503, 403, 503, 200])
  })
})
