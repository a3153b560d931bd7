import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway, startGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { type RunningPostgres, requirePostgres } from '../support/postgres.ts'
import { writeSettings } from '../support/settings-file.ts'
import { createResponse, idIn, replay } from '../support/stored-responses.ts'
import { waitUntil } from '../support/wait.ts'

const BLOCK = firewallRuleBody({ name: 'No secrets', pattern: 'secret', action: 'block' })

const askFor = (gateway: RunningGateway, content: string) =>
  gateway.call('POST', '/v1/chat/completions', chatBody(content))

describe('a gateway with its ledger in PostgreSQL', () => {
  let server: RunningPostgres

  before(async function () {
    this.timeout(180_000)
    server = await requirePostgres(this)
  })

  after(() => server?.stop())

  const metric = async (gateway: RunningGateway, name: string) => {
    const response = await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })
    const line = (await response.text()).split('\n').find((text) => text.startsWith(name))
    return Number(line?.split(' ').at(-1))
  }

  it('answers while the database is down, and records the requests when it is back', async function () {
    this.timeout(180_000)
    const gateway = await startGateway({ LEDGER_URL: server.url })
    await gateway.call('POST', '/v1/firewall-rules', BLOCK)
    const before = await askFor(gateway, 'hello')
    const path = `/v1/requests/${before.headers.get('x-request-id')}`
    // On a busy machine, the database may take longer than a read waits for it.
    const untilFound = (path: string) =>
      waitUntil(async () => (await gateway.call('GET', path)).status === 200)
    await untilFound(path)
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
      await untilFound(`/v1/requests/${headers.get('x-request-id')}`)
    expect(await metric(gateway, 'signalbox_ledger_dropped_total{reason="queue_full"}')).to.equal(0)
    await gateway.stop()
  })

  it('stores responses in it, for every gateway of the event log, and says so while it is down', async function () {
    this.timeout(180_000)
    const one = await startGatewayOnFiles({ LEDGER_URL: server.url })
    const other = await startGatewayOnFiles(
      { LEDGER_URL: server.url },
      { dataDir: one.dataDir, demoKey: one.demoKey },
    )
    const id = idIn((await createResponse(one, { input: 'Hello', stream: true })).text)
    expect((await replay(other, id, true)).status).to.equal(200)
    const next = await createResponse(other, { input: 'And now?', previous_response_id: id })
    expect(next.status).to.equal(200)
    await server.kill()
    const unstored = await createResponse(one, { input: 'Hello' })
    expect(JSON.parse(unstored.text).store).to.equal(false)
    const unreadable = await one.call('GET', `/v1/responses/${id}`)
    expect(unreadable.status).to.equal(503)
    expect(unreadable.headers.get('x-error-code')).to.equal('responses_unavailable')
    await server.restart()
    await waitUntil(
      async () => JSON.parse((await createResponse(one, { input: 'Hello' })).text).store === true,
    )
    expect((await one.call('DELETE', `/v1/responses/${id}`)).status).to.equal(200)
    expect((await replay(other, id, true)).status).to.equal(404)
    await Promise.all([one.stop(), other.stop()])
  })

  it('answers while the database hangs', async function () {
    this.timeout(180_000)
    const gateway = await startGateway({ LEDGER_URL: server.url })
    await gateway.call('POST', '/v1/firewall-rules', BLOCK)
    expect((await askFor(gateway, 'a secret')).status).to.equal(403)
    const schemas = await server.query("select nspname from pg_namespace where nspname like 'log\\_%'")
    const tables = schemas.rows.map(({ nspname }) => `"${nspname}".requests`).join(', ')
    // Held by a connection that does nothing else.
    const hung = server.query(`begin; lock table ${tables} in access exclusive mode; select pg_sleep(600)`)
    hung.catch(() => undefined)
    const locks = async () =>
      (await server.query("select 1 from pg_locks where mode = 'AccessExclusiveLock' and granted")).rows
    await waitUntil(async () => (await locks()).length > 0)
    for (const content of ['a secret', 'another secret', 'hello'])
      expect((await askFor(gateway, content)).status).to.equal(content === 'hello' ? 200 : 403)
    expect((await locks()).length, 'the tables are still locked').to.be.above(0)
    expect(await metric(gateway, 'signalbox_ledger_up')).to.equal(0)
    await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()",
    )
    await gateway.wrote('request ledger available again')
    await gateway.stop()
  })
})

describe('required evidence', () => {
  let server: RunningPostgres
  let gateway: RunningGateway

  before(async function () {
    this.timeout(180_000)
    server = await requirePostgres(this)
    const CONFIG = await writeSettings(
      'ledger: { evidence: required }\nrate_limits: { requests_per_minute: { free: null, paid: null } }\n',
    )
    gateway = await startGateway({ LEDGER_URL: server.url, CONFIG })
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

  it('refuses with 503 what it cannot record, also what it refuses otherwise', async () => {
    await server.kill()
    const first = await askFor(gateway, 'hello')
    expect(first.status).to.equal(503)
    expect(first.headers.get('x-error-code')).to.equal('ledger_unavailable')
    expect((await askFor(gateway, 'a secret')).status).to.equal(503)
    expect((await stream()).status).to.equal(503)
    await server.restart()
    await gateway.wrote('request ledger available again')
    expect((await askFor(gateway, 'hello')).status).to.equal(200)
    const statuses = await server.query(`select status from "${await schema()}".requests order by id`)
    expect(statuses.rows.map(({ status }) => status).slice(2)).to.have.members([503, 503, 503, 200])
  })
})
