import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect } from 'chai'
import { openLog } from '../../config/gateway/state.ts'
import { MAX_ROUTER_BYTES } from '../../projections/events/routers.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { trainedData, writeVersions } from '../support/routers.ts'

/** What a change may take longer behind the largest version, in milliseconds: a disk write takes as long. */
const MAX_DELAY_MS = 30

describe('the largest version of a router', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGatewayOnFiles()
  })
  after(() => gateway.stop())

  async function changeRule(): Promise<number> {
    const startedAt = performance.now()
    const { status } = await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody())
    expect(status).to.equal(201)
    return performance.now() - startedAt
  }

  it('does not hold up changes of rules, nor the event loop', async () => {
    const { dataDir } = gateway
    const weights = 'A'.repeat(MAX_ROUTER_BYTES - 1000)
    const log = await openLog({ data_dir: dataDir, eventstore_url: null })
    const usual: number[] = []
    for (let change = 0; change < 20; change++) usual.push(await changeRule())

    const behind: number[] = []
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    for (let version = 1; version <= 10; version++) {
      const data = trainedData(version, dataDir, { models: { 'gpt-4o': weights } })
      await writeVersions(dataDir, [data], log)
      behind.push(await changeRule())
    }
    delay.disable()
    await log.close()

    expect(median(behind) - median(usual), `${behind} against ${usual}`).to.be.below(MAX_DELAY_MS)
    expect(delay.percentile(99) / 1e6).to.be.below(MAX_DELAY_MS)
  })
})

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
}
