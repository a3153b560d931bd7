import path from 'node:path'
import { expect } from 'chai'
import { ROOT_ACTOR } from '../../core/event-log/actor.ts'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { logged, readLog } from '../support/gateway-log.ts'
import { newOperator } from '../support/operators.ts'
import { waitUntil } from '../support/wait.ts'

const DAMAGED = 'stream of the event log damaged; the requests that depend on it are refused'
const SKIPPED = 'event of another program, or malformed, skipped in a stream of the event log'
const METADATA = JSON.stringify({ actor: ROOT_ACTOR, time: '2026-01-01T00:00:00.000000Z', schema: 1 })
const BROKEN = '{"userId":1,"ruleId"'

describe('a gateway whose embedded log others have written to', () => {
  let gateway: RunningGateway

  beforeEach(async () => {
    gateway = await startGatewayOnFiles()
    expect((await addRule('first')).status).to.equal(201)
  })
  afterEach(() => gateway.stop())

  const addRule = (pattern: string) =>
    gateway.call('POST', '/v1/firewall-rules', firewallRuleBody({ name: pattern, pattern, action: 'warn' }))
  const admin = (method: string, path: string, body?: unknown) => gateway.call(method, path, body, AS_ADMIN)
  const ask = () =>
    gateway.call('POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'hello' }] })
  const addUser = async (name: string) => (await admin('POST', '/admin/users', { name, plan: 'paid' })).status
  const skipped = async () => {
    const text = await (await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })).text()
    return Number(/^signalbox_foreign_events_total (.*)$/m.exec(text)?.[1])
  }

  /** Writes a row behind the last one of the stream, as another program would. */
  function insert(stream: string, type: string, data: string, metadata = METADATA): void {
    const database = new SqliteDatabase(path.join(gateway.dataDir, 'events.db'))
    const sql = `INSERT INTO events (stream, revision, type, data, metadata)
      SELECT @stream, 1 + coalesce(max(revision), -1), @type, @data, @metadata FROM events WHERE stream = @stream`
    database.prepare(sql).run({ stream, type, data, metadata })
    database.close()
  }

  async function restart(keepsSnapshots: boolean): Promise<void> {
    const { dataDir, demoKey } = gateway
    await gateway.stop()
    const folder = keepsSnapshots ? dataDir : await copyWithoutSnapshots(dataDir)
    gateway = await startGatewayOnFiles({}, { dataDir: folder, demoKey })
  }

  async function copyWithoutSnapshots(dataDir: string): Promise<string> {
    const folder = await makeFolder()
    const database = new SqliteDatabase(path.join(dataDir, 'events.db'))
    database.prepare('VACUUM INTO ?').run(path.join(folder, 'events.db'))
    database.close()
    return folder
  }

  it('skips and counts them where no rules depend on them, and goes on', async () => {
    insert('ids', 'IdsReserved', BROKEN)
    insert('ids', 'IdsReserved', '{"first":1,"count":1}', 'null')
    insert('log', 'LogCreated', BROKEN)
    insert('operators', 'OperatorCreated', '[]')
    insert('routers', 'RouterActivated', BROKEN)
    insert('plugin-votes:a', 'votes:Cast', BROKEN)
    insert('rules-1', 'FirewallRuleCreated', 'null')
    insert('rules-1', 'FirewallRuleCreated', '{"userId":1,"ruleId":77,"content":{}}', '{}')

    await waitUntil(async () => (await skipped()) === 8)
    for (const keepsSnapshots of [true, false]) {
      expect((await ask()).status).to.equal(200)
      expect((await addRule('behind them')).status).to.equal(201)
      expect(await addUser('Grace')).to.equal(201)
      expect((await gateway.call('GET', '/readyz')).body).to.deep.equal({
        status: 'ready',
        event_log: 'following',
      })
      await restart(keepsSnapshots)
    }
    expect(await skipped()).to.equal(8)
    const streams = readLog(gateway).filter(({ msg }) => msg === SKIPPED)
    expect(streams).to.have.length(6)
    expect((await gateway.call('GET', '/v1/firewall-rules')).body.data).to.have.length(3)

    const { code, stderr } = await runCommand(['log', 'verify'], { DATA_DIR: gateway.dataDir })
    expect(code).to.equal(1)
    expect(stderr).to.match(/Event \d+ of ids, at position \d+, is not valid JSON\./)
  })

  it('refuses the requests of a user whose rules hold one that cannot be read', async () => {
    insert('rules-1', 'FirewallRuleDeleted', BROKEN)

    await logged(gateway, DAMAGED)
    for (const keepsSnapshots of [true, false]) {
      for (const { status, headers, body } of [await ask(), await addRule('new')]) {
        expect(status).to.equal(503)
        expect(headers.get('x-error-code')).to.equal('rules_damaged')
        expect(body.error.message).to.contain('stream rules-1 of the event log holds an event that')
      }
      expect((await gateway.call('GET', '/readyz')).body.damaged_streams).to.deep.equal(['rules-1'])
      expect(await addUser('Grace')).to.equal(201)
      await restart(keepsSnapshots)
    }
    const { stderr } = await runCommand(['log', 'verify'], { DATA_DIR: gateway.dataDir })
    expect(stderr).to.match(/Event 1 of rules-1, at position \d+, is not valid JSON\./)
  })

  for (const stream of ['revocations', 'budget'])
    it(`refuses the requests of all users if ${stream} holds an event that cannot be read`, async () => {
      insert(stream, 'KeyRevoked', BROKEN)

      await logged(gateway, DAMAGED)
      for (const keepsSnapshots of [true, false]) {
        const { status, body } = await ask()
        expect(status).to.equal(503)
        expect(body.error.message).to.contain(`stream ${stream} of the event log holds an event that`)
        expect(await addUser('Grace')).to.equal(201)
        await restart(keepsSnapshots)
      }
    })

  it('refuses operators, but not root, if operators holds an event that cannot be read', async () => {
    const { headers: asDora } = await newOperator(gateway, 'admin', 'Dora')
    const list = () => gateway.call('GET', '/admin/users', undefined, asDora)
    insert('operators', 'OperatorRemoved', BROKEN)

    await logged(gateway, DAMAGED)
    for (const keepsSnapshots of [true, false]) {
      const { status, headers } = await list()
      expect([status, headers.get('x-error-code')]).to.deep.equal([503, 'rules_damaged'])
      expect((await ask()).status).to.equal(200)
      expect(await addUser('Grace')).to.equal(201)
      await restart(keepsSnapshots)
    }
  })

  it('serves again once an inserted row was made one that is skipped, whatever is behind it', async () => {
    insert('revocations', 'KeyRevoked', BROKEN)
    insert('revocations', 'KeyRevoked', '{"userId":1,"keyId":"other"}')
    await logged(gateway, DAMAGED)
    const { dataDir, demoKey } = gateway
    await gateway.stop()
    const folder = await copyWithoutSnapshots(dataDir)
    const database = new SqliteDatabase(path.join(folder, 'events.db'))
    database.prepare("UPDATE events SET data = '{}', metadata = '{}' WHERE data = ?").run(BROKEN)
    database.close()
    gateway = await startGatewayOnFiles({}, { dataDir: folder, demoKey })
    expect((await ask()).status).to.equal(200)
  })

  it('finds with log verify what is JSON, but no event', async () => {
    insert('user-9', 'UserCreated', '{"userId":9,"name":"x","plan":"paid"}', '{}')
    await waitUntil(async () => (await skipped()) === 1)

    const { stderr } = await runCommand(['log', 'verify'], { DATA_DIR: gateway.dataDir })
    expect(stderr).to.match(/Event 0 of user-9, at position \d+, is not an event of Signalbox\./)
  })
})
