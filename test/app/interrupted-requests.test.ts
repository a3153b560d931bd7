import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { startEndlessProvider } from '../support/endless-provider.ts'
import { AS_ADMIN, startGateway } from '../support/gateway.ts'
import { startHoldingProvider } from '../support/holding-provider.ts'
import { openSocket } from '../support/raw-http.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { chatHead } from '../support/slow-client.ts'

const SHORT = `${UNLIMITED}timeouts: { drain_ms: 100 }\n`

const WITH_KEY = { OPENAI_API_KEY: 'sk-test' }

describe('a request that the end of the gateway interrupts', function () {
  this.timeout(60_000)

  it('is not sent to the provider if a guardrail that may fail has not answered', async () => {
    const provider = await startHoldingProvider()
    const guardrail = createServer((request) => request.resume())
    guardrail.listen(0, '127.0.0.1')
    await once(guardrail, 'listening')
    const url = `http://127.0.0.1:${(guardrail.address() as AddressInfo).port}/check`
    const options = { url, phases: ['request'], on_failure: 'allow', timeout_ms: 30_000 }
    const plugin = JSON.stringify({ use: 'guardrail-webhook', after: 'firewall', options })
    const gateway = await startGateway({
      ...(await withSettings(`${SHORT}plugins: { add: [${plugin}] }\n`)),
      ...{ ...WITH_KEY, OPENAI_BASE_URL: provider.url, GUARDRAIL_SECRET: 'a-secret-of-the-guardrail' },
    })
    const answer = gateway.call('POST', '/v1/chat/completions', chatBody('Hello'))
    await once(guardrail, 'request')
    await gateway.stop()
    const { status, headers } = await answer
    expect(status).to.equal(503)
    expect(headers.get('x-error-code')).to.equal('shutting_down')
    expect(headers.get('x-should-retry')).to.equal(null)
    expect(provider.receivedCount()).to.equal(0)
    guardrail.closeAllConnections()
    guardrail.close()
    provider.close()
  })

  it('says that clients may not repeat it if a provider may have executed it', async () => {
    const provider = await startHoldingProvider()
    const gateway = await startGateway({
      ...(await withSettings(`${SHORT}failover: { on_timeout: true }\n`)),
      ...{ ...WITH_KEY, OPENAI_BASE_URL: provider.url },
    })
    const answer = gateway.call('POST', '/v1/chat/completions', chatBody('Hello'))
    await provider.received(1)
    await gateway.stop()
    const { status, headers } = await answer
    expect(status).to.equal(503)
    expect(headers.get('x-error-code')).to.equal('shutting_down')
    expect(headers.get('x-should-retry')).to.equal('false')
    expect(provider.receivedCount()).to.equal(1)
    provider.close()
  })

  it('is recorded with its cost if its client reads nothing', async () => {
    const provider = await startEndlessProvider()
    const environment = {
      ...(await withSettings(SHORT)),
      ...{ ...WITH_KEY, OPENAI_BASE_URL: provider.url },
    }
    const first = await startGateway(environment)
    const body = JSON.stringify(chatBody('Hello', { stream: true }))
    const socket = await openSocket(first.url)
    socket.pause().write(chatHead(first, body.length) + body)
    let sent: number
    do {
      sent = provider.sent()
      await new Promise((resolve) => setTimeout(resolve, 50))
      // Until all buffers on the way are full.
    } while (sent === 0 || sent < provider.sent())
    await first.stop()
    socket.destroy()
    const second = await startGateway(environment, first)
    const { data } = (await second.call('GET', '/admin/requests', undefined, AS_ADMIN)).body
    expect(data).to.have.length(1)
    expect(data[0].tokens.output).to.be.greaterThan(1000)
    expect(data[0].cost_usd).to.be.greaterThan(0)
    await second.stop()
    provider.close()
  })
})
