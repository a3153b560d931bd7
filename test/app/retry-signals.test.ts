import { expect } from 'chai'
import OpenAI from 'openai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { DIALECTS } from '../support/dialects.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'
import { sendRequest } from '../support/send-request.ts'

const GPT = 'gpt-4o'

describe('what the header x-should-retry says', () => {
  let _sandbox: Sandbox
  let gateway: RunningGateway
  let user: TestUser

  useSandboxGateway(1000, (...started) => {
    ;[_sandbox, gateway] = started
  })
  beforeEach(async () => {
    user = await newUser(gateway)
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ action: 'block' }))
  })

  /** A key that is restricted. */
  const newKey = async (limits: object) =>
    (await gateway.call('POST', `/admin/users/${user.id}/keys`, limits, AS_ADMIN)).body.data.key

  const refusals: readonly [
    code: string,
    status: number,
    text: string,
    key: () => string | Promise<string>,
  ][] = [
    ['invalid_api_key', 401, 'Hello', () => 'tr_wrong'],
    ['firewall_blocked', 403, 'This is secret', () => user.key],
    ['model_not_allowed', 403, 'Hello', () => newKey({ name: 'few', models: ['mistral-small-latest'] })],
    ['endpoint_not_allowed', 403, 'Hello', () => newKey({ name: 'few', endpoints: ['/v1/embeddings'] })],
  ]

  for (const [name, { url, body, streams }] of Object.entries(DIALECTS)) {
    for (const [code, status, text, key] of refusals) {
      // The models of a key narrow an automatic choice.
      if (name === 'route' && code === 'model_not_allowed') continue
      it(`keeps clients from repeating what is ${code} (${name})`, async () => {
        for (const stream of streams ? [false, true] : [false]) {
          const answer = await sendRequest(url(gateway), {
            method: 'POST',
            headers: { authorization: `Bearer ${await key()}`, 'content-type': 'application/json' },
            body: JSON.stringify({ ...body(GPT, text), ...(stream && { stream }) }),
          })
          expect(answer.status, answer.text).to.equal(status)
          expect(answer.headers.get('x-error-code')).to.equal(code)
          expect(answer.headers.get('x-should-retry')).to.equal('false')
        }
      })
    }
  }

  it('keeps clients from repeating what management endpoints refuse', async () => {
    const free = await newUser(gateway, 'free')
    const role = 'auditor'
    const operator = await gateway.call('POST', '/admin/operators', { name: 'Ada', role }, AS_ADMIN)
    const authorization = `Bearer ${operator.body.data.key}`
    const group = await gateway.call('POST', '/admin/groups', { name: `g${user.id}` }, AS_ADMIN)
    const path = `/admin/groups/${group.body.data.id}`
    const applies_to = { groups: [group.body.data.id] }
    const policy = { name: `p${user.id}`, is_enabled: true, priority: 0, applies_to }
    expect((await gateway.call('POST', '/admin/policies', policy, AS_ADMIN)).status).to.equal(201)
    const refused: readonly [string, Promise<{ status: number; headers: Headers }>][] = [
      ['plan_required', free.call('POST', '/v1/routing-rules', routingRuleBody())],
      ['role_required', gateway.call('POST', '/admin/users', { name: 'x' }, { authorization })],
      ['invalid_api_key', gateway.call('GET', '/admin/users', undefined, { authorization: 'Bearer x' })],
      ['conflict', gateway.call('DELETE', path, undefined, AS_ADMIN)],
    ]
    for (const [code, answer] of refused) {
      const { headers } = await answer
      expect(headers.get('x-error-code')).to.equal(code)
      expect(headers.get('x-should-retry'), code).to.equal('false')
    }
  })

  it('lets clients wait for the end of a rate limit of a provider', async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: user.key, maxRetries: 1 })
    // The gateway tries twice, and the client twice.
    const messages = [{ role: 'user' as const, content: 'Hi [[sandbox:status=429 retry-after=1 times=2]]' }]
    const { choices } = await client.chat.completions.create({ model: GPT, messages })
    expect(choices[0]?.message.content).to.contain('Hi')
  })

  it('keeps clients from repeating a request whose provider does not say when its limit ends', async () => {
    const messages = [{ role: 'user', content: 'Hi [[sandbox:status=429]]' }]
    const { status, headers } = await user.call('POST', '/v1/chat/completions', { model: GPT, messages })
    expect(status).to.equal(429)
    expect(headers.get('x-should-retry')).to.equal('false')
  })
})
