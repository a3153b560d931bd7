import type {
  MessageDeltaUsage,
  RawContentBlockDelta,
  RawContentBlockStartEvent,
  RawMessageDeltaEvent,
  RawMessageStartEvent,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages'
import { expect } from 'chai'
import type { ReplyEvent } from '../../../../core/contract/chat.ts'
import { NATIVE } from '../../../../core/contract/native-records.ts'
import { anthropic } from '../../../../providers/anthropic/adapter.ts'
import { createSseReader } from '../../../../providers/shared/sse.ts'
import { CUTS, cutBytes } from '../../../support/cut-bytes.ts'

type Block = RawContentBlockStartEvent['content_block']

const direct = { type: 'direct' } as const
const text: Block = { type: 'text', text: '', citations: null }
const thinking: Block = { type: 'thinking', thinking: '', signature: '' }
const call = (id: string, name: string): Block => ({ type: 'tool_use', id, name, input: {}, caller: direct })

/** A stream with named events, pings, thinking, text and two tool calls, one of them without arguments. */
const recorded = [
  record(start()),
  record(open(0, thinking)),
  'event: ping\ndata: {"type": "ping"}\n\n',
  record(grow(0, { type: 'thinking_delta', thinking: 'Gleis 8 ist ' })),
  record(grow(0, { type: 'thinking_delta', thinking: 'besetzt.' })),
  record(grow(0, { type: 'signature_delta', signature: 'c2ln' })),
  record(close(0)),
  record(open(1, text)),
  record(grow(1, { type: 'text_delta', text: 'Gleis ' })),
  ': keep-alive\n\n',
  record(grow(1, { type: 'text_delta', text: '9¾ 🚂' })),
  record(close(1)),
  record(open(2, call('toolu_1', 'look'))),
  record(grow(2, { type: 'input_json_delta', partial_json: '' })),
  record(grow(2, { type: 'input_json_delta', partial_json: '{"to":' })),
  record(grow(2, { type: 'input_json_delta', partial_json: '"left"}' })),
  record(close(2)),
  record(open(3, call('toolu_2', 'ring'))),
  record(close(3)),
  record(end({ stop_reason: 'tool_use' }, { output_tokens: 89 })),
  record({ type: 'message_stop' }),
].join('')

/** The input, which the start of a message reports for streams that end early. */
const initialUsage = { input: 112, output: 1, cached: 100, cacheWrite: 0 }

describe('reading a stream of Anthropic', () => {
  for (const cut of CUTS) {
    it(`returns the parts in order, split every ${cut} bytes`, () => {
      expect(partsOf(readBytes(recorded, cut))).to.deep.equal([
        { type: 'start', id: 'msg_1', model: 'claude-sonnet-4-6' },
        { type: 'usage', usage: initialUsage },
        { type: 'reasoning', text: 'Gleis 8 ist ' },
        { type: 'reasoning', text: 'besetzt.' },
        { type: 'text', text: 'Gleis ' },
        { type: 'text', text: '9¾ 🚂' },
        { type: 'tool-start', index: 0, id: 'toolu_1', name: 'look' },
        { type: 'tool-json', index: 0, json: '{"to":' },
        { type: 'tool-json', index: 0, json: '"left"}' },
        { type: 'tool-start', index: 1, id: 'toolu_2', name: 'ring' },
        { type: 'tool-json', index: 1, json: '{}' },
        { type: 'finish', reason: 'tool_calls' },
        { type: 'usage', usage: { input: 112, output: 89, cached: 100, cacheWrite: 0 } },
      ])
    })
  }

  it('reads CRLF', () => {
    expect(readBytes(recorded.replaceAll('\n', '\r\n'), 7)).to.deep.equal(readBytes(recorded))
  })

  it('returns no native records', () => {
    for (const event of readBytes(recorded)) expect(event[NATIVE]).to.equal(undefined)
  })

  it('returns {} for a tool call without arguments', () => {
    const parts = partsOf(read(start(), open(0, call('toolu_1', 'ring')), close(0), ...ending))
    expect(parts).to.deep.include({ type: 'tool-json', index: 0, json: '{}' })
  })

  it('returns arguments that the start of the block holds', () => {
    const whole: Block = { ...call('toolu_1', 'look'), type: 'tool_use', input: { to: 'left' } } as Block
    const parts = partsOf(read(start(), open(0, whole), close(0), ...ending))
    expect(parts).to.deep.include({ type: 'tool-json', index: 0, json: '{"to":"left"}' })
  })

  it('keeps interleaved tool calls separate', () => {
    const json = (index: number, partial_json: string) =>
      grow(index, { type: 'input_json_delta', partial_json })
    const parts = partsOf(
      read(
        start(),
        ...[open(1, call('a', 'x')), open(4, call('b', 'y')), json(1, '{'), json(4, '{}'), json(1, '}')],
        ...[close(4), close(1), ...ending],
      ),
    )
    expect(parts.filter(({ type }) => type === 'tool-json')).to.deep.equal([
      { type: 'tool-json', index: 0, json: '{' },
      { type: 'tool-json', index: 1, json: '{}' },
      { type: 'tool-json', index: 0, json: '}' },
    ])
  })

  describe('usage', () => {
    it('is replaced by that of message_delta, not added', () => {
      const counts = { input_tokens: 20, cache_read_input_tokens: 5, output_tokens: 40 }
      const later = { ...counts, output_tokens: 50, output_tokens_details: { thinking_tokens: 30 } }
      expect(usageOf(start(), end({}, counts), end({ stop_reason: 'end_turn' }, later))).to.deep.equal([
        initialUsage,
        { input: 25, output: 50, cached: 5, cacheWrite: 0, reasoning: 30 },
      ])
    })

    it('keeps values that message_delta omits or sets to null', () => {
      expect(usageOf(start(), end({ stop_reason: 'end_turn' }, { output_tokens: 9 }))).to.deep.equal([
        initialUsage,
        { input: 112, output: 9, cached: 100, cacheWrite: 0 },
      ])
      const usage = { output_tokens: 9 } as MessageDeltaUsage
      const short = { ...end({ stop_reason: 'end_turn' }, {}), usage }
      expect(usageOf(start(), short)).to.have.nested.property('[1].cached', 100)
    })
  })

  it('returns the explanation of a refusal before the finish', () => {
    const stop_details = { type: 'refusal', category: null, explanation: 'Not this.' } as const
    const parts = partsOf(read(start(), end({ stop_reason: 'refusal', stop_details }), stop))
    expect(parts.slice(2, 4)).to.deep.equal([
      { type: 'refusal', text: 'Not this.' },
      { type: 'finish', reason: 'content_filter' },
    ])
  })

  it('returns blocks of unknown types as a whole, and marks what belongs to blocks', () => {
    const searched = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    const bytes = [
      start(),
      open(0, thinking),
      grow(0, { type: 'thinking_delta', thinking: 'Hm.' }),
      grow(0, { type: 'signature_delta', signature: 'c2ln' }),
      close(0),
      { type: 'content_block_start', index: 1, content_block: searched },
      grow(1, { type: 'input_json_delta', partial_json: '{"q":' }),
      grow(1, { type: 'input_json_delta', partial_json: '1}' }),
      close(1),
      ...[open(2, text), grow(2, { type: 'text_delta', text: 'One.' }), close(2), open(3, text), close(3)],
      ...[end({ stop_reason: 'stop_sequence', stop_sequence: '#' }), stop],
    ]
    const parts = readBytes(bytes.map((each) => record(each)).join('')).flatMap((event) => event.parts)
    const extra = parts.flatMap((part) =>
      part.type === 'extra' ? [[part.place, part.content.anthropic]] : [],
    )
    expect(extra.filter(([place]) => place !== 'message')).to.deep.equal([
      ['start', { type: 'thinking' }],
      ['delta', { type: 'signature_delta', signature: 'c2ln' }],
      ['block', { ...searched, input: { q: 1 } }],
      ['start', { type: 'text' }],
    ])
    expect(extra.at(-1)).to.deep.equal(['message', { stop_reason: 'stop_sequence', stop_sequence: '#' }])
  })

  it('ignores unknown events, blocks and deltas', () => {
    const unknown = [
      { type: 'message_hint' },
      { type: 'content_block_start', index: 0, content_block: { type: 'hologram' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'hologram_delta' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } },
      { type: 'content_block_delta', index: 0 },
      { type: 'content_block_stop', index: 0 },
      {},
    ]
    const bytes = [start(), ...unknown, ...ending].map((each) => record(each)).join('')
    const types = partsOf(readBytes(bytes)).map(({ type }) => type)
    expect(types).to.deep.equal(['start', 'usage', 'finish', 'usage'])
  })

  it('reports no usage at the start if the message has none', () => {
    const message = { id: 'msg_1', model: 'claude-sonnet-4-6' }
    const bytes = [{ type: 'message_start', message }, ...ending].map((each) => record(each)).join('')
    const types = partsOf(readBytes(bytes)).map(({ type }) => type)
    expect(types).to.deep.equal(['start', 'finish', 'usage'])
  })

  it('ignores an event without data', () => {
    expect(anthropic.createStreamReader().read({ event: 'ping', data: '' })).to.deep.equal([])
  })

  it('is complete with a stop reason, which some providers send without message_stop', () => {
    const events = read(start(), end({ stop_reason: 'end_turn' }))
    expect(partsOf(events).map(({ type }) => type)).to.contain('finish')
  })

  it('throws if the stream ends before the stop reason', () => {
    for (const events of [[], [start()], [start(), end({ stop_reason: null })]]) {
      expect(() => read(...events))
        .to.throw('ended before it was complete')
        .that.includes({ code: 'provider_error', mayFailOver: true })
    }
  })

  for (const data of ['{"type":"message_st', 'null', '[]', '42', '<html>']) {
    it(`throws for the record ${data}`, () => {
      expect(() => anthropic.createStreamReader().read({ event: 'message_start', data }))
        .to.throw('malformed')
        .with.property('code', 'provider_error')
    })
  }

  const errors: [type: string, code: string, mayFailOver: boolean][] = [
    ['overloaded_error', 'provider_overloaded', true],
    ['api_error', 'provider_error', true],
    ['timeout_error', 'provider_timeout', true],
    ['rate_limit_error', 'provider_rate_limited', true],
    ['billing_error', 'provider_quota_exceeded', true],
    ['invalid_request_error', 'provider_refused', false],
    ['authentication_error', 'provider_authentication_error', false],
    ['constructor', 'provider_error', true],
  ]
  for (const [type, code, mayFailOver] of errors) {
    const event = record({ type: 'error', error: { type, message: 'Oops' }, request_id: 'req_1' })
    it(`throws ${code} for ${type}, as the first event and later`, () => {
      for (const before of ['', record(start()) + record(open(0, text))]) {
        expect(() => readBytes(before + event))
          .to.throw()
          .that.includes({ code, mayFailOver })
      }
    })
  }
})

function start(): RawMessageStartEvent {
  const usage = {
    input_tokens: 12,
    output_tokens: 1,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 100,
    cache_creation: null,
    output_tokens_details: null,
    inference_geo: null,
    server_tool_use: null,
    service_tier: null,
    speed: null,
  }
  return {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-6',
      content: [],
      container: null,
      diagnostics: null,
      stop_details: null,
      stop_reason: null,
      stop_sequence: null,
      usage,
    },
  }
}

function open(index: number, content_block: Block): RawContentBlockStartEvent {
  return { type: 'content_block_start', index, content_block }
}

function grow(index: number, delta: RawContentBlockDelta): RawMessageStreamEvent {
  return { type: 'content_block_delta', index, delta }
}

function close(index: number): RawMessageStreamEvent {
  return { type: 'content_block_stop', index }
}

function end(
  delta: Partial<RawMessageDeltaEvent.Delta>,
  usage: Partial<MessageDeltaUsage> = {},
): RawMessageDeltaEvent {
  return {
    type: 'message_delta',
    delta: { container: null, stop_details: null, stop_reason: null, stop_sequence: null, ...delta },
    usage: {
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      input_tokens: null,
      output_tokens: 2,
      output_tokens_details: null,
      server_tool_use: null,
      ...usage,
    },
  }
}

const stop = { type: 'message_stop' } as const
const ending = [end({ stop_reason: 'end_turn' }), stop]

function record<Event extends { readonly type?: string | undefined }>(event: Event): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

function read(...events: RawMessageStreamEvent[]): ReplyEvent[] {
  return readBytes(events.map((event) => record(event)).join(''))
}

function readBytes(bytes: string, cut = 1000): ReplyEvent[] {
  const sse = createSseReader()
  const stream = anthropic.createStreamReader()
  const records = [...cutBytes(bytes, cut).flatMap((piece) => sse.feed(piece)), ...sse.end()]
  return [...records.flatMap((each) => stream.read(each)), ...stream.end()]
}

/** The canonical parts. */
function partsOf(events: readonly ReplyEvent[]) {
  return events.flatMap((event) => event.parts).filter(({ type }) => type !== 'extra')
}

function usageOf(...events: RawMessageStreamEvent[]) {
  return partsOf(read(...events, stop)).flatMap((part) => (part.type === 'usage' ? [part.usage] : []))
}
