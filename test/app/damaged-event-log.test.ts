import { rm } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { captureOutput } from '../support/captured-output.ts'
import { DAMAGES, zeroMiddlePage } from '../support/damage.ts'
import { copyFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { logged } from '../support/gateway-log.ts'
import { patternsOf } from '../support/rule-patterns.ts'
import { createResponse, idIn, replay } from '../support/stored-responses.ts'

const RULES = 60

describe('a gateway whose events.db is damaged', () => {
  let original: string
  let demoKey: string
  let gateway: RunningGateway | undefined

  before(async () => {
    const first = await startGatewayOnFiles()
    original = first.dataDir
    demoKey = first.demoKey
    for (let n = 0; n < RULES; n++)
      expect((await addRule(first, `${n}`.padEnd(500, '.'))).status).to.equal(201)
    await first.stop()
  })

  afterEach(async () => {
    await gateway?.stop()
    gateway = undefined
  })

  const addRule = ({ call }: RunningGateway, pattern: string) =>
    call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern, action: 'warn' }))

  async function expectDamaged(gateway: RunningGateway): Promise<void> {
    const refused = [
      await addRule(gateway, 'late'),
      await gateway.call('POST', '/admin/users', { name: 'Ada', plan: 'paid' }, AS_ADMIN),
    ]
    for (const { status, headers, body } of refused) {
      expect(status).to.equal(503)
      expect(headers.get('x-error-code')).to.equal('event_log_damaged')
      expect(headers.get('retry-after')).to.equal(null)
      expect(body.error.message).to.contain('Nothing was changed').and.to.contain('restore it from a backup')
    }
    expect((await gateway.call('GET', '/readyz')).body).to.deep.equal({
      status: 'ready',
      event_log: 'damaged',
      damaged_files: ['events.db'],
    })
    expect(await patternsOf(gateway)).to.have.length(RULES)
    expect((await gateway.call('POST', '/v1/chat/completions', chatBody('Hello'))).status).to.equal(200)
    const { text } = await createResponse(gateway, { input: 'Hello' })
    expect((await replay(gateway, idIn(text), false)).status).to.equal(200)
    const metrics = await (await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })).text()
    expect(metrics).to.match(/^signalbox_damaged_files 1$/m)
    expect(metrics).to.match(/^signalbox_event_log_followed 0$/m)
  }

  const LOGGED = 'event log damaged; changes are refused, and requests are served with the rules in memory'

  it('behind a snapshot finds the damage, refuses changes, and serves everybody with all rules', async () => {
    const dataDir = await copyFolder(original)
    await zeroMiddlePage(path.join(dataDir, 'events.db'))
    gateway = await startGatewayOnFiles({}, { dataDir, demoKey })

    const [line] = await logged(gateway, LOGGED)
    expect(line?.reason)
      .to.contain(path.join(dataDir, 'events.db'))
      .and.to.contain('Restore it from a backup')
    await expectDamaged(gateway)
    await gateway.stop()
    expect(gateway.stderr()).not.to.contain('"level":60')
  })

  it('while it runs refuses changes from the first request on that meets the damage', async () => {
    gateway = await startGatewayOnFiles({}, { dataDir: await copyFolder(original), demoKey })
    await DAMAGES['with random bytes']?.(path.join(gateway.dataDir, 'events.db'))
    const statuses = []
    do statuses.push((await addRule(gateway, `more ${statuses.length}`.padEnd(900, '.'))).status)
    while (statuses.at(-1) === 201)

    await logged(gateway, LOGGED)
    const { body } = await gateway.call('GET', '/readyz')
    expect(body.event_log).to.equal('damaged')
    expect((await gateway.call('POST', '/v1/chat/completions', chatBody('Hello'))).status).to.equal(200)
  })

  for (const [kind, damage] of Object.entries({ ...DAMAGES, 'with a zeroed page': zeroMiddlePage }))
    it(`${kind} and without a snapshot does not start, and names the file`, async () => {
      const dataDir = await copyFolder(original)
      const file = path.join(dataDir, 'events.db')
      await damage(file)
      await rm(path.join(dataDir, 'snapshots'), { recursive: true })
      const output = captureOutput()

      const started = await startGatewayOnFiles({}, { dataDir, demoKey, output }).catch((error) => error)
      expect(started).to.be.an.instanceOf(Error)
      expect(started.message).to.contain(`${file} is damaged`).and.to.contain('Restore it from a backup')
    })
})
