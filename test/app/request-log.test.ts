import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { waitForLines } from '../support/gateway-log.ts'
import { newUser } from '../support/new-user.ts'
import { firewallRule, newPolicy } from '../support/policies.ts'

describe('the log line of a request', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway({ LOG_LEVEL: 'info' })
  })
  after(() => gateway.stop())

  async function lineOf(headers: Headers) {
    const id = headers.get('x-request-id')
    const [line] = await waitForLines(gateway, ({ msg, requestId }) => msg === 'request' && requestId === id)
    return line
  }

  it('names the error and the rule that blocked it, and not the prompt', async () => {
    const user = await newUser(gateway)
    const own = await user.call('POST', '/v1/firewall-rules', firewallRule({ pattern: 'unsayable' }))
    const policy = await newPolicy(gateway, {
      applies_to: { users: [user.id] },
      firewall: [firewallRule({ pattern: 'forbidden' })],
    })
    for (const [content, rule] of [
      ['an unsayable word', `firewall:${own.body.data.id}`],
      ['a forbidden word', `firewall:${policy.ruleIds[0]}`],
    ] as const) {
      const messages = [{ role: 'user', content }]
      const { status, headers } = await user.call('POST', '/v1/chat/completions', { messages })
      expect(status).to.equal(403)
      const line = await lineOf(headers)
      expect(line).to.include({ status: 403, code: 'firewall_blocked', rule })
      expect(JSON.stringify(line)).not.to.contain('word')
    }
    const { headers } = await user.call('POST', '/v1/chat/completions', { messages: 1 })
    const line = await lineOf(headers)
    expect(line).to.include({ status: 400, code: 'invalid_value' })
    expect(line).not.to.have.property('rule')
  })
})
