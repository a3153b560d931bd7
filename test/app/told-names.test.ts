import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'

/** Blocks of tools that ran at Anthropic, with a word where names are exempt elsewhere. */
const BLOCKS: Readonly<Record<string, readonly object[]>> = {
  'the name of a tool': [{ type: 'server_tool_use', id: 's', name: 'hidden', input: {} }],
  'the name of an MCP tool': [
    { type: 'mcp_tool_use', id: 's', name: 'a_hidden_b', server_name: 's', input: {} },
  ],
  'the type of a block': [{ type: 'hidden_tool_use', id: 's', name: 'web_search', input: {} }],
  'a reference to a tool': [{ type: 'tool_reference', tool_name: 'hidden' }],
  'a type within a result': [
    { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [{ type: 'hidden', title: 't' }] },
  ],
  'a name within a result': [
    { type: 'mcp_tool_result', tool_use_id: 's', content: [{ type: 'text', text: '', name: 'hidden' }] },
  ],
}

describe('names that other models than Anthropic read as text', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let user: TestUser

  useSandboxGateway(1, (...started) => {
    ;[sandbox, gateway] = started
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })

  const ask = (blocks: readonly object[]) =>
    user.call('POST', '/v1/messages', {
      model: 'gpt-4o',
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: blocks },
        { role: 'user', content: 'On' },
      ],
    })
  const sent = () => JSON.stringify(sandbox.requests.at(-1)?.body)

  for (const [place, blocks] of Object.entries(BLOCKS))
    it(`are inspected: ${place}`, async () => {
      const mask = { action: 'mask', pattern: 'hidden', replacement: 'covered' }
      const rule = (await user.call('POST', '/v1/firewall-rules', firewallRuleBody(mask))).body.data
      expect((await ask(blocks)).status).to.equal(200)
      expect(sent()).to.contain('covered').and.not.to.contain('hidden')
      await user.call('PATCH', `/v1/firewall-rules/${rule.id}`, { action: 'block' })
      expect((await ask(blocks)).status).to.equal(403)
    })

  it('are left out where they are ids', async () => {
    const content = [{ type: 'web_search_result', id: 'hidden', file_id: 'hidden', title: 'found' }]
    const result = { type: 'web_search_tool_result', tool_use_id: 's', content }
    expect((await ask([result])).status).to.equal(200)
    expect(sent()).to.contain('found').and.not.to.contain('hidden')
  })
})
