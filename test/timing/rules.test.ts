import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'

describe('evaluating slow patterns', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  it('does not delay other requests, whatever pattern and text', async () => {
    const evil = [
      '(a+)+$',
      '(?=x?)(a+)+$',
      '(a|a)*b(?!c)',
      '((a{1,50}){1,50}){1,50}',
      '(.*)*\\1x',
      'a[ab]{900}c',
    ]
    for (const pattern of evil) {
      await gateway.call(
        'POST',
        '/v1/firewall-rules',
        firewallRuleBody({ type: 'regex', pattern, action: 'warn' }),
      )
    }
    const slow = gateway.call('POST', '/v1/chat/completions', chatBody(`${'a'.repeat(100_000)}!`))
    const begun = performance.now()
    // Served meanwhile, one after the other.
    for (let n = 0; n < 20; n++) expect((await gateway.call('GET', '/healthz')).status).to.equal(200)
    expect(performance.now() - begun).to.be.below(2000)
    expect((await slow).status).to.equal(200)
  })
})
