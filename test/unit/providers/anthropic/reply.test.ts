import type { Message } from '@anthropic-ai/sdk/resources/messages'
import { expect } from 'chai'
import { anthropic } from '../../../../providers/anthropic/adapter.ts'

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-6',
  container: null,
  diagnostics: null,
  content: [{ type: 'text', text: 'Track 9.', citations: null }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  stop_details: null,
  usage: {
    input_tokens: 12,
    output_tokens: 25,
    cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 0 },
    cache_creation_input_tokens: 200,
    cache_read_input_tokens: 3000,
    output_tokens_details: { thinking_tokens: 20 },
    inference_geo: null,
    server_tool_use: null,
    service_tier: 'standard',
    speed: null,
  },
} satisfies Message

const direct = { type: 'direct' } as const

describe('parsing a reply of Anthropic', () => {
  it('returns the parts in order, and includes cached tokens in the input', () => {
    const { parts } = anthropic.parseReply(message)
    expect(parts.filter(({ type }) => type !== 'extra')).to.deep.equal([
      { type: 'start', id: 'msg_1', model: 'claude-sonnet-4-6' },
      { type: 'text', text: 'Track 9.' },
      {
        type: 'usage',
        usage: { input: 3212, output: 25, cached: 3000, cacheWrite: 200, reasoning: 20 },
      },
      { type: 'finish', reason: 'stop' },
    ])
  })

  it('returns thinking, texts and parallel tool calls in order', () => {
    const content = [
      { type: 'thinking', thinking: 'Eight is taken.', signature: 'c2ln' },
      { type: 'text', text: 'I will look.', citations: null },
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { to: 'left' }, caller: direct },
      { type: 'tool_use', id: 'toolu_2', name: 'ring', input: {}, caller: direct },
    ] satisfies Message['content']
    expect(partsOf({ content, stop_reason: 'tool_use' })).to.deep.equal([
      { type: 'reasoning', text: 'Eight is taken.' },
      { type: 'text', text: 'I will look.' },
      { type: 'tool-start', index: 0, id: 'toolu_1', name: 'look' },
      { type: 'tool-json', index: 0, json: '{"to":"left"}' },
      { type: 'tool-start', index: 1, id: 'toolu_2', name: 'ring' },
      { type: 'tool-json', index: 1, json: '{}' },
      { type: 'finish', reason: 'tool_calls' },
    ])
  })

  it('returns no canonical parts for empty blocks and those of server tools', () => {
    const content = [
      { type: 'redacted_thinking', data: 'x' },
      { type: 'thinking', thinking: '', signature: 'c2ln' },
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {}, caller: direct },
      { type: 'text', text: '', citations: null },
    ] satisfies Message['content']
    expect(partsOf({ content })).to.deep.equal([{ type: 'finish', reason: 'stop' }])
  })

  it('returns what the canonical parts cannot express as extra parts', () => {
    const searched = {
      type: 'server_tool_use',
      id: 's',
      name: 'web_search',
      input: {},
      caller: direct,
    } as const
    const citation = { type: 'char_location', cited_text: 'Track 9' }
    const content: unknown[] = [
      { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
      searched,
      { type: 'text', text: 'One.', citations: [citation] },
      { type: 'text', text: 'Two.', citations: null },
      { type: 'tool_use', id: 't', name: 'look', input: {}, caller: { type: 'code', tool_id: 's' } },
    ]
    const { parts } = anthropic.parseReply({
      ...message,
      content,
      stop_reason: 'pause_turn',
      container: { id: 'c' },
    })
    const { cache_creation, output_tokens_details, service_tier } = message.usage
    const extra = parts.flatMap((part) =>
      part.type === 'extra' ? [[part.place, part.content.anthropic]] : [],
    )
    expect(extra).to.deep.equal([
      ['start', { type: 'thinking' }],
      ['delta', { type: 'signature_delta', signature: 'c2ln' }],
      ['block', searched],
      ['delta', { type: 'citations_delta', citation }],
      ['start', { type: 'text' }],
      ['start', { type: 'tool_use', caller: { type: 'code', tool_id: 's' } }],
      [
        'message',
        {
          container: { id: 'c' },
          stop_reason: 'pause_turn',
          usage: { cache_creation, output_tokens_details, service_tier },
        },
      ],
    ])
  })

  const reasons: [Message['stop_reason'], string][] = [
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    [null, 'stop'],
  ]
  for (const [stop_reason, reason] of reasons) {
    it(`maps ${stop_reason} to ${reason}`, () => {
      expect(partsOf({ stop_reason }).at(-1)).to.deep.equal({ type: 'finish', reason })
    })
  }

  it('maps an unknown stop reason to stop', () => {
    const { parts } = anthropic.parseReply({ ...message, stop_reason: 'compaction' })
    expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'stop' })
  })

  it('returns the explanation of a refusal', () => {
    const stop_details = { type: 'refusal', category: 'cyber', explanation: 'Not this.' } as const
    expect(partsOf({ content: [], stop_reason: 'refusal', stop_details })).to.deep.equal([
      { type: 'refusal', text: 'Not this.' },
      { type: 'finish', reason: 'content_filter' },
    ])
  })

  it('accepts usage that is null or missing', () => {
    const usage = {
      input_tokens: 3,
      output_tokens: 1,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      output_tokens_details: null,
    }
    const usageOf = (usage: unknown) => anthropic.parseReply({ ...message, usage }).parts.at(-2)
    expect(usageOf(usage)).to.deep.equal({ type: 'usage', usage: { input: 3, output: 1 } })
    expect(usageOf(undefined)).to.deep.equal({ type: 'usage', usage: { input: 0, output: 0 } })
  })

  for (const body of [null, 'text', [], {}, { content: 'text' }, { choices: [] }]) {
    it(`rejects ${JSON.stringify(body)}`, () => {
      expect(() => anthropic.parseReply(body))
        .to.throw('not a message')
        .with.property('code', 'provider_error')
    })
  }

  it('throws for an error in a 200 response', () => {
    const error = { type: 'rate_limit_error', message: 'Slow down' }
    expect(() => anthropic.parseReply({ type: 'error', error }))
      .to.throw()
      .with.property('code', 'provider_rate_limited')
  })
})

/** The canonical parts of a reply without its start and its usage. */
function partsOf(fields: Partial<Message>) {
  const { parts } = anthropic.parseReply({ ...message, ...fields })
  return parts.filter(({ type }) => type !== 'start' && type !== 'usage' && type !== 'extra')
}
