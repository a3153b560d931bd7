import { expect } from 'chai'
import type { ChatRequest, Message, ReasoningData } from '../../../../core/contract/chat.ts'
import { toChatReasoning, withOwnReasoning } from '../../../../providers/shared/own-reasoning.ts'

const ACME = { id: 'acme', model: 'loco-1', format: 'openai', takesReasoning: true } as const
const DATA: readonly ReasoningData[] = [
  { provider: 'openai', openai: { encrypted_content: 'x' } },
  { provider: 'acme', openai: { encrypted_content: 'y' } },
  { provider: 'anthropic', model: 'claude-1', anthropic: { type: 'thinking' } },
  { provider: 'acme', chat: { field: 'reasoning' } },
]

function assistant(fields: Partial<Message>): ChatRequest {
  return {
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, ...fields },
    ],
  }
}

function dataFor(reader: Parameters<typeof withOwnReasoning>[1]): unknown {
  return withOwnReasoning(assistant({ reasoning_data: DATA }), reader).request.messages[1]?.reasoning_data
}

describe('the reasoning that a provider can read', () => {
  it('is its own', () => {
    expect(dataFor(ACME)).to.deep.equal([DATA[1], DATA[3]])
    expect(dataFor({ ...ACME, id: 'openai' })).to.deep.equal([DATA[0]])
    expect(dataFor({ ...ACME, format: 'gemini' })).to.equal(undefined)
  })

  it("is that of the same model in Anthropic's format, at any provider", () => {
    const bedrock = { ...ACME, id: 'bedrock', format: 'anthropic' }
    expect(dataFor({ ...bedrock, model: 'claude-1' })).to.deep.equal([DATA[2]])
    expect(dataFor({ ...bedrock, model: 'claude-2' })).to.equal(undefined)
  })

  it('is left out with a warning only if the reply continues it', () => {
    const reader = { ...ACME, format: 'gemini' }
    const request = assistant({ reasoning_data: DATA })
    expect(withOwnReasoning(request, reader).omitted).to.deep.equal(['reasoning in messages'])
    const messages = [...request.messages, { role: 'user' as const, content: 'And?' }]
    expect(withOwnReasoning({ messages }, reader).omitted).to.deep.equal([])
  })

  it('is no text for providers that refuse it, and the same request for others', () => {
    const request = assistant({ reasoning_content: 'hm', reasoning: 'hm', reasoning_details: [] })
    expect(withOwnReasoning(request, ACME).request).to.equal(request)
    expect(withOwnReasoning(request, { ...ACME, takesReasoning: false }).request.messages[1]).to.deep.equal({
      role: 'assistant',
      content: null,
    })
  })

  it('is blank for calls whose provider requires it', () => {
    const reader = { ...ACME, takesReasoning: 'required' } as const
    const tool_calls = [{ id: 'a', function: { name: 'look', arguments: '{}' } }]
    const filled = withOwnReasoning(assistant({ tool_calls }), reader).request.messages[1]
    expect(filled?.reasoning_content).to.equal(' ')
    for (const fields of [{ content: 'Hello' }, { tool_calls, reasoning: 'hm' }]) {
      const request = assistant(fields)
      expect(withOwnReasoning(request, reader).request).to.equal(request)
    }
  })

  it('has the fields in which a compatible provider wrote it, and no others', () => {
    const reasoning_details = [{ type: 'reasoning.text', text: 'hm', signature: 's' }]
    const chat = { field: 'reasoning', reasoning_details, role: 'system' }
    const message: Message = {
      ...{ role: 'assistant', content: 'Hi', reasoning_content: 'hm' },
      reasoning_data: [{ provider: 'acme', chat }],
    }
    expect(toChatReasoning(message)).to.deep.equal({
      ...{ role: 'assistant', content: 'Hi', reasoning: 'hm', reasoning_details },
    })
  })

  it('are no options of OpenAI for others', () => {
    const request = { ...assistant({}), extra_content: { openai: { summary: 'auto' } } }
    expect(withOwnReasoning(request, ACME).request).to.equal(request)
    expect(withOwnReasoning(request, { ...ACME, format: 'gemini' }).request).not.to.have.property(
      'extra_content',
    )
  })
})
