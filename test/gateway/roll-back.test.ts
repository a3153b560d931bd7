import path from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { ADMIN_KEY, type RunningGateway, runSignalbox, startGateway } from '../support/gateway.ts'
import { readScrape } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'

const rule = {
  name: 'a rule',
  is_enabled: true,
  scope: 'prompt',
  type: 'substring',
  pattern: 'word',
  action: 'block',
  priority: 0,
}

/** What docs/operations.md says of going back to an older version. */
describe('a gateway on a log into which a newer version has written', () => {
  let gateway: RunningGateway
  let touched: string
  let untouched: string

  before(async () => {
    const first = await startGateway()
    const users = [await newUser(first), await newUser(first)] as const
    for (const user of users)
      expect((await user.call('POST', '/v1/firewall-rules', rule)).status).to.equal(201)
    touched = (await users[0].issueKey()).key
    untouched = (await users[1].issueKey()).key
    await first.stop()
    alter(first.dataDir, (database) => {
      const add = database.prepare(
        `INSERT INTO events SELECT NULL, stream, max(revision) + 1, ?, data, replace(metadata, '"schema":1', ?)
         FROM events WHERE stream = ?`,
      )
      add.run('RuleShared', '"schema":1', `rules-${users[0].id}`)
      add.run('FirewallRuleUpdated', '"schema":2', `rules-${users[0].id}`)
    })
    gateway = await startGateway({}, { dataDir: first.dataDir, demoKey: first.demoKey })
  })
  after(() => gateway.stop())

  const call = (key: string, method: string, path: string, body?: unknown) =>
    gateway.call(method, path, body, { authorization: `Bearer ${key}` })

  it('serves everybody by what it can read, and counts what it cannot', async () => {
    const chat = { messages: [{ role: 'user', content: 'a word' }] }
    for (const user of [touched, untouched])
      expect((await call(user, 'POST', '/v1/chat/completions', chat)).status).to.equal(403)

    const headers = { authorization: `Bearer ${ADMIN_KEY}` }
    const { sum } = readScrape(await (await fetch(`${gateway.url}/metrics`, { headers })).text())
    expect(sum('signalbox_unknown_events_total')).to.equal(2)
  })

  it('refuses changes where it cannot read everything, and takes all others', async function () {
    this.timeout(30_000)
    const { status, body } = await call(touched, 'POST', '/v1/firewall-rules', rule)
    expect(status).to.equal(503)
    expect(body.error.message).to.be.a('string')
    expect((await call(touched, 'GET', '/v1/firewall-rules')).body.data).to.have.length(1)
    expect((await call(untouched, 'POST', '/v1/firewall-rules', rule)).status).to.equal(201)
  })

  it('shows what it cannot read in the audit trail, and finds nothing wrong with the log', async () => {
    const { body } = await call(touched, 'GET', '/v1/audit')
    expect(body.data.filter(({ kind }: { kind: string }) => kind === 'unknown')).to.have.length(2)

    const { code, stdout } = await runSignalbox(['log', 'verify'], { DATA_DIR: gateway.dataDir })
    expect(stdout).to.contain('1 events of a newer version were skipped: RuleShared, schema 1.')
    expect(stdout).to.contain('1 events of a newer version were skipped: FirewallRuleUpdated, schema 2.')
    expect(code).to.equal(0)
  })
})

describe('a gateway on files whose layout is of a newer version', () => {
  it('does not start, and says why', async () => {
    const first = await startGateway()
    await first.stop()
    alter(first.dataDir, (database) => database.pragma('user_version = 99'))

    const { code, stderr } = await runSignalbox(['start'], {
      DATA_DIR: first.dataDir,
      PORT: '0',
      ROUTE_PORT: '0',
    })
    expect(stderr).to.contain('was written by a newer version of Signalbox')
    expect(code).to.equal(1)
  })
})

function alter(dataDir: string, change: (database: SqliteDatabase) => void): void {
  const database = new SqliteDatabase(path.join(dataDir, 'events.db'))
  change(database)
  database.close()
}
