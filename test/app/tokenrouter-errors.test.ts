import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'

describe("errors for TokenRouter's SDK", () => {
  let gateway: RunningGateway

  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway?.stop())

  it('have the message where it reads a string, beside those for everyone', async () => {
    const { call } = await newUser(gateway)
    await call('POST', '/v1/firewall-rules', firewallRuleBody({ action: 'block' }))
    const send = (input: string, userAgent: string) =>
      call('POST', '/v1/responses', { model: 'gpt-4o', input }, { 'user-agent': userAgent })
    const { status, body } = await send('secret', 'tokenrouter-node/1.0.11')
    expect(status).to.equal(403)
    expect(body.detail).to.be.a('string').and.to.equal(body.error.message)
    for (const userAgent of ['curl/8.5.0', 'OpenAI/JS 6.49.0', 'not-tokenrouter-node/1'])
      expect((await send('secret', userAgent)).body).not.to.have.property('detail')
    const wrong = { authorization: 'Bearer tr_wrong', 'user-agent': 'tokenrouter-node/1.0.11' }
    const refused = await gateway.call('GET', '/v1/models', undefined, wrong)
    expect(refused.body.detail).to.equal(refused.body.error.message)
  })
})
