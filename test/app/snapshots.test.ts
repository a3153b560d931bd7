import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { startGatewayOnFiles } from '../support/gateway.ts'
import { listSnapshots, patternsOf } from '../support/rule-patterns.ts'

describe('a gateway that takes snapshots', () => {
  it('starts from the whole log when the newest snapshot is damaged, with a warning', async () => {
    const first = await startGatewayOnFiles()
    const { dataDir, demoKey } = first
    expect((await first.call('POST', '/v1/firewall-rules', rule('kept'))).status).to.equal(201)
    await first.stop()
    const [name] = await listSnapshots(dataDir)
    const file = path.join(dataDir, 'snapshots', name ?? '')
    const text = await readFile(file, 'utf8')
    expect(text).to.contain('"pattern":"kept"')
    await writeFile(file, text.replace('"pattern":"kept"', '"pattern":"lost"'))

    const second = await startGatewayOnFiles({}, { dataDir, demoKey })
    expect(await patternsOf(second)).to.deep.equal(['kept'])
    await second.stop()
    expect(second.stderr()).to.contain('snapshot skipped')
  })

  it('reads only the events after its snapshot', async () => {
    const first = await startGatewayOnFiles()
    const { dataDir, demoKey } = first
    await first.call('POST', '/v1/firewall-rules', rule('before'))
    await first.stop()
    const before = await listSnapshots(dataDir)
    const second = await startGatewayOnFiles({}, { dataDir, demoKey })
    expect(await patternsOf(second)).to.deep.equal(['before'])
    await second.stop()

    expect(second.stderr()).not.to.contain('snapshot written')
    expect(await listSnapshots(dataDir)).to.deep.equal(before)
  })
})

const rule = (pattern: string) => firewallRuleBody({ name: pattern, pattern, action: 'warn' })
