import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { MODELS } from '../support/providers.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'

const tools = [{ type: 'custom', custom: { name: 'patch' } }]
const call = { id: 'call_1', type: 'custom', custom: { name: 'patch', input: 'a "b"' } }
const messages = [
  { role: 'user', content: 'Apply it' },
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'tool', tool_call_id: 'call_1', content: 'Done' },
]

describe('calls of custom tools in chat completions', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  useSandboxGateway(5, (...started) => {
    ;[sandbox, gateway] = started
  })

  const chat = (body: object) => gateway.call('POST', '/v1/chat/completions', { messages, ...body })
  const sent = () => JSON.stringify(sandbox.requests.at(-1)?.body)

  it('are sent to OpenAI as they are', async () => {
    const { status, body } = await chat({ model: 'gpt-4o', tools })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(sent()).to.contain(JSON.stringify([call]))
  })

  for (const [provider, model] of Object.entries(MODELS).filter(([id]) => id !== 'openai')) {
    it(`are calls of a function with the argument input for ${provider}`, async () => {
      const { status, body } = await chat({ model })
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body.choices[0].message.content).to.contain('The tool answered: "Done"')
      expect(sent())
        .to.contain('patch')
        .and.to.match(/input\W+a /)
    })
  }

  it('must have a function or a custom tool', async () => {
    const nameless = [{ role: 'assistant', tool_calls: [{ id: 'call_1', type: 'custom' }] }]
    const { status, body } = await chat({ model: 'gpt-4o', messages: nameless })
    expect([status, body.error.code]).to.deep.equal([400, 'missing_parameter'])
    expect(body.error.param).to.equal('messages[0].tool_calls[0].function')
  })
})
