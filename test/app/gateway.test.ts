import { once } from 'node:events'
import { request } from 'node:http'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { ADMIN_KEY, startGateway } from '../support/gateway.ts'
import { withSettings } from '../support/settings.ts'

describe('the gateway', () => {
  it('is alive and ready', async () => {
    const gateway = await startGateway()
    expect((await gateway.call('GET', '/healthz')).status).to.equal(200)
    expect((await gateway.call('GET', '/readyz')).status).to.equal(200)
    await gateway.stop()
  })

  it('does not use the sandbox when a provider key is configured', async () => {
    const gateway = await startGateway({
      OPENAI_API_KEY: 'sk-test',
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
    })
    expect(gateway.stderr()).not.to.contain('sandbox')
    await gateway.stop()
  })

  it('logs requests without keys and texts', async () => {
    const gateway = await startGateway()
    await gateway.call('POST', '/v1/chat/completions', chatBody('a very private sentence'))
    await gateway.call('POST', '/v1/chat/completions', chatBody('another private one [[sandbox:status=500]]'))
    await gateway.call('POST', '/v1/firewall-rules', { name: 'private rule' })
    await gateway.stop()
    const log = gateway
      .stderr()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .join('\n')
    expect(log).to.contain('/v1/chat/completions')
    expect(log).not.to.contain('private')
    expect(log).not.to.contain(gateway.demoKey)
    expect(log).not.to.contain(ADMIN_KEY)
  })

  it('refuses a body over the limit with 413', async () => {
    const gateway = await startGateway(await withSettings('limits: { body_bytes: 2000 }'))
    const { status, body: answer } = await gateway.call(
      'POST',
      '/v1/chat/completions',
      chatBody('x'.repeat(3000)),
    )
    expect(status).to.equal(413)
    expect(answer.error.message).to.contain('2000')
    await gateway.stop()
  })

  it('finishes the request on a kept-alive connection when it stops', async () => {
    const gateway = await startGateway()
    const call = request(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.demoKey}`,
        'content-type': 'application/json',
        connection: 'keep-alive',
      },
    })
    call.end(JSON.stringify(chatBody('[[sandbox:first-byte=300]]')))
    await once(call, 'socket')
    await gateway.call('GET', '/healthz')
    const [[response]] = await Promise.all([once(call, 'response'), gateway.stop()])
    expect(response.statusCode).to.equal(200)
    response.resume()
  })
})
