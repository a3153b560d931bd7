import { closeSync, existsSync, openSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { logged, readLog } from '../support/gateway-log.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'
import { waitUntil } from '../support/wait.ts'

const addUser = async ({ call }: RunningGateway, name: string) => {
  const { body } = await call('POST', '/admin/users', { name, plan: 'paid' }, AS_ADMIN)
  const { id } = body.data
  const key = (await call('POST', `/admin/users/${id}/keys`, {}, AS_ADMIN)).body.data
  return { id, keyId: key.id, key: key.key }
}

/** Creates rules until one is refused: the event log has some space left. */
async function fillLog({ call }: RunningGateway): Promise<number> {
  for (let n = 0; ; n++) {
    const pattern = `filling ${n} ${'.'.repeat(900)}`
    const { status } = await call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern, action: 'warn' }))
    if (status !== 201) return status
  }
}

describe('faults of the data disk', () => {
  let disk: SmallDisk
  let gateway: GatewayProcess

  beforeEach(async function () {
    disk = await mountSmallDisk(this, 6)
    gateway = await startGatewayProcess(await withSettings(UNLIMITED), { dataDir: disk.folder })
  })
  afterEach(async () => {
    await gateway?.stop()
    disk?.unmount()
  })

  const send = async (key: string) =>
    (
      await gateway.call('POST', '/v1/chat/completions', chatBody('Hello'), {
        authorization: `Bearer ${key}`,
      })
    ).status

  it('the data disk is full: keys are revoked and users deleted, and everything else is refused with 507', async () => {
    const [ada, eve] = [await addUser(gateway, 'Ada'), await addUser(gateway, 'Eve')]
    const reserve = path.join(disk.folder, 'events.reserve')
    expect(existsSync(reserve)).to.equal(true)
    await disk.fill()
    expect(await fillLog(gateway)).to.equal(507)
    expect([await send(ada.key), await send(eve.key)]).to.deep.equal([200, 200])

    const revoke = `/admin/keys/${ada.keyId}`
    expect((await gateway.call('DELETE', revoke, undefined, AS_ADMIN)).status).to.be.oneOf([200, 204])
    expect((await gateway.call('DELETE', `/admin/users/${eve.id}`, undefined, AS_ADMIN)).status).to.be.below(
      300,
    )
    expect([await send(ada.key), await send(eve.key), await send(gateway.demoKey)]).to.deep.equal([
      401, 401, 200,
    ])
    expect(await fillLog(gateway)).to.equal(507)

    await disk.free()
    await addUser(gateway, 'Bob')
    const { demoKey } = gateway
    expect(await gateway.stop()).to.equal(0)
    gateway = await startGatewayProcess({}, { dataDir: disk.folder, demoKey })
    expect(existsSync(reserve)).to.equal(true)
    expect(await send(ada.key)).to.equal(401)
  })

  for (const workers of [1, 2])
    it(`the data disk is full: one log line of each process says so (${workers} workers)`, async () => {
      await gateway.stop()
      const environment = { ...(await withSettings(UNLIMITED)), WORKERS: String(workers) }
      const { demoKey } = gateway
      gateway = await startGatewayProcess(environment, { dataDir: disk.folder, demoKey })
      await disk.fill()
      for (let n = 0; n < 10; n++) expect(await fillLog(gateway)).to.equal(507)
      expect(await send(demoKey)).to.equal(200)
      await logged(gateway, 'event log call failed')
      const lines = readLog(gateway).filter(({ kind }) => kind === 'disk_full')
      expect(lines.length).to.be.within(1, workers)
      expect(new Set(lines.map(({ worker }) => worker)).size).to.equal(lines.length)
      expect(JSON.stringify(lines[0]?.err)).to.contain('database or disk is full')
      expect(await gateway.stop()).to.equal(0)
    })

  it('the data disk is full: operators are removed, and the command line revokes keys', async () => {
    const ada = await addUser(gateway, 'Ada')
    const operator = { name: 'Dora', role: 'admin' }
    const { id, key } = (await gateway.call('POST', '/admin/operators', operator, AS_ADMIN)).body.data
    await disk.fill()
    expect(await fillLog(gateway)).to.equal(507)
    const removed = await gateway.call('DELETE', `/admin/operators/${id}`, undefined, AS_ADMIN)
    expect(removed.status).to.be.below(300)
    const asDora = { authorization: `Bearer ${key}` }
    expect((await gateway.call('GET', '/admin/users', undefined, asDora)).status).to.equal(401)
    const environment = { DATA_DIR: disk.folder }
    const { code, stderr } = await runCommand(['keys', 'revoke', ada.keyId], environment)
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    const added = await runCommand(['users', 'add', '--name', 'Eve', '--plan', 'paid'], environment)
    expect(added.code).to.equal(1)
    expect(added.stderr).to.contain('database or disk is full')
    await waitUntil(async () => (await send(ada.key)) === 401)
  })

  it('data and log are on a full disk: requests are served, changes get 507, and SIGTERM ends it', async () => {
    await gateway.stop()
    const stderr = openSync(path.join(disk.folder, 'log'), 'a')
    const dataDir = path.join(disk.folder, 'data')
    gateway = await startGatewayProcess(await withSettings(UNLIMITED), { dataDir, stderr })
    await disk.fill()
    expect(await fillLog(gateway)).to.equal(507)
    for (let n = 0; n < 20; n++) expect(await send(gateway.demoKey)).to.equal(200)
    expect((await gateway.call('GET', '/healthz')).status).to.equal(200)
    expect(await gateway.stop()).to.equal(0)
    closeSync(stderr)
  })

  it('a start on a full disk: requests are served, and changes once there is space', async () => {
    const { demoKey } = gateway
    await gateway.call('POST', '/v1/responses', { input: 'Hello' })
    await gateway.stop()
    await disk.fill()
    gateway = await startGatewayProcess(await withSettings(UNLIMITED), { dataDir: disk.folder, demoKey })
    expect(await send(demoKey)).to.equal(200)
    expect(await fillLog(gateway)).to.equal(507)
    await disk.free()
    await addUser(gateway, 'Ada')
  })
})

describe('faults of files', () => {
  it('a file may not grow, by a quota or `ulimit -f`: requests are served, and changes get 503', async () => {
    const prepare = 'ulimit -f 512'
    const environment = await withSettings(UNLIMITED)
    const limited = await startGatewayProcess(environment, { prepare })
    let rules = 0
    for (;;) {
      const pattern = `rule ${rules} ${'.'.repeat(900)}`
      const { status } = await limited.call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern }))
      if (status !== 201) {
        expect(status).to.equal(503)
        break
      }
      rules++
    }
    const send = async () => {
      expect((await limited.call('POST', '/v1/chat/completions', chatBody('Hello'))).status).to.equal(200)
    }
    // Until the ledger's file has reached the limit.
    await waitUntil(async () => {
      await Promise.all(Array.from({ length: 20 }, send))
      return limited.stderr().includes('request ledger unavailable')
    })
    const [line] = await logged(limited, 'request ledger unavailable; records wait in memory')
    expect(line?.reason).to.contain('disk I/O error')
    const [call] = await logged(limited, 'event log call failed')
    expect(JSON.stringify(call?.err)).to.contain('disk I/O error')
    const { dataDir, demoKey } = limited
    expect(await limited.stop()).to.equal(0)
    const again = await startGatewayProcess(environment, { dataDir, demoKey })
    const { body } = await again.call('GET', '/v1/firewall-rules')
    expect(body.data).to.have.length(rules)
    expect((await again.call('POST', '/v1/firewall-rules', firewallRuleBody())).status).to.equal(201)
    expect(await again.stop()).to.equal(0)
  })
})
