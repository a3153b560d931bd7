import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { makeFolder, type RunningGateway, runSignalbox, startGateway } from '../support/gateway.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

describe('a gateway that takes snapshots', () => {
  it('has every acknowledged rule after it was killed while taking one, 10 times over', async function () {
    this.timeout(120_000)
    const settings = await withSettings(`${UNLIMITED}snapshots: { every_events: 1 }`)
    const dataDir = await makeFolder()
    const acknowledged = new Set<string>()
    let demoKey: string | undefined
    for (let round = 0; round < 10; round++) {
      const gateway = await startGateway(settings, { dataDir, ...(demoKey !== undefined && { demoKey }) })
      demoKey = gateway.demoKey
      expect(await patternsOf(gateway)).to.include.members([...acknowledged])
      await killWhileWriting(gateway, round, acknowledged)
    }
    const gateway = await startGateway(settings, { dataDir, demoKey: demoKey ?? '' })
    expect(await patternsOf(gateway)).to.include.members([...acknowledged])
    // The one that was killed last may not have come to removing the oldest. The next snapshot does, and there is none without a change.
    expect((await gateway.call('POST', '/v1/firewall-rules', rule('the last'))).status).to.equal(201)
    await gateway.stop()

    expect(await snapshotsIn(dataDir)).to.have.length(2)
    const { code, stdout, stderr } = await runSignalbox(['log', 'verify'], { DATA_DIR: dataDir })
    expect(stderr).to.equal('')
    expect(stdout.match(/matches the events/g)).to.have.length(2)
    expect(code).to.equal(0)
  })

  it('starts with the whole log when the newest snapshot is damaged, and says so', async () => {
    const first = await startGateway()
    const { dataDir, demoKey } = first
    expect((await first.call('POST', '/v1/firewall-rules', rule('kept'))).status).to.equal(201)
    await first.stop()
    const [name] = await snapshotsIn(dataDir)
    const file = path.join(dataDir, 'snapshots', name ?? '')
    const text = await readFile(file, 'utf8')
    expect(text).to.contain('"pattern":"kept"')
    await writeFile(file, text.replace('"pattern":"kept"', '"pattern":"lost"'))

    const second = await startGateway({}, { dataDir, demoKey })
    expect(await patternsOf(second)).to.deep.equal(['kept'])
    await second.stop()
    expect(second.stderr()).to.contain('snapshot skipped')
  })

  it('reads only what came after its snapshot', async () => {
    const first = await startGateway()
    const { dataDir, demoKey } = first
    await first.call('POST', '/v1/firewall-rules', rule('before'))
    await first.stop()
    const before = await snapshotsIn(dataDir)
    const second = await startGateway({}, { dataDir, demoKey })
    expect(await patternsOf(second)).to.deep.equal(['before'])
    await second.stop()

    expect(second.stderr()).not.to.contain('snapshot written')
    expect(await snapshotsIn(dataDir)).to.deep.equal(before)
  })
})

/** Four writers at once; the kill comes after a number of acknowledgements that differs by round. */
async function killWhileWriting(
  gateway: RunningGateway,
  round: number,
  acknowledged: Set<string>,
): Promise<void> {
  let left = 10 + 3 * round
  let killed: Promise<unknown> | undefined
  const write = async (writer: number) => {
    for (let n = 0; killed === undefined; n++) {
      const pattern = `round ${round} writer ${writer} rule ${n}`
      const answer = await gateway.call('POST', '/v1/firewall-rules', rule(pattern)).catch(() => undefined)
      if (answer === undefined) return
      expect(answer.status).to.equal(201)
      acknowledged.add(pattern)
      if (--left === 0) killed = gateway.stop('SIGKILL')
    }
  }
  await Promise.all([0, 1, 2, 3].map(write))
  await killed
}

const rule = (pattern: string) => ({
  name: pattern,
  is_enabled: true,
  scope: 'prompt',
  type: 'substring',
  pattern,
  action: 'warn',
  priority: 0,
})

async function patternsOf(gateway: RunningGateway): Promise<string[]> {
  const { body } = await gateway.call('GET', '/v1/firewall-rules')
  return body.data.map(({ pattern }: { pattern: string }) => pattern)
}

async function snapshotsIn(dataDir: string): Promise<string[]> {
  const names = await readdir(path.join(dataDir, 'snapshots'))
  return names.filter((name) => name.endsWith('.snapshot'))
}
