import { readdir, truncate } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { DAMAGES, zeroPages } from '../support/damage.ts'
import { copyFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { readLog } from '../support/gateway-log.ts'
import { patternsOf } from '../support/rule-patterns.ts'
import { createResponse, idIn, replay } from '../support/stored-responses.ts'
import { waitUntil } from '../support/wait.ts'

const SET_ASIDE = 'damaged file set aside; continuing with an empty one'

describe('a gateway whose data folder has a damaged file', () => {
  let original: string
  let demoKey: string
  let storedId: string
  let gateway: RunningGateway | undefined

  before(async () => {
    const first = await startGatewayOnFiles()
    original = first.dataDir
    demoKey = first.demoKey
    const rule = firewallRuleBody({ pattern: 'kept', action: 'warn' })
    expect((await first.call('POST', '/v1/firewall-rules', rule)).status).to.equal(201)
    storedId = idIn((await createResponse(first, { input: 'x'.repeat(20_000) })).text)
    expect(await listRequests(first)).to.have.length(1)
    await first.stop()
  })

  afterEach(() => gateway?.stop())

  const listRequests = async ({ call }: RunningGateway) => (await call('GET', '/v1/requests')).body?.data
  const startOn = async (dataDir: string) => {
    gateway = await startGatewayOnFiles({}, { dataDir, demoKey })
    return gateway
  }

  /** Expects that the probe, the metric and the log name one file that was set aside. */
  async function expectSetAside(gateway: RunningGateway, name: string): Promise<void> {
    const pattern = new RegExp(`^${name}-damaged-[^.]+\\.db$`)
    const aside = (await readdir(gateway.dataDir)).filter((file) => pattern.test(file))
    expect(aside).to.have.length(1)
    const { status, body } = await gateway.call('GET', '/readyz')
    expect(status).to.equal(200)
    expect(body.damaged_files).to.deep.equal(aside)
    const metrics = await (await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })).text()
    expect(metrics).to.match(/^signalbox_damaged_files 1$/m)
    const lines = readLog(gateway).filter(({ msg }) => msg === SET_ASIDE)
    expect(lines).to.have.length(1)
    expect(lines[0]?.file).to.equal(path.join(gateway.dataDir, `${name}.db`))
    expect(lines[0]?.movedTo).to.equal(path.join(gateway.dataDir, String(aside[0])))
    expect(lines[0]?.reason).to.be.a('string')
  }

  for (const [kind, damage] of Object.entries(DAMAGES)) {
    it(`sets ledger.db ${kind} aside, and records new requests and responses`, async () => {
      const dataDir = await copyFolder(original)
      await damage(path.join(dataDir, 'ledger.db'))
      const gateway = await startOn(dataDir)

      expect((await replay(gateway, storedId, false)).status).to.equal(404)
      const { status, text } = await createResponse(gateway, { input: 'Hello' })
      expect(status).to.equal(200)
      expect((await replay(gateway, idIn(text), false)).status).to.equal(200)
      expect(await listRequests(gateway)).to.have.length(1)
      expect(await patternsOf(gateway)).to.deep.equal(['kept'])
      await expectSetAside(gateway, 'ledger')
    })
  }

  it('starts on an empty ledger.db', async () => {
    const dataDir = await copyFolder(original)
    await truncate(path.join(dataDir, 'ledger.db'), 0)
    const gateway = await startOn(dataDir)

    const { text } = await createResponse(gateway, { input: 'Hello' })
    expect((await replay(gateway, idIn(text), false)).status).to.equal(200)
    expect(await listRequests(gateway)).to.have.length(1)
    expect((await gateway.call('GET', '/readyz')).body).to.not.have.property('damaged_files')
  })

  it('sets it aside when it is damaged while it runs, and goes on', async () => {
    const gateway = await startOn(await copyFolder(original))
    expect((await createResponse(gateway, { input: 'Hello' })).status).to.equal(200)
    expect(await listRequests(gateway)).to.have.length(2)
    await truncate(path.join(gateway.dataDir, 'ledger.db-wal'), 0)
    await zeroPages(path.join(gateway.dataDir, 'ledger.db'))

    const damagedFiles = async () => (await gateway.call('GET', '/readyz')).body.damaged_files
    expect((await replay(gateway, storedId, false)).status).to.equal(404)
    // SQLite finds the damage when it reads a page that it has not in memory.
    await waitUntil(async () => {
      expect((await createResponse(gateway, { input: 'Hello' })).status).to.equal(200)
      expect(await listRequests(gateway)).to.be.an('array')
      return (await damagedFiles())?.length === 1
    })
    const { text } = await createResponse(gateway, { input: 'Hello' })
    expect((await replay(gateway, idIn(text), false)).status).to.equal(200)
    const [newest] = await listRequests(gateway)
    expect(newest.x_request_id).to.equal(idIn(text).replace('resp_', 'req_'))
    expect((await damagedFiles()).map((name: string) => name.split('-')[0])).to.deep.equal(['ledger'])
    expect(readLog(gateway).filter(({ msg }) => msg === SET_ASIDE)).to.have.length(1)
  })

  it('still names what was set aside after a restart, until the file is moved away', async () => {
    const dataDir = await copyFolder(original)
    await zeroPages(path.join(dataDir, 'ledger.db'))
    const first = await startOn(dataDir)
    expect(await listRequests(first)).to.deep.equal([])
    await first.stop()
    const gateway = await startOn(dataDir)
    expect((await gateway.call('GET', '/readyz')).body.damaged_files).to.have.length(1)
  })
})
