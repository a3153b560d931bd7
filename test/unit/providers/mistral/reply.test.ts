import { ChatCompletionResponse$inboundSchema } from '@mistralai/mistralai/models/components'
import { expect } from 'chai'
import type { ReplyPart } from '../../../../core/contract/chat.ts'
import { mistral } from '../../../../providers/mistral/adapter.ts'

const completion = {
  id: 'cmpl-1',
  object: 'chat.completion',
  created: 1_795_000_000,
  model: 'mistral-medium-2604',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', tool_calls: null, content: 'Track 9.' },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 12, total_tokens: 17, completion_tokens: 5 },
}

describe('parsing a reply of Mistral', () => {
  it('returns the parts in order, without the native record', () => {
    expect(mistral.parseReply(checked(completion))).to.deep.equal({
      parts: [
        { type: 'start', id: 'cmpl-1', model: 'mistral-medium-2604' },
        { type: 'text', text: 'Track 9.' },
        { type: 'usage', usage: { input: 12, output: 5 } },
        { type: 'finish', reason: 'stop' },
      ],
    })
  })

  it('reads a content array with thinking', () => {
    const content = [
      {
        type: 'thinking',
        thinking: [
          { type: 'text', text: 'Eight is ' },
          { type: 'text', text: 'taken.' },
        ],
        closed: true,
        signature: 'xyz',
      },
      { type: 'text', text: 'Track ' },
      { type: 'reference', reference_ids: [1] },
      { type: 'text', text: '9.' },
    ]
    expect(partsOf({ message: { role: 'assistant', content } }).slice(1, -2)).to.deep.equal([
      { type: 'reasoning', text: 'Eight is ' },
      { type: 'reasoning', text: 'taken.' },
      { type: 'text', text: 'Track ' },
      { type: 'unread', name: 'reference' },
      { type: 'text', text: '9.' },
    ])
  })

  it('returns arguments as text, even if they are an object', () => {
    const tool_calls = [
      { id: 'D681PevKs', function: { name: 'ring', arguments: { times: 2 } }, index: 0 },
      { id: 'D681PevKt', function: { name: 'wave', arguments: '{"to":"left"}' }, index: 1 },
    ]
    const parts = partsOf({
      message: { role: 'assistant', content: '', tool_calls },
      finish_reason: 'tool_calls',
    })
    expect(parts.slice(1, 5)).to.deep.equal([
      { type: 'tool-start', index: 0, id: 'D681PevKs', name: 'ring' },
      { type: 'tool-json', index: 0, json: '{"times":2}' },
      { type: 'tool-start', index: 1, id: 'D681PevKt', name: 'wave' },
      { type: 'tool-json', index: 1, json: '{"to":"left"}' },
    ])
    expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'tool_calls' })
  })

  for (const [finishReason, reason] of [
    ['length', 'length'],
    ['model_length', 'length'],
    ['tool_calls', 'tool_calls'],
    ['tired', 'stop'],
  ] as const) {
    it(`maps ${finishReason} to ${reason}`, () => {
      expect(partsOf({ finish_reason: finishReason }).at(-1)).to.deep.equal({ type: 'finish', reason })
    })
  }

  it('throws if the model failed', () => {
    expect(() => partsOf({ finish_reason: 'error' }))
      .to.throw('aborted its reply')
      .with.property('code', 'provider_error')
  })

  for (const details of [
    { prompt_tokens_details: { cached_tokens: 8 } },
    { prompt_token_details: { cached_tokens: 8 } },
    { num_cached_tokens: 8 },
    { prompt_tokens_details: null, num_cached_tokens: 8 },
  ]) {
    it(`finds cached tokens in ${JSON.stringify(details)}`, () => {
      const usage = {
        ...completion.usage,
        ...details,
        completion_tokens_details: { reasoning_tokens: 2 },
      }
      const { parts } = mistral.parseReply(checked({ ...completion, usage }))
      expect(parts.find((part) => part.type === 'usage')).to.deep.equal({
        type: 'usage',
        usage: { input: 12, output: 5, cached: 8, reasoning: 2 },
      })
    })
  }

  it('throws for an error in a 200 response', () => {
    expect(() => mistral.parseReply({ object: 'error', message: 'Oops', type: 'rate_limit_error' }))
      .to.throw()
      .with.property('code', 'provider_rate_limited')
  })

  for (const body of [null, 'text', [], {}, { choices: [] }]) {
    it(`rejects ${JSON.stringify(body)}`, () => {
      expect(() => mistral.parseReply(body))
        .to.throw('not a chat completion')
        .with.property('code', 'provider_error')
    })
  }
})

/** Returns the record after the SDK has accepted it. */
function checked(record: unknown): unknown {
  ChatCompletionResponse$inboundSchema.parse(record)
  return record
}

function partsOf(choice: object): readonly ReplyPart[] {
  const record = { ...completion, choices: [{ ...completion.choices[0], ...choice }] }
  return mistral.parseReply(checked(record)).parts
}
