import path from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { scrape } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'

const rule = firewallRuleBody({ pattern: 'word', action: 'block' })

/** What docs/guides/install.md promises about going back to an older version. */
describe('a gateway on an event log with events of a newer version', () => {
  let gateway: RunningGateway
  let touched: string
  let untouched: string

  before(async () => {
    const first = await startGatewayOnFiles()
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
    gateway = await startGatewayOnFiles({}, { dataDir: first.dataDir, demoKey: first.demoKey })
  })
  after(() => gateway.stop())

  const call = (key: string, method: string, path: string, body?: unknown) =>
    gateway.call(method, path, body, { authorization: `Bearer ${key}` })

  it('applies the events that it can read, and counts the others', async () => {
    const chat = { messages: [{ role: 'user', content: 'a word' }] }
    for (const user of [touched, untouched])
      expect((await call(user, 'POST', '/v1/chat/completions', chat)).status).to.equal(403)

    const { sum } = await scrape(gateway)
    expect(sum('signalbox_unknown_events_total')).to.equal(2)
  })

  it('refuses changes to rules with unknown events, and accepts all others', async function () {
    this.timeout(180_000)
    const { status, body } = await call(touched, 'POST', '/v1/firewall-rules', rule)
    expect(status).to.equal(503)
    expect(body.error.message).to.be.a('string')
    expect((await call(touched, 'GET', '/v1/firewall-rules')).body.data).to.have.length(1)
    expect((await call(untouched, 'POST', '/v1/firewall-rules', rule)).status).to.equal(201)
  })

  it('lists unknown events in the audit trail, and verifies the log', async () => {
    const { body } = await call(touched, 'GET', '/v1/audit')
    expect(body.data.filter(({ kind }: { kind: string }) => kind === 'unknown')).to.have.length(2)

    const { code, stdout } = await runCommand(['log', 'verify'], { DATA_DIR: gateway.dataDir })
    expect(stdout).to.contain('1 events of a newer version were skipped: RuleShared, schema 1.')
    expect(stdout).to.contain('1 events of a newer version were skipped: FirewallRuleUpdated, schema 2.')
    expect(code).to.equal(0)
  })
})

describe('a gateway on files with the layout of a newer version', () => {
  it('does not start, and says why', async () => {
    const first = await startGatewayOnFiles()
    await first.stop()
    alter(first.dataDir, (database) => database.pragma('user_version = 99'))

    const { message } = await startGatewayOnFiles({}, first).then(
      () => expect.fail('the gateway started'),
      (error) => error,
    )
    expect(message).to.contain('was written by a newer version of Signalbox')
    expect(message).to.contain('Start that version, or restore a backup').and.not.contain('permissions')
  })
})

function alter(dataDir: string, change: (database: SqliteDatabase) => void): void {
  const database = new SqliteDatabase(path.join(dataDir, 'events.db'))
  change(database)
  database.close()
}
