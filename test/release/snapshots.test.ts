import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { startGatewayOnFiles } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { ROUNDS } from '../support/rounds.ts'
import { listSnapshots, patternsOf } from '../support/rule-patterns.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

describe('a gateway that is killed while it takes a snapshot', () => {
  it(`has every acknowledged rule after ${ROUNDS.snapshotKills} kill(s) while it takes a snapshot`, async () => {
    const settings = await withSettings(`${UNLIMITED}snapshots: { every_events: 1 }`)
    const dataDir = await makeFolder()
    const acknowledged = new Set<string>()
    let demoKey: string | undefined
    for (let round = 0; round < ROUNDS.snapshotKills; round++) {
      const gateway = await startGatewayProcess(settings, {
        dataDir,
        ...(demoKey !== undefined && { demoKey }),
      })
      demoKey = gateway.demoKey
      expect(await patternsOf(gateway)).to.include.members([...acknowledged])
      await killWhileWriting(gateway, round, acknowledged)
    }
    const gateway = await startGatewayOnFiles(settings, { dataDir, demoKey: demoKey ?? '' })
    expect(await patternsOf(gateway)).to.include.members([...acknowledged])
    // The killed gateway may not have removed the oldest snapshot. The next snapshot does.
    expect((await gateway.call('POST', '/v1/firewall-rules', rule('the last'))).status).to.equal(201)
    await gateway.stop()

    expect(await listSnapshots(dataDir)).to.have.length(2)
    const { code, stdout, stderr } = await runCommand(['log', 'verify'], { DATA_DIR: dataDir })
    expect(stderr).to.equal('')
    expect(stdout.match(/matches the events/g)).to.have.length(2)
    expect(code).to.equal(0)
  })
})

/** Kills the gateway under four concurrent writers, after more acknowledgements in each round. */
async function killWhileWriting(
  gateway: GatewayProcess,
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

const rule = (pattern: string) => firewallRuleBody({ name: pattern, pattern, action: 'warn' })
