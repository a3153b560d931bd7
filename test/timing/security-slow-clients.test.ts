import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { withSettings } from '../support/settings.ts'
import { SHORT_TIMEOUTS } from '../support/slow-client.ts'
import { post } from '../support/streams.ts'

describe('a client that is slow', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway(await withSettings(SHORT_TIMEOUTS))
  })
  after(() => gateway.stop())

  it('may receive a stream that takes longer than the request timeout', async () => {
    const body = chatBody('A slow one [[sandbox:token-delay=150]]', { stream: true })
    const response = await post(gateway, '/v1/chat/completions', body)
    const started = performance.now()
    expect(await response.text()).to.contain('[DONE]')
    expect(performance.now() - started).to.be.greaterThan(2500)
  })
})
