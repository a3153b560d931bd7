import { CompletionChunk$inboundSchema } from '@mistralai/mistralai/models/components'
import { expect } from 'chai'
import type { ReplyEvent } from '../../../../core/contract/chat.ts'
import { mistral } from '../../../../providers/mistral/adapter.ts'
import { createSseReader } from '../../../../providers/shared/sse.ts'
import { CUTS, cutBytes } from '../../../support/cut-bytes.ts'

const USAGE = {
  prompt_tokens: 12,
  total_tokens: 17,
  completion_tokens: 5,
  num_cached_tokens: 4,
}

describe('reading a stream of Mistral', () => {
  const text = [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Acht ' }] }] }),
    chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'nicht.' }], closed: true }] }),
    chunk({ content: [{ type: 'text', text: 'Gleis ' }] }),
    chunk({ content: '9¾ 🚂' }),
    { ...chunk({ content: '', tool_calls: null }, 'stop'), usage: USAGE },
  ]

  for (const cut of CUTS) {
    it(`returns the parts in order, including thinking from content arrays, split every ${cut} bytes`, () => {
      expect(partsOf(readBytes(`${record(...text)}data: [DONE]\n\n`, cut))).to.deep.equal([
        { type: 'start', id: 'cmpl-1', model: 'mistral-medium-2604' },
        { type: 'reasoning', text: 'Acht ' },
        { type: 'reasoning', text: 'nicht.' },
        { type: 'text', text: 'Gleis ' },
        { type: 'text', text: '9¾ 🚂' },
        { type: 'finish', reason: 'stop' },
        { type: 'usage', usage: { input: 12, output: 5, cached: 4 } },
      ])
    })
  }

  it('returns usage on the finish chunk after the finish', () => {
    expect(partsOf(read(...text.slice(-1))).map((part) => part.type)).to.deep.equal([
      'start',
      'finish',
      'usage',
    ])
  })

  it('returns neither native chunks nor empty events', () => {
    const events = read(...text.slice(0, 1), chunk({ content: '' }), ...text.slice(-1))
    expect(events).to.have.length(2)
    for (const event of events) expect(event).to.have.all.keys('parts')
  })

  it('returns tool calls that arrive whole', () => {
    const tool_calls = [
      { id: 'D681PevKs', function: { name: 'ring', arguments: '{"times":2}' }, index: 0 },
      { id: 'D681PevKt', function: { name: 'wave', arguments: { to: 'left' } }, index: 1 },
    ]
    expect(partsOf(read(chunk({ content: '', tool_calls }, 'tool_calls'))).slice(1)).to.deep.equal([
      { type: 'tool-start', index: 0, id: 'D681PevKs', name: 'ring' },
      { type: 'tool-json', index: 0, json: '{"times":2}' },
      { type: 'tool-start', index: 1, id: 'D681PevKt', name: 'wave' },
      { type: 'tool-json', index: 1, json: '{"to":"left"}' },
      { type: 'finish', reason: 'tool_calls' },
    ])
  })

  it('continues a call by its index if the id is missing or "null"', () => {
    const events = read(
      toolChunk({ index: 0, id: 'D681PevKs', function: { name: 'ring', arguments: '{"times"' } }),
      toolChunk({ index: 1, id: 'D681PevKt', function: { name: 'wave', arguments: '{' } }),
      toolChunk({ index: 0, id: 'null', function: { name: 'ring', arguments: ':2}' } }),
      toolChunk({ index: 1, function: { name: '', arguments: '}' } }),
      chunk({}, 'tool_calls'),
    )
    expect(jsonOf(events)).to.deep.equal(['{"times":2}', '{}'])
  })

  it('continues a call by its id if the index is missing', () => {
    const events = read(
      toolChunk({ id: 'D681PevKs', function: { name: 'ring', arguments: '{"times"' } }),
      toolChunk({ id: 'D681PevKt', function: { name: 'wave', arguments: '{' } }),
      toolChunk({ id: 'D681PevKs', function: { name: '', arguments: ':2}' } }),
      toolChunk({ id: 'D681PevKt', function: { name: 'wave', arguments: '}' } }),
      chunk({}, 'tool_calls'),
    )
    expect(jsonOf(events)).to.deep.equal(['{"times":2}', '{}'])
  })

  it('continues the last call if both index and id are missing', () => {
    const events = read(
      toolChunk({ id: 'D681PevKs', function: { name: 'ring', arguments: '{"times":2}' } }),
      toolChunk({ id: 'D681PevKt', function: { name: 'wave', arguments: '{' } }),
      toolChunk({ function: { name: '', arguments: '}' } }),
      chunk({}, 'tool_calls'),
    )
    expect(jsonOf(events)).to.deep.equal(['{"times":2}', '{}'])
  })

  it('numbers tool calls from 0 without gaps', () => {
    const events = read(
      toolChunk({ index: 2, id: 'D681PevKs', function: { name: 'ring', arguments: '{}' } }),
      toolChunk({ index: 5, id: 'D681PevKt', function: { name: 'ring', arguments: '{}' } }),
      chunk({}, 'tool_calls'),
    )
    const starts = partsOf(events).flatMap((part) => (part.type === 'tool-start' ? [part.index] : []))
    expect(starts).to.deep.equal([0, 1])
  })

  it('maps model_length to length', () => {
    expect(partsOf(read(chunk({}, 'model_length'))).at(-1)).to.deep.equal({
      type: 'finish',
      reason: 'length',
    })
  })

  it('throws if the model failed', () => {
    expect(() => read(chunk({ content: 'Hi' }), chunk({ content: '' }, 'error')))
      .to.throw('aborted its reply')
      .with.property('code', 'provider_error')
  })

  for (const [failure, code] of [
    [{ object: 'error', message: 'Oops', type: 'server_error', code: null }, 'provider_error'],
    [{ object: 'error', message: { detail: [] }, type: 'rate_limit_error' }, 'provider_rate_limited'],
    [{ error: { message: 'Oops', code: 503 } }, 'provider_overloaded'],
  ] as const) {
    it(`throws ${code} for the record ${JSON.stringify(failure)}`, () => {
      expect(() => readBytes(record(chunk({ content: 'Hi' }), failure)))
        .to.throw()
        .with.property('code', code)
    })
  }

  it('throws if the stream ends before the finish', () => {
    for (const bytes of ['', ': ping\n\n', record(chunk({ content: 'Hi' }))]) {
      expect(() => readBytes(bytes))
        .to.throw('ended before it was complete')
        .with.property('code', 'provider_error')
    }
  })

  it('accepts a stream without [DONE] after the finish', () => {
    expect(() => readBytes(record(...text))).not.to.throw()
  })
})

function chunk(delta: object, finish_reason: string | null = null) {
  return {
    id: 'cmpl-1',
    object: 'chat.completion.chunk',
    created: 1_795_000_000,
    model: 'mistral-medium-2604',
    choices: [{ index: 0, delta, finish_reason }],
  }
}

function toolChunk(call: object) {
  return chunk({ tool_calls: [call] })
}

function record(...chunks: object[]): string {
  return chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')
}

/** Reads chunks after the SDK has accepted them. */
function read(...chunks: object[]): ReplyEvent[] {
  for (const each of chunks) CompletionChunk$inboundSchema.parse(each)
  return readBytes(record(...chunks))
}

function readBytes(text: string, cut = 1000): ReplyEvent[] {
  const bytes = createSseReader()
  const stream = mistral.createStreamReader()
  const records = [...cutBytes(text, cut).flatMap((piece) => bytes.feed(piece)), ...bytes.end()]
  return [...records.flatMap((each) => stream.read(each)), ...stream.end()]
}

function partsOf(events: readonly ReplyEvent[]) {
  return events.flatMap((event) => event.parts)
}

/** The arguments of each call, concatenated. */
function jsonOf(events: readonly ReplyEvent[]): string[] {
  const texts: string[] = []
  for (const part of partsOf(events)) {
    if (part.type === 'tool-json') texts[part.index] = (texts[part.index] ?? '') + part.json
  }
  return texts
}
