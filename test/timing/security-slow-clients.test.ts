import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { post } from '../support/streams.ts'

const SETTINGS = `${UNLIMITED}timeouts: { headers_ms: 700, request_ms: 1500, keep_alive_ms: 400, write_timeout_ms: 500 }
`

describe('a client that is slow', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway(await withSettings(SETTINGS))
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
