import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { scrapeUntil } from '../support/metrics.ts'

const ask = (gateway: RunningGateway, content: string) =>
  gateway.call('POST', '/v1/chat/completions', chatBody(content))

describe('metrics of durations', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  it('do not count waiting for a provider as overhead', async () => {
    await ask(gateway, 'Hello [[sandbox:first-byte=400]]')
    const { sum } = await scrapeUntil(gateway, ({ sum }) => sum('signalbox_overhead_seconds_count') === 1)
    expect(sum('gen_ai_client_operation_duration_seconds_sum')).to.be.within(0.4, 2)
    expect(sum('signalbox_overhead_seconds_sum')).to.be.within(0, 0.35)
  })
})
