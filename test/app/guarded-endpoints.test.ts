import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { budgetOf, setBudget } from '../support/budgets.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { GUARDED_ENDPOINTS } from '../support/guarded-endpoints.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { firewallRule, newPolicy } from '../support/policies.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'

describe('no endpoint is a way round a guard', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let user: TestUser

  useSandboxGateway(1000, (...started) => {
    ;[sandbox, gateway] = started
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })

  for (const [name, { path, endpoint, model, body, simulated, provider = 'openai' }] of Object.entries(
    GUARDED_ENDPOINTS,
  )) {
    describe(name, () => {
      const send = (text: string, headers?: Record<string, string>) =>
        user.call('POST', path, body(text), headers)

      /** Expects a refusal with this code, and that no provider was called. */
      async function expectRefusal(status: number, code: string, headers?: Record<string, string>) {
        const before = sandbox.requests.length
        const answer = await send('This is secret', headers)
        expect(answer.status, JSON.stringify(answer.body)).to.equal(status)
        expect(answer.headers.get('x-error-code')).to.equal(code)
        if (status === 401 || status === 403) expect(answer.headers.get('x-should-retry')).to.equal('false')
        expect(sandbox.requests.length).to.equal(before)
        return answer
      }

      it('needs a key', async () => {
        await expectRefusal(401, 'invalid_api_key', { authorization: 'Bearer tr_wrong' })
      })

      it('is under the rules of the user', async () => {
        const rule = await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ action: 'block' }))
        const { body: refused } = await expectRefusal(403, 'firewall_blocked')
        expect(refused.error.meta.rule_id).to.equal(rule.body.data.id)
      })

      it('is simulated as it is decided', async () => {
        await user.call(
          'POST',
          '/v1/firewall-rules',
          firewallRuleBody({ action: 'block', pattern: 'hidden' }),
        )
        const simulate = async (text: string) => {
          const request = { model, ...body(text), endpoint: simulated }
          return (await user.call('POST', '/v1/simulate', request)).body.data
        }
        expect((await simulate('This is hidden')).outcome).to.equal('refused')
        const allowed = await simulate('This is fine')
        expect(allowed.outcome, JSON.stringify(allowed)).to.equal('allowed')
        expect(allowed.targets[0]).to.include({ provider, model })
      })

      it('sends masked texts', async () => {
        await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ replacement: 'hidden' }))
        const { status } = await send('This is secret')
        expect(status).to.equal(200)
        const received = JSON.stringify(sandbox.requests.at(-1)?.body)
        expect(received).to.contain('This is hidden').and.not.to.contain('secret')
      })

      it('is under policies, on every plan', async () => {
        await user.setPlan('free')
        const policy = await newPolicy(gateway, {
          firewall: [firewallRule()],
          applies_to: { users: [user.id] },
        })
        await expectRefusal(403, 'firewall_blocked')
        await policy.remove()
        expect((await send('This is secret')).status).to.equal(200)
      })

      it('is under routing rules', async () => {
        const other = provider === 'openai' ? 'mistral' : 'openai'
        const match_json = { contains: 'secret' }
        const action_json = { set_provider: other, add_warning: 'moved' }
        await user.call('POST', '/v1/routing-rules', routingRuleBody({ match_json, action_json }))
        const answer = await send('This is secret', { 'x-include-trace': 'true' })
        expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
        expect(answer.body.signalbox.provider).to.equal(other)
        expect(sandbox.requests.at(-1)?.path).to.match(new RegExp(`^/${other}/`))
        expect(answer.body.signalbox.rule_trace[0]).to.include({ kind: 'routing', outcome: 'applied' })
        expect(JSON.stringify(answer.body.signalbox.warnings)).to.contain('moved')
      })

      it('is under the restrictions of keys', async () => {
        const keyWith = async (restrictions: object) => {
          const keys = `/admin/users/${user.id}/keys`
          const { body } = await gateway.call('POST', keys, restrictions, AS_ADMIN)
          return { authorization: `Bearer ${body.data.key}` }
        }
        await expectRefusal(403, 'model_not_allowed', await keyWith({ models: ['claude-haiku-4-5'] }))
        await expectRefusal(403, 'endpoint_not_allowed', await keyWith({ endpoints: ['/v1/models'] }))
        const allowed = await keyWith({ models: [model], endpoints: [endpoint] })
        expect((await send('Hello', allowed)).status).to.equal(200)
      })

      it('is under budgets', async () => {
        await setBudget(gateway, budgetOf.user(user.id), { limit_usd: 1e-9 })
        await expectRefusal(402, 'budget_exceeded')
      })

      it('is under limits', async () => {
        const change = { tokens_per_minute: 1 }
        await gateway.call('PATCH', `/admin/users/${user.id}`, change, AS_ADMIN)
        await expectRefusal(429, 'token_limit_exceeded')
        const none = { tokens_per_minute: null, requests_per_minute: 1 }
        await gateway.call('PATCH', `/admin/users/${user.id}`, none, AS_ADMIN)
        await send('Hello')
        await expectRefusal(429, 'rate_limit_exceeded')
      })

      it('is recorded in the ledger, with its cost', async () => {
        const { headers, body: answer } = await send('Hello')
        expect(headers.get('x-provider')).to.equal(provider)
        const id = headers.get('x-request-id')
        const { body: record } = await user.call('GET', `/v1/requests/${id}`)
        expect(record.data).to.deep.include({
          endpoint,
          status: 200,
          provider,
          cost_usd: answer.signalbox.cost_usd,
        })
        expect(record.data.model).to.equal(model)
        expect(record.data.tokens.input).to.be.above(0)
      })
    })
  }
})
