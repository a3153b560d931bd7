import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'

describe('rules decide about a compaction as about the conversation', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let user: TestUser

  useSandboxGateway(10, (...started) => {
    ;[sandbox, gateway] = started
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })

  const compact = (input: unknown) => user.call('POST', '/v1/responses/compact', { model: 'gpt-4o', input })
  const turn = (text: string) => [
    { role: 'user', content: text },
    { role: 'assistant', content: 'I see.' },
  ]
  const called = (json: string, output: string) => [
    { role: 'user', content: 'Look it up' },
    { type: 'function_call', call_id: 'c1', name: 'look_up', arguments: json },
    { type: 'function_call_output', call_id: 'c1', output },
  ]
  const ESCAPED = '{"name":"\\u0068idden"}'

  it('so the firewall finds what tools got and returned, and whole texts', async () => {
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ action: 'block', pattern: 'hidden' }))
    const anchored = { action: 'block', type: 'regex', pattern: '^\\d{4}$' }
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody(anchored))
    const before = sandbox.requests.length
    for (const input of [
      called(ESCAPED, 'ok'),
      called('{}', ESCAPED),
      called('{"pin":"4711"}', 'ok'),
      turn('4711'),
    ]) {
      const { status, headers } = await compact(input)
      expect([status, headers.get('x-error-code')], JSON.stringify(input)).to.deep.equal([
        403,
        'firewall_blocked',
      ])
    }
    expect(sandbox.requests.length).to.equal(before)
    expect((await compact(called('{}', 'The PIN has four digits.'))).status).to.equal(200)
  })

  it('so masks reach the summary', async () => {
    const mask = { action: 'mask', pattern: 'hidden', replacement: 'covered' }
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody(mask))
    expect((await compact(called('{}', ESCAPED))).status).to.equal(200)
    const sent = JSON.stringify(sandbox.requests.at(-1)?.body)
    expect(sent).to.contain('covered').and.to.contain('Summarize the conversation')
    expect(sent).not.to.contain('u0068').and.not.to.contain('hidden')
  })

  it('so names of functions, which become text, are inspected', async () => {
    const named = (name: string) => [
      { role: 'user', content: 'Look it up' },
      { type: 'function_call', call_id: 'c1', name, arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'ok' },
    ]
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ action: 'block', pattern: 'hidden' }))
    const before = sandbox.requests.length
    for (const name of ['hidden', `a_${'b'.repeat(200)}_hidden_word`]) {
      const { status, headers } = await compact(named(name))
      expect([status, headers.get('x-error-code')]).to.deep.equal([403, 'firewall_blocked'])
    }
    expect(sandbox.requests.length).to.equal(before)
    const mask = { action: 'mask', pattern: 'covert', replacement: 'masked' }
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody(mask))
    expect((await compact(named('covert_name'))).status).to.equal(200)
    const sent = JSON.stringify(sandbox.requests.at(-1)?.body)
    expect(sent).to.contain('calls masked_name').and.not.to.contain('covert')
  })

  it('so routing rules see what the user said', async () => {
    const match_json = { contains: 'Paris' }
    const action_json = { set_provider: 'mistral' }
    await user.call('POST', '/v1/routing-rules', routingRuleBody({ match_json, action_json }))
    const { headers } = await compact(turn('I live in Paris'))
    expect(headers.get('x-provider')).to.equal('mistral')
    const said = [
      { role: 'user', content: 'Where?' },
      { role: 'assistant', content: 'In Paris.' },
    ]
    expect((await compact(said)).headers.get('x-provider')).to.equal('openai')
  })
})
