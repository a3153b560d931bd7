import { expect } from 'chai'
import type OpenAI from 'openai'
import type { ReplyEvent } from '../../../../core/contract/chat.ts'
import { NATIVE } from '../../../../core/contract/native-records.ts'
import { openai } from '../../../../providers/openai/adapter.ts'
import { createSseReader } from '../../../../providers/shared/sse.ts'
import { CUTS, cutBytes } from '../../../support/cut-bytes.ts'

type Chunk = OpenAI.Chat.Completions.ChatCompletionChunk
type Choice = OpenAI.Chat.Completions.ChatCompletionChunk.Choice
type Delta = OpenAI.Chat.Completions.ChatCompletionChunk.Choice.Delta
type ToolCall = OpenAI.Chat.Completions.ChatCompletionChunk.Choice.Delta.ToolCall

const USAGE = {
  prompt_tokens: 12,
  completion_tokens: 5,
  total_tokens: 17,
  prompt_tokens_details: { cached_tokens: 0 },
} satisfies OpenAI.CompletionUsage

describe('reading a stream of OpenAI', () => {
  const text = [
    chunk({ role: 'assistant', content: '', refusal: null }),
    chunk({ content: 'Gleis ' }),
    chunk({ content: '9¾ 🚂' }),
    chunk({}, 'stop'),
    usageChunk(),
  ]

  for (const cut of CUTS) {
    it(`returns the parts in order, split every ${cut} bytes`, () => {
      expect(partsOf(readBytes(`${record(...text)}data: [DONE]\n\n`, cut))).to.deep.equal([
        { type: 'start', id: 'chatcmpl-1', model: 'gpt-4o-2024-08-06' },
        { type: 'text', text: 'Gleis ' },
        { type: 'text', text: '9¾ 🚂' },
        { type: 'finish', reason: 'stop' },
        { type: 'usage', usage: { input: 12, output: 5, cached: 0 } },
      ])
    })
  }

  it('keeps the native chunks', () => {
    expect(readBytes(record(...text)).map((event) => event[NATIVE]?.record)).to.deep.equal(text)
  })

  it('returns parallel tool calls incrementally', () => {
    const events = read(
      toolChunk({
        index: 0,
        id: 'call_a',
        type: 'function',
        function: { name: 'throw_switch', arguments: '' },
      }),
      toolChunk({ index: 0, function: { arguments: '{"to":' } }),
      toolChunk({ index: 0, function: { arguments: '"left"}' } }),
      toolChunk({
        index: 1,
        id: 'call_b',
        type: 'function',
        function: { name: 'ring', arguments: '{"a":1}' },
      }),
      chunk({}, 'tool_calls'),
    )
    expect(partsOf(events).slice(1)).to.deep.equal([
      { type: 'tool-start', index: 0, id: 'call_a', name: 'throw_switch' },
      { type: 'tool-json', index: 0, json: '{"to":' },
      { type: 'tool-json', index: 0, json: '"left"}' },
      { type: 'tool-start', index: 1, id: 'call_b', name: 'ring' },
      { type: 'tool-json', index: 1, json: '{"a":1}' },
      { type: 'finish', reason: 'tool_calls' },
    ])
  })

  it('numbers tool calls from 0 without gaps', () => {
    const events = read(
      toolChunk({ index: 3, id: 'call_a', function: { name: 'ring', arguments: '{}' } }),
      toolChunk({ index: 7, id: 'call_b', function: { name: 'ring', arguments: '{}' } }),
      chunk({}, 'tool_calls'),
    )
    expect(toolStarts(events)).to.deep.equal([
      [0, 'call_a'],
      [1, 'call_b'],
    ])
  })

  it('keeps parallel tool calls separate if all have index 0', () => {
    const events = read(
      toolChunk({ index: 0, id: 'call_a', function: { name: 'ring', arguments: '{}' } }),
      toolChunk({ index: 0, id: 'call_b', function: { name: 'ring', arguments: '{}' } }),
      chunk({}, 'tool_calls'),
    )
    expect(toolStarts(events)).to.deep.equal([
      [0, 'call_a'],
      [1, 'call_b'],
    ])
  })

  it('keeps a tool call together if its id changes', () => {
    const events = read(
      toolChunk({ index: 0, id: 'call_a', function: { name: 'ring', arguments: '' } }),
      toolChunk({ index: 0, id: 'call_x', function: { arguments: '{}' } }),
      chunk({}, 'tool_calls'),
    )
    expect(toolStarts(events)).to.deep.equal([[0, 'call_a']])
  })

  it('returns refusals and reasoning', () => {
    const reasoning: Delta & { reasoning_content: string } = { reasoning_content: 'Hm.' }
    expect(
      partsOf(read(chunk(reasoning), chunk({ refusal: 'No.' }), chunk({}, 'stop'))).slice(1, 3),
    ).to.deep.equal([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'refusal', text: 'No.' },
    ])
  })

  it('returns the usage of a chunk without choices', () => {
    const { choices, ...bare } = usageChunk()
    const usage = [{ type: 'usage', usage: { input: 12, output: 5, cached: 0 } }]
    expect(openai.createStreamReader().read(sse(usageChunk()))[0]?.parts).to.deep.equal(usage)
    expect(openai.createStreamReader().read(sse(bare))[0]?.parts).to.deep.equal(usage)
  })

  it('returns usage on the finish chunk after the finish', () => {
    const last = { ...chunk({}, 'stop'), usage: USAGE }
    expect(partsOf(read(chunk({ content: 'Hi' }), last)).map((part) => part.type)).to.deep.equal([
      'start',
      'text',
      'finish',
      'usage',
    ])
  })

  it('returns one finish if the provider repeats it', () => {
    const ends = partsOf(read(chunk({}, 'stop'), chunk({}, 'stop'))).filter((part) => part.type === 'finish')
    expect(ends).to.have.length(1)
  })

  it('returns the parts of the first of several choices, and all chunks', () => {
    const other = chunk({ content: 'other' })
    const events = read(
      chunk({ content: 'one' }),
      { ...other, choices: other.choices.map((choice) => ({ ...choice, index: 1 })) },
      chunk({}, 'stop'),
    )
    expect(partsOf(events).filter((part) => part.type === 'text')).to.deep.equal([
      { type: 'text', text: 'one' },
    ])
    expect(events).to.have.length(3)
  })

  it('accepts a stream without [DONE] after the finish', () => {
    expect(() => readBytes(record(chunk({ content: 'Hi' }), chunk({}, 'length')))).not.to.throw()
  })

  it('throws if the stream ends before the finish', () => {
    for (const bytes of ['', ': ping\n\n', record(chunk({ content: 'Hi' }))]) {
      expect(() => readBytes(bytes))
        .to.throw('ended before it was complete')
        .with.property('code', 'provider_error')
    }
  })

  for (const data of ['{"choices":[', 'null', '[]', '42', '<html>']) {
    it(`throws for the record ${data}`, () => {
      expect(() => openai.createStreamReader().read({ event: '', data }))
        .to.throw('malformed')
        .with.property('code', 'provider_error')
    })
  }

  for (const [error, code] of [
    [{ message: 'Too fast', type: 'requests', code: 'rate_limit_exceeded' }, 'provider_rate_limited'],
    [
      { message: 'No money', type: 'insufficient_quota', code: 'insufficient_quota' },
      'provider_quota_exceeded',
    ],
    [
      { message: 'Too long', type: 'invalid_request_error', code: 'context_length_exceeded' },
      'context_length_exceeded',
    ],
    [{ message: 'No key', type: 'authentication_error', code: null }, 'provider_authentication_error'],
    [{ message: 'Oops', type: 'server_error', code: null }, 'provider_error'],
    [{ message: 'Oops', code: 'constructor' }, 'provider_error'],
    [{ message: 'Upstream', code: 429 }, 'provider_rate_limited'],
    ['Oops', 'provider_error'],
  ] as const) {
    it(`throws ${code} for the error record ${JSON.stringify(error)}`, () => {
      expect(() => openai.createStreamReader().read(sse({ error })))
        .to.throw()
        .with.property('code', code)
    })
  }
})

function chunk(delta: Delta, finish_reason: Choice['finish_reason'] = null): Chunk {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_795_000_000,
    model: 'gpt-4o-2024-08-06',
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    usage: null,
  }
}

function toolChunk(call: ToolCall): Chunk {
  return chunk({ tool_calls: [call] })
}

function usageChunk(): Chunk {
  return { ...chunk({}), choices: [], usage: USAGE }
}

function record(...chunks: object[]): string {
  return chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')
}

function sse(value: unknown) {
  return { event: '', data: JSON.stringify(value) }
}

function read(...chunks: Chunk[]): ReplyEvent[] {
  return readBytes(record(...chunks))
}

function readBytes(text: string, cut = 1000): ReplyEvent[] {
  const bytes = createSseReader()
  const stream = openai.createStreamReader()
  const records = [...cutBytes(text, cut).flatMap((piece) => bytes.feed(piece)), ...bytes.end()]
  return [...records.flatMap((each) => stream.read(each)), ...stream.end()]
}

function partsOf(events: readonly ReplyEvent[]) {
  return events.flatMap((event) => event.parts)
}

function toolStarts(events: readonly ReplyEvent[]) {
  return partsOf(events).flatMap((part) => (part.type === 'tool-start' ? [[part.index, part.id]] : []))
}
