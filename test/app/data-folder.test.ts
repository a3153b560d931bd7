import { chmod, readdir, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { startGatewayOnFiles } from '../support/gateway.ts'

const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8)

const FOLDERS = ['keys', 'snapshots', 'transparency']

describe('the data folder', () => {
  it('and all of its files are for their owner only, also those that it finds', async () => {
    const dataDir = path.join(await makeFolder(), 'data')
    const first = await startGatewayOnFiles({}, { dataDir })
    await first.stop()
    const snapshots = path.join(dataDir, 'snapshots')
    const old = path.join(snapshots, 'old.snapshot')
    await writeFile(old, '')
    for (const shared of [dataDir, snapshots]) await chmod(shared, 0o755)
    for (const file of [old, path.join(dataDir, 'events.db')]) await chmod(file, 0o644)

    const gateway = await startGatewayOnFiles({}, { dataDir, demoKey: first.demoKey })
    await gateway.call('POST', '/v1/responses', { input: 'Hello' })
    await gateway.call('POST', '/v1/chat/completions', chatBody('Hello'))
    await gateway.call('GET', '/v1/requests')
    const names = (await readdir(dataDir)).filter((name) => !FOLDERS.includes(name))
    expect(names).to.include.members(['events.db', 'ledger.db', 'log.json'])
    for (const name of names) expect(await modeOf(path.join(dataDir, name)), name).to.equal('600')
    for (const folder of [dataDir, snapshots, path.join(dataDir, 'keys')])
      expect(await modeOf(folder)).to.equal('700')
    await gateway.stop()
    for (const name of await readdir(snapshots))
      expect(await modeOf(path.join(snapshots, name)), name).to.equal('600')
  })
})
