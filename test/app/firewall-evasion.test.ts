import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { EVADABLE_PATTERNS, prose } from '../support/evasion.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'
import { ROUNDS } from '../support/rounds.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

describe('no rule can be evaded by padding', function () {
  this.timeout(600_000)
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 2 })
    gateway = await startGateway({
      ...(await withSettings(`${UNLIMITED}limits: { body_bytes: 52428800 }\n`)),
      ...providersAt(sandbox, ['openai']),
    })
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  for (const { name, pattern, secret } of EVADABLE_PATTERNS) {
    it(name, async () => {
      for (const action of ['block', 'mask']) {
        const rule = firewallRuleBody({ name, type: 'regex', pattern, action })
        const { body: made } = await gateway.call('POST', '/v1/firewall-rules', rule)
        expect(made.warnings, pattern).to.equal(undefined)
        for (const length of ROUNDS.padding) {
          for (const content of [`${prose(length)} ${secret} .`, `${secret} ${prose(length)}`]) {
            const { status, body } = await gateway.call('POST', '/v1/chat/completions', chatBody(content))
            const context = `${action} behind ${length}: ${JSON.stringify(body?.error)}`
            expect(status, context).to.equal(action === 'block' ? 403 : 200)
            if (action === 'block')
              expect(body.error.message, context).to.match(/^Request blocked by[^:]*\.$/)
            else expect(JSON.stringify(sandbox.requests.at(-1)?.body), context).not.to.contain(secret)
          }
        }
        await gateway.call('DELETE', `/v1/firewall-rules/${made.data.id}`)
      }
    })
  }
})
