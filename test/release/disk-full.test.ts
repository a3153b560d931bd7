import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { patternsOf } from '../support/rule-patterns.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'

describe('a gateway whose disk is full', () => {
  let disk: SmallDisk
  let gateway: GatewayProcess

  before(async function () {
    disk = await mountSmallDisk(this, 6)
    const settings = await withSettings(`${UNLIMITED}snapshots: { every_events: 5 }`)
    gateway = await startGatewayProcess(settings, { dataDir: disk.folder })
  })

  after(async () => {
    await gateway?.stop()
    disk?.unmount()
  })

  it('refuses changes with 507, serves everything else, and accepts changes once there is space', async () => {
    expect((await create('before')).status).to.equal(201)
    await disk.fill()
    const refused = await createUntilRefused()
    expect(refused.status).to.equal(507)
    expect(refused.body.error.message).to.contain('no disk space left')
    const kept = await patternsOf(gateway)

    const body = { messages: [{ role: 'user', content: 'hello' }] }
    expect((await gateway.call('POST', '/v1/chat/completions', body)).status).to.equal(200)
    expect((await gateway.call('GET', '/readyz')).status).to.equal(200)
    expect((await create(`again ${'.'.repeat(900)}`)).status).to.equal(507)
    expect(await patternsOf(gateway)).to.deep.equal(kept)

    await disk.free()
    expect((await create('after')).status).to.equal(201)
    expect(await patternsOf(gateway)).to.deep.equal([...kept, 'after'])
    const { code, stderr } = await runCommand(['log', 'verify'], { DATA_DIR: disk.folder })
    expect(stderr).to.equal('')
    expect(code).to.equal(0)
  })

  it('keeps its rules when it is killed while the disk is full', async () => {
    const kept = await patternsOf(gateway)
    await disk.fill()
    await createUntilRefused()
    const { demoKey } = gateway
    const seen = await patternsOf(gateway)
    await gateway.stop('SIGKILL')
    await disk.free()
    gateway = await startGatewayProcess({}, { dataDir: disk.folder, demoKey })

    expect(seen).to.include.members(kept)
    expect(await patternsOf(gateway)).to.deep.equal(seen)
    expect((await create('afterwards')).status).to.equal(201)
  })

  it('exits with 0 on SIGTERM while the disk is full', async () => {
    await expectGracefulStop()
    await disk.free()
    const { demoKey } = gateway
    gateway = await startGatewayProcess({ WORKERS: '2' }, { dataDir: disk.folder, demoKey })
    await expectGracefulStop()
  })

  async function expectGracefulStop(): Promise<void> {
    expect((await create('before')).status).to.equal(201)
    await gateway.call('POST', '/v1/responses', { input: 'hello' })
    await disk.fill()
    await createUntilRefused()
    await gateway.call('POST', '/v1/responses', { input: 'hello' })
    expect(await gateway.stop(), gateway.stderr()).to.equal(0)
    expect(gateway.stderr()).not.to.contain('"level":60')
  }

  const create = (pattern: string) => {
    return gateway.call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern, action: 'warn' }))
  }

  /** The event log has reserved some space, so the first changes may succeed. */
  async function createUntilRefused() {
    for (let n = 0; ; n++) {
      const answer = await create(`filling ${n} ${'.'.repeat(900)}`)
      if (answer.status !== 201) return answer
    }
  }
})
