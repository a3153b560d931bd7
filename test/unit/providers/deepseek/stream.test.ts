import { expect } from 'chai'
import type OpenAI from 'openai'
import type { ReplyEvent } from '../../../../core/contract/chat.ts'
import { NATIVE } from '../../../../core/contract/native-records.ts'
import { deepseek } from '../../../../providers/deepseek/adapter.ts'
import { createSseReader } from '../../../../providers/shared/sse.ts'
import { CUTS, cutBytes } from '../../../support/cut-bytes.ts'

type Chunk = OpenAI.Chat.Completions.ChatCompletionChunk
type Delta = Chunk['choices'][number]['delta'] & { reasoning_content?: string | null }

const USAGE = {
  prompt_tokens: 12,
  completion_tokens: 5,
  total_tokens: 17,
  prompt_tokens_details: { cached_tokens: 8 },
  completion_tokens_details: { reasoning_tokens: 2 },
  prompt_cache_hit_tokens: 8,
  prompt_cache_miss_tokens: 4,
} satisfies OpenAI.CompletionUsage & { prompt_cache_hit_tokens: number; prompt_cache_miss_tokens: number }

describe('reading a stream of DeepSeek', () => {
  const text = [
    chunk({ role: 'assistant', content: null, reasoning_content: '' }),
    chunk({ content: null, reasoning_content: 'Acht ist ' }),
    chunk({ content: null, reasoning_content: 'belegt 🚧' }),
    chunk({ content: 'Gleis ', reasoning_content: null }),
    chunk({ content: '9¾ 🚂', reasoning_content: null }),
    { ...chunk({ content: '' }, 'stop'), usage: USAGE },
  ]

  for (const cut of CUTS) {
    it(`returns the parts in order despite keep-alive comments, split every ${cut} bytes`, () => {
      const keepAlive = ': keep-alive\n\n'
      const records = text.map((each) => `${record(each)}${keepAlive}`).join('')
      const bytes = `${keepAlive}${keepAlive}${records}data: [DONE]\n\n`
      expect(partsOf(readBytes(bytes, cut))).to.deep.equal([
        { type: 'start', id: 'd1', model: 'deepseek-flash' },
        { type: 'reasoning', text: 'Acht ist ' },
        { type: 'reasoning', text: 'belegt 🚧' },
        { type: 'text', text: 'Gleis ' },
        { type: 'text', text: '9¾ 🚂' },
        { type: 'finish', reason: 'stop' },
        { type: 'usage', usage: { input: 12, output: 5, cached: 8, reasoning: 2 } },
      ])
    })
  }

  it('keeps the native chunks', () => {
    expect(read(...text).map((event) => event[NATIVE]?.record)).to.deep.equal(text)
  })

  it('ignores comments', () => {
    const bytes = createSseReader()
    expect(bytes.feed(new TextEncoder().encode(': keep-alive\n\n'.repeat(100)))).to.deep.equal([])
  })

  it('reads usage in a separate chunk', () => {
    const trailing = { ...chunk({}), choices: [], usage: USAGE }
    expect(partsOf(read(chunk({}, 'stop'), trailing)).map((part) => part.type)).to.deep.equal([
      'start',
      'finish',
      'usage',
    ])
  })

  it('returns tool calls after the reasoning', () => {
    const events = read(
      chunk({ role: 'assistant', content: null, reasoning_content: 'I ring.' }),
      chunk({
        tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'ring', arguments: '' } }],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"times":2}' } }] }),
      chunk({}, 'tool_calls'),
    )
    expect(partsOf(events).slice(1)).to.deep.equal([
      { type: 'reasoning', text: 'I ring.' },
      { type: 'tool-start', index: 0, id: 'call_a', name: 'ring' },
      { type: 'tool-json', index: 0, json: '{"times":2}' },
      { type: 'finish', reason: 'tool_calls' },
    ])
  })

  it('throws for insufficient_system_resource, and allows failover', () => {
    const last = { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: RESOURCE }] }
    expect(() => readBytes(record(last)))
      .to.throw(RESOURCE)
      .with.property('mayFailOver', true)
  })

  it('throws for an error record', () => {
    const error = { message: 'Busy', type: 'server_error', param: null, code: 'server_error' }
    expect(() => readBytes(record(text[0]!) + record({ error })))
      .to.throw()
      .with.property('code', 'provider_error')
  })

  it('throws if the stream ends before the finish', () => {
    for (const bytes of ['', ': keep-alive\n\n', record(chunk({ content: 'Hi' }))]) {
      expect(() => readBytes(bytes))
        .to.throw('ended before it was complete')
        .with.property('code', 'provider_error')
    }
  })
})

const RESOURCE = 'insufficient_system_resource'

function chunk(delta: Delta, finish_reason: Chunk['choices'][number]['finish_reason'] = null): Chunk {
  return {
    id: 'd1',
    object: 'chat.completion.chunk',
    created: 1_795_000_000,
    model: 'deepseek-flash',
    system_fingerprint: 'fp_1',
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  }
}

function record(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function read(...chunks: Chunk[]): ReplyEvent[] {
  return readBytes(chunks.map(record).join(''))
}

function readBytes(text: string, cut = 1000): ReplyEvent[] {
  const bytes = createSseReader()
  const stream = deepseek.createStreamReader()
  const records = [...cutBytes(text, cut).flatMap((piece) => bytes.feed(piece)), ...bytes.end()]
  return [...records.flatMap((each) => stream.read(each)), ...stream.end()]
}

function partsOf(events: readonly ReplyEvent[]) {
  return events.flatMap((event) => event.parts)
}
