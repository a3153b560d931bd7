import { expect } from 'chai'
import { firewallRule } from '../../../support/rules.ts'
import { inspectToolText } from '../../../support/tool-firewall.ts'

const mask = firewallRule({ pattern: 'secret', replacement: '***' })
const block = firewallRule({ pattern: 'forbidden', action: 'block' })

describe('firewall rules for tools', () => {
  it('mask the strings and keys of arguments in their own text', async () => {
    const json = '{ "a\\u0062": "a \\u0073ecret",\n "secret": [1.0, 12345678901234567890, "x"] }'
    const { json: masked, trace } = await inspectToolText('tool_call', json, { rules: [mask] })
    expect(masked).to.equal('{ "a\\u0062": "a ***",\n "***": [1.0, 12345678901234567890, "x"] }')
    expect(trace).to.deep.equal([
      {
        kind: 'firewall',
        rule_id: 1,
        name: 'A rule',
        action: 'mask',
        outcome: 'applied',
        scope: 'tool_call',
      },
    ])
  })

  it('block with 403, and record why', async () => {
    const { error, trace } = await inspectToolText('tool_call', '{"a":["forbidden"]}', { rules: [block] })
    expect(error?.message).to.equal('Tool call blocked by firewall rule "A rule".')
    expect([error?.status, error?.code, error?.details?.meta]).to.deep.equal([
      403,
      'firewall_blocked',
      { rule_id: 1 },
    ])
    expect(trace).to.have.length(1)
  })

  it('warn with the scope', async () => {
    const rules = [firewallRule({ pattern: 'odd', action: 'warn' })]
    const { json, warnings } = await inspectToolText('tool_call', '{"a":"odd"}', { rules })
    expect(json).to.equal('{"a":"odd"}')
    expect(warnings).to.deep.equal([
      { code: 'firewall', message: 'Firewall rule "A rule" triggered.', scope: 'tool_call' },
    ])
  })

  it('apply those of policies first', async () => {
    const { error } = await inspectToolText('tool_call', '{"a":"forbidden"}', {
      rules: [block],
      policies: [[block]],
    })
    expect(error?.message).to.equal('Tool call blocked by firewall rule "A rule" of policy "P1".')
  })
})
