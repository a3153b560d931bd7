import { expect } from 'chai'
import type OpenAI from 'openai'
import type { JsonObject } from '../../../../core/contract/json.ts'
import { NATIVE } from '../../../../core/contract/native-records.ts'
import { openai } from '../../../../providers/openai/adapter.ts'

type ChatCompletion = OpenAI.Chat.Completions.ChatCompletion
type Choice = OpenAI.Chat.Completions.ChatCompletion.Choice

const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_795_000_000,
  model: 'gpt-4o-2024-08-06',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Track 9.', refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: 12,
    completion_tokens: 5,
    total_tokens: 17,
    prompt_tokens_details: { cached_tokens: 8, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 2 },
  },
  service_tier: 'default',
} satisfies ChatCompletion

describe('parsing a reply of OpenAI', () => {
  it('returns the parts in order', () => {
    expect(openai.parseReply(completion).parts).to.deep.equal([
      { type: 'start', id: 'chatcmpl-1', model: 'gpt-4o-2024-08-06' },
      { type: 'text', text: 'Track 9.' },
      { type: 'usage', usage: { input: 12, output: 5, cached: 8, reasoning: 2 } },
      { type: 'finish', reason: 'stop' },
    ])
  })

  it('adds reasoning that only the total counts, as xAI reports it', () => {
    const usage = {
      prompt_tokens: 12,
      completion_tokens: 5,
      total_tokens: 57,
      completion_tokens_details: { reasoning_tokens: 40 },
    }
    expect(openai.parseReply({ ...completion, usage }).parts[2]).to.deep.equal({
      type: 'usage',
      usage: { input: 12, output: 45, reasoning: 40 },
    })
  })

  it('keeps the native record', () => {
    expect(openai.parseReply(completion)[NATIVE]?.record).to.equal(completion)
  })

  it('returns parallel tool calls', () => {
    const tool_calls = ['left', 'right'].map((argument, n) => ({
      id: `call_${n}`,
      type: 'function' as const,
      function: { name: 'throw_switch', arguments: `{"to":"${argument}"}` },
    }))
    const parts = partsOf({
      message: { role: 'assistant', content: null, refusal: null, tool_calls },
      finish_reason: 'tool_calls',
    })
    expect(parts.slice(1, 5)).to.deep.equal([
      { type: 'tool-start', index: 0, id: 'call_0', name: 'throw_switch' },
      { type: 'tool-json', index: 0, json: '{"to":"left"}' },
      { type: 'tool-start', index: 1, id: 'call_1', name: 'throw_switch' },
      { type: 'tool-json', index: 1, json: '{"to":"right"}' },
    ])
    expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'tool_calls' })
  })

  it('keeps tool calls without ids separate', () => {
    const tool_calls = [{ function: { name: 'ring', arguments: '{}' } }, { function: { name: 'wave' } }]
    const message = { role: 'assistant', content: null, tool_calls }
    const { parts } = openai.parseReply({ ...completion, choices: [{ index: 0, message }] })
    expect(parts.filter((part) => part.type === 'tool-start')).to.deep.equal([
      { type: 'tool-start', index: 0, id: '', name: 'ring' },
      { type: 'tool-start', index: 1, id: '', name: 'wave' },
    ])
  })

  it('returns a refusal', () => {
    const parts = partsOf({ message: { role: 'assistant', content: null, refusal: 'I cannot.' } })
    expect(parts[1]).to.deep.equal({ type: 'refusal', text: 'I cannot.' })
  })

  it('returns the reasoning before the text', () => {
    const message = {
      role: 'assistant',
      content: 'Nine.',
      refusal: null,
      reasoning_content: 'Eight is taken.',
    }
    expect(
      openai.parseReply({ ...completion, choices: [{ index: 0, message }] }).parts.slice(1, 3),
    ).to.deep.equal([
      { type: 'reasoning', text: 'Eight is taken.' },
      { type: 'text', text: 'Nine.' },
    ])
  })

  it('maps deprecated and unknown finish reasons', () => {
    expect(partsOf({ finish_reason: 'function_call' }).at(-1)).to.deep.equal({
      type: 'finish',
      reason: 'tool_calls',
    })
    const unknown = { ...completion, choices: [{ ...completion.choices[0], finish_reason: 'tired' }] }
    expect(openai.parseReply(unknown).parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'stop' })
  })

  it('counts cache-write tokens', () => {
    const prompt_tokens_details = { cached_tokens: 8, cache_write_tokens: 4 }
    const usageRecord = { prompt_tokens: 12, completion_tokens: 5, prompt_tokens_details }
    const { parts } = openai.parseReply({ choices: [{ message: { content: 'Hi' } }], usage: usageRecord })
    const usage = { input: 12, output: 5, cached: 8, cacheWrite: 4 }
    expect(parts).to.deep.include({ type: 'usage', usage })
  })

  it('accepts a reply without usage', () => {
    const { usage, ...rest } = completion
    expect(openai.parseReply(rest).parts.map((part) => part.type)).to.deep.equal(['start', 'text', 'finish'])
  })

  it('returns the parts of the first of several choices', () => {
    const second: Choice = { ...completion.choices[0]!, index: 1 }
    const parts = openai.parseReply({ ...completion, choices: [second, completion.choices[0]] }).parts
    expect(parts.filter((part) => part.type === 'text')).to.have.length(1)
  })

  for (const body of [
    null,
    'text',
    [],
    {},
    { choices: null },
    { choices: [] },
    { object: 'list', data: [] },
  ]) {
    it(`rejects ${JSON.stringify(body)}`, () => {
      expect(() => openai.parseReply(body))
        .to.throw('not a chat completion')
        .with.property('code', 'provider_error')
    })
  }

  it('throws for an error in a 200 response', () => {
    const body: JsonObject = { error: { message: 'Slow down', code: 'rate_limit_exceeded' } }
    expect(() => openai.parseReply(body))
      .to.throw()
      .with.property('code', 'provider_rate_limited')
  })
})

function partsOf(choice: Partial<Choice>) {
  return openai.parseReply({ ...completion, choices: [{ ...completion.choices[0], ...choice }] }).parts
}
