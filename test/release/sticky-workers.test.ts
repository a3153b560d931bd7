import { expect } from 'chai'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { startScriptedProvider } from '../support/scripted-provider.ts'
import { withSettings } from '../support/settings.ts'
import {
  CHEAP_INPUT,
  CHEAP_OUTPUT,
  conversation,
  LONG_REPLY,
  playUsage,
  SHORT_REPLY,
  stickySettings,
} from '../support/sticky.ts'
import { connectToEach } from '../support/workers.ts'

describe('conversations with routing.sticky on two workers', function () {
  this.timeout(60_000)

  it('stay with their model on both', async () => {
    const provider = await startScriptedProvider()
    playUsage(provider)
    const settings = await withSettings(stickySettings(provider.url))
    const gateway = await startGatewayProcess({ ...settings, WORKERS: '2' })
    const [first, second] = [...(await connectToEach(gateway, 2)).values()]
    const ask = async (connection: typeof first, body: object) => {
      const answer = await connection?.call('POST', '/v1/chat/completions', { model: 'auto:cost', ...body })
      expect(answer?.status, JSON.stringify(answer?.body)).to.equal(200)
      return provider.last()?.body.model
    }
    expect(await ask(first, { ...conversation('One'), ...SHORT_REPLY })).to.equal(CHEAP_INPUT)
    expect(await ask(second, { ...conversation('One', 'Two'), ...LONG_REPLY })).to.equal(CHEAP_INPUT)
    expect(await ask(second, { ...conversation('Another'), ...LONG_REPLY })).to.equal(CHEAP_OUTPUT)
    first?.close()
    second?.close()
    await gateway.stop()
    provider.close()
  })
})
