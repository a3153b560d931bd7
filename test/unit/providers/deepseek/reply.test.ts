import { expect } from 'chai'
import type OpenAI from 'openai'
import { NATIVE } from '../../../../core/contract/native-records.ts'
import { deepseek } from '../../../../providers/deepseek/adapter.ts'

type ChatCompletion = OpenAI.Chat.Completions.ChatCompletion
type Message = OpenAI.Chat.Completions.ChatCompletionMessage & { reasoning_content?: string | null }

const completion = {
  id: 'd1',
  object: 'chat.completion',
  created: 1_795_000_000,
  model: 'deepseek-flash',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'Nine.',
        refusal: null,
        reasoning_content: 'Eight is taken.',
      } satisfies Message as Message,
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: 12,
    completion_tokens: 5,
    total_tokens: 17,
    prompt_cache_hit_tokens: 8,
    prompt_cache_miss_tokens: 4,
    completion_tokens_details: { reasoning_tokens: 2 },
  },
  system_fingerprint: 'fp_1',
} satisfies ChatCompletion & { usage: { prompt_cache_hit_tokens: number; prompt_cache_miss_tokens: number } }

describe('parsing a reply of DeepSeek', () => {
  it('returns the parts in order, with the reasoning first, and counts cached tokens', () => {
    expect(deepseek.parseReply(completion).parts).to.deep.equal([
      { type: 'start', id: 'd1', model: 'deepseek-flash' },
      { type: 'reasoning', text: 'Eight is taken.' },
      { type: 'text', text: 'Nine.' },
      { type: 'usage', usage: { input: 12, output: 5, cached: 8, reasoning: 2 } },
      { type: 'finish', reason: 'stop' },
    ])
  })

  it('keeps the native record, with reasoning_content', () => {
    expect(deepseek.parseReply(completion)[NATIVE]?.record).to.equal(completion)
  })

  it('accepts leading blank lines', () => {
    const body: unknown = JSON.parse(`\n\n\r\n${JSON.stringify(completion)}`)
    expect(deepseek.parseReply(body).parts).to.have.length(5)
  })

  for (const reason of ['stop', 'length', 'tool_calls', 'content_filter'] as const) {
    it(`keeps the finish reason ${reason}`, () => {
      expect(read(reason).parts.at(-1)).to.deep.equal({ type: 'finish', reason })
    })
  }

  it('throws for insufficient_system_resource, and allows failover', () => {
    expect(() => read('insufficient_system_resource'))
      .to.throw('insufficient_system_resource')
      .with.property('mayFailOver', true)
  })
})

function read(finish_reason: string) {
  return deepseek.parseReply({ ...completion, choices: [{ ...completion.choices[0], finish_reason }] })
}
