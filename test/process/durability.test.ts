import { expect } from 'chai'
import { openSqliteLog } from '../../core/event-log/sqlite/sqlite-log.ts'
import { readToEnd } from '../../core/event-log/streams.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { ROUNDS } from '../support/rounds.ts'

const rule = (name: string) => firewallRuleBody({ name, pattern: name, action: 'warn' })

describe('a gateway that is killed', () => {
  it(`has every acknowledged rule after ${ROUNDS.kills} kill(s), and no partial writes`, async () => {
    const dataDir = await makeFolder()
    const acknowledged = new Map<string, number>()
    let demoKey: string | undefined

    for (let round = 0; round < ROUNDS.kills; round++) {
      const gateway = await startGatewayProcess({}, { dataDir, ...(demoKey !== undefined && { demoKey }) })
      demoKey = gateway.demoKey
      await expectAll(gateway, acknowledged)
      await killWhileWriting(gateway, round, acknowledged)
    }

    const gateway = await startGatewayOnFiles({}, { dataDir, demoKey: demoKey ?? '' })
    await expectAll(gateway, acknowledged)
    await gateway.stop()
    await expectGaplessRevisions(dataDir)
  })
})

/** Kills the gateway under four concurrent writers, after more acknowledgements in each round. */
async function killWhileWriting(gateway: GatewayProcess, round: number, acknowledged: Map<string, number>) {
  let left = 5 + (round % 7)
  let killed: Promise<unknown> | undefined
  const write = async (writer: number) => {
    for (let n = 0; killed === undefined; n++) {
      const name = `round ${round} writer ${writer} rule ${n}`
      const answer = await gateway.call('POST', '/v1/firewall-rules', rule(name)).catch(() => undefined)
      if (answer === undefined) return
      expect(answer.status).to.equal(201)
      acknowledged.set(name, answer.body.data.id)
      if (--left === 0) killed = gateway.stop('SIGKILL')
    }
  }
  await Promise.all([0, 1, 2, 3].map(write))
  await killed
}

async function expectAll(gateway: RunningGateway, acknowledged: ReadonlyMap<string, number>) {
  const { body } = await gateway.call('GET', '/v1/firewall-rules')
  const there = new Map(body.data.map(({ name, id }: { name: string; id: number }) => [name, id]))
  for (const [name, id] of acknowledged) expect(there.get(name), name).to.equal(id)
  expect(new Set(there.values()).size).to.equal(there.size)
}

async function expectGaplessRevisions(dataDir: string) {
  const log = await openSqliteLog({ directory: dataDir })
  const next = new Map<string, number>()
  for await (const record of readToEnd(log)) {
    expect(record.revision).to.equal(next.get(record.stream) ?? 0)
    next.set(record.stream, record.revision + 1)
  }
  await log.close()
}
