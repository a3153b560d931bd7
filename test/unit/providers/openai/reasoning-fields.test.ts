import { expect } from 'chai'
import type { ReplyPart } from '../../../../core/contract/index.ts'
import { createOpenAiStreamReader, parseOpenAiReply } from '../../../../providers/openai/responses-reply.ts'

const CALL = { index: 0, id: 'call_1', function: { name: 'look', arguments: '{}' } }
const CHAT = {
  field: 'reasoning',
  reasoning_details: [
    { type: 'reasoning.text', index: 0, text: 'First look.', signature: 's', format: 'x' },
    { type: 'reasoning.encrypted', index: 1, data: 'abcdef' },
  ],
}

function isReasoning({ type }: ReplyPart): boolean {
  return type === 'reasoning' || type === 'extra'
}

describe("the reasoning of OpenAI's format, as newer vLLM, Ollama and OpenRouter write it", () => {
  it('is read from a whole reply', () => {
    const message = { reasoning: 'First look.', ...CHAT, tool_calls: [CALL] }
    const { parts } = parseOpenAiReply({
      choices: [{ index: 0, message: { ...message, field: undefined }, finish_reason: 'tool_calls' }],
    })
    expect(parts.filter(isReasoning)).to.deep.equal([
      { type: 'reasoning', text: 'First look.' },
      { type: 'extra', place: 'block', content: { chat: CHAT } },
    ])
  })

  it('is read from a stream, where its details come in pieces', () => {
    const deltas = [
      { reasoning: 'First ', reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'First ' }] },
      {
        reasoning: 'look.',
        reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'look.', signature: 's', format: 'x' }],
      },
      { reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'abc' }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'def' }] },
      { content: 'Well.' },
      { tool_calls: [CALL] },
    ]
    const reader = createOpenAiStreamReader()
    const parts = deltas.flatMap((delta) =>
      reader
        .read({ event: '', data: JSON.stringify({ choices: [{ index: 0, delta }] }) })
        .flatMap((event) => event.parts),
    )
    expect(parts.map(({ type }) => type)).to.deep.equal([
      ...['start', 'reasoning', 'reasoning', 'extra', 'text', 'tool-start'],
    ])
    expect(parts[3]).to.deep.equal({ type: 'extra', place: 'block', content: { chat: CHAT } })
  })

  it('is only text in the field reasoning_content', () => {
    const message = { reasoning_content: 'hm', reasoning: 'hm', content: 'Hi' }
    const { parts } = parseOpenAiReply({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
    expect(parts.filter(isReasoning)).to.deep.equal([{ type: 'reasoning', text: 'hm' }])
  })
})
