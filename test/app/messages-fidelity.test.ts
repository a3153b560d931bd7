import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { type Body, lastWithFields, readRecords } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { chunk, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { post } from '../support/streams.ts'

const MODEL = 'claude-sonnet-4-6'
const SIGNATURE = 'c2ln'.repeat(20)
const USAGE = {
  ...{ input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 3, cache_read_input_tokens: 2 },
  ...{ service_tier: 'priority', server_tool_use: { web_search_requests: 1 } },
}

/** Blocks of all kinds, some of which nobody knows yet. */
const CONTENT = [
  { type: 'thinking', thinking: 'Let me search.', signature: SIGNATURE },
  { type: 'redacted_thinking', data: SIGNATURE },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'trains' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [{ type: 'web_search_result', title: 'Trains', encrypted_content: SIGNATURE }],
  },
  {
    type: 'text',
    text: 'Trains',
    citations: [{ type: 'web_search_result_location', cited_text: 'All trains' }],
  },
  { type: 'text', text: ' run.' },
  { type: 'hologram', depth: 3, layers: [{ note: 'new' }] },
  { type: 'tool_use', id: 'toolu_1', name: 'book', input: { seat: '4a' }, caller: { type: 'direct' } },
]

const MESSAGE = {
  ...{
    id: 'msg_upstream',
    type: 'message',
    role: 'assistant',
    model: MODEL,
    container: { id: 'container_1' },
  },
  ...{ content: CONTENT, stop_reason: 'pause_turn', stop_sequence: null, stop_details: null, usage: USAGE },
}

/** The same message as the events of a stream. */
const EVENTS = [
  {
    type: 'message_start',
    message: { ...MESSAGE, content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } },
  },
  ...CONTENT.flatMap((block, index) => toBlockEvents(block, index)),
  { type: 'message_delta', delta: { stop_reason: 'pause_turn', stop_sequence: null }, usage: USAGE },
  { type: 'message_stop' },
]

describe('POST /v1/messages, when Anthropic answers', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway

  before(async () => {
    provider = await startScriptedProvider()
    const settings = await withSettings(`${UNLIMITED}firewall: { evaluate_responses: true }\n`)
    const address = { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: provider.url.replace(/\/v1$/, '') }
    const other = { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: provider.url }
    gateway = await startGateway({ ...address, ...other, ...settings })
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  const connect = (apiKey = gateway.demoKey) => new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 })

  it('passes everything that a client sends, unchanged', async () => {
    provider.play({ body: MESSAGE })
    const cache_control = { type: 'ephemeral', ttl: '1h', scope: 'global' }
    const request = {
      model: MODEL,
      max_tokens: 4000,
      system: [
        { type: 'text', text: 'One.' },
        { type: 'text', text: 'Two.', cache_control },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Book a seat.', cache_control },
            { type: 'image', source: { type: 'file', file_id: 'file_1' } },
            {
              type: 'document',
              source: { type: 'url', url: 'https://example.com/a.pdf' },
              citations: { enabled: true },
            },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
            { type: 'hologram', depth: 3 },
          ],
        },
        { role: 'assistant', content: CONTENT.filter(({ type }) => type !== 'hologram') },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              is_error: true,
              content: [{ type: 'text', text: 'Full.' }],
            },
            { type: 'text', text: 'And now?' },
          ],
        },
        { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'I' }] },
      ],
      tools: [
        { name: 'book', input_schema: { type: 'object', properties: {} }, strict: true, defer_loading: true },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { effort: 'max', format: { type: 'json_schema', schema: { type: 'object' } } },
      stop_sequences: ['#'],
      metadata: { user_id: 'u'.repeat(100) },
      service_tier: 'standard_only',
      context_management: { edits: [] },
    }
    const headers = {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'skills-2025-10-02, files-api-2025-04-14',
    }
    const response = await post(gateway, '/v1/messages', request, { headers })
    expect(response.status, await response.text()).to.equal(200)
    const received = provider.last()
    expect(withoutNulls(received?.body)).to.deep.equal(withoutNulls(request))
    expect(received?.headers).to.include({
      'x-api-key': 'key',
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'skills-2025-10-02,files-api-2025-04-14',
    })
  })

  it('passes everything that Anthropic answers, whole and streamed', async () => {
    const request = { model: MODEL, max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hi' }] }
    provider.play({ body: MESSAGE })
    const whole = await connect().messages.create(request)
    provider.play({ chunks: EVENTS })
    const streamed = await connect().messages.stream(request).finalMessage()
    const { id: _, content, usage, ...others } = MESSAGE
    for (const message of [whole, streamed]) {
      expect(message).to.deep.include(others)
      expect(message.id).to.match(/^msg_(?!upstream)/)
      expect(message.content).to.deep.equal(content)
      expect(message.usage).to.deep.include(usage)
    }
  })

  it('sends the thinking of a named model back to it, and to no other', async () => {
    provider.play({ body: MESSAGE })
    const [thinking] = CONTENT
    const ask = (model: string) =>
      post(gateway, '/v1/messages', {
        ...{ model, max_tokens: 5000, thinking: { type: 'enabled', budget_tokens: 1024 } },
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: [thinking, { type: 'text', text: 'Hello.' }] },
          { role: 'user', content: 'And?' },
        ],
      })
    await ask(`anthropic:${MODEL}`)
    expect(provider.last()?.body.messages[1].content[0]).to.deep.equal(thinking)
    expect(provider.last()?.body.thinking).to.deep.equal({ type: 'enabled', budget_tokens: 1024 })
    const rule = { match_json: {}, action_json: { set_model: 'claude-haiku-4-5' } }
    const { body } = await gateway.call('POST', '/v1/routing-rules', {
      ...{ name: 'cheap', is_enabled: true, priority: 1 },
      ...rule,
    })
    await ask(MODEL)
    await gateway.call('DELETE', `/v1/routing-rules/${body.data.id}`)
    expect(provider.last()?.body.model).to.equal('claude-haiku-4-5')
    expect(JSON.stringify(provider.last()?.body.messages)).not.to.contain('thinking')
  })

  it('leaves out thinking that was masked, or that another provider did not sign', async () => {
    const user = await newUser(gateway)
    const rule = firewallRuleBody({ pattern: 'search', action: 'mask' })
    await user.call('POST', '/v1/firewall-rules', rule)
    provider.play({ body: MESSAGE })
    const call = { type: 'tool_use', id: 'toolu_1', name: 'book', input: {} }
    for (const thinking of [CONTENT[0], { type: 'thinking', thinking: 'Hm.', signature: '' }]) {
      const { status } = await user.call('POST', '/v1/messages', {
        ...{ model: MODEL, max_tokens: 5000, thinking: { type: 'enabled', budget_tokens: 1024 } },
        tools: [{ name: 'book', input_schema: { type: 'object' } }],
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: [thinking, call] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
        ],
      })
      expect(status).to.equal(200)
      const { messages, ...fields } = provider.last()?.body ?? expect.fail('nothing was sent')
      expect(messages[1].content).to.deep.equal([call])
      // Anthropic refuses a budget of thinking if a call has none before it.
      expect(fields).not.to.have.property('thinking')
    }
  })

  describe('and rules inspect the reply', () => {
    const secretive = (type: string, note: string) => ({
      ...MESSAGE,
      content: [
        { type: 'text', text: 'Hi' },
        { type, note },
      ],
    })

    for (const stream of [false, true]) {
      it(`in blocks that nobody knows, ${stream ? 'streamed' : 'whole'}`, async () => {
        const message = secretive('hologram', 'a secret layer')
        const events = message.content.flatMap((block, index) => toBlockEvents(block, index))
        provider.play(
          stream ? { chunks: [EVENTS[0] ?? {}, ...events, ...EVENTS.slice(-2)] } : { body: message },
        )
        const user = await newUser(gateway)
        const rule = firewallRuleBody({ scope: 'response', pattern: 'secret', action: 'mask' })
        await user.call('POST', '/v1/firewall-rules', rule)
        const request = { model: MODEL, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], stream }
        const headers = { authorization: `Bearer ${user.key}` }
        const text = await (await post(gateway, '/v1/messages', request, { headers })).text()
        expect(text).to.contain('a [redacted] layer').and.not.contain('secret')
      })

      it(`and drop the signature of thinking that they mask, ${stream ? 'streamed' : 'whole'}`, async () => {
        const user = await newUser(gateway)
        const rule = firewallRuleBody({
          scope: 'response',
          pattern: 'search',
          action: 'mask',
          replacement: 'gather',
        })
        await user.call('POST', '/v1/firewall-rules', rule)
        provider.play(stream ? { chunks: EVENTS } : { body: MESSAGE })
        const request = { model: MODEL, max_tokens: 9, messages: [{ role: 'user' as const, content: 'Hi' }] }
        const client = connect(user.key)
        const { content } = await (stream
          ? client.messages.stream(request).finalMessage()
          : client.messages.create(request))
        expect(content[0]).to.deep.equal({ type: 'thinking', thinking: 'Let me gather.', signature: '' })
      })
    }
  })

  it('hides what is Anthropic’s own from clients of chat completions', async () => {
    provider.play({ chunks: EVENTS })
    const request = { model: MODEL, stream: true, messages: [{ role: 'user', content: 'Hi' }] }
    const text = await (await post(gateway, '/v1/chat/completions', request)).text()
    const deltas = readRecords(text).map(({ choices }: Body) => choices[0]?.delta ?? {})
    expect(deltas.map(({ content = '' }) => content).join('')).to.equal('Trains run.')
    expect(JSON.stringify(deltas)).not.to.match(/hologram|web_search|c2ln/)
    const { warnings } = lastWithFields(text).signalbox
    expect(warnings.map(({ message }: Body) => message).join()).to.include('web_search_tool_result')
  })

  it('orders the calls of a provider that sends them interleaved', async () => {
    const call = (index: number, json: string, more: object = {}) =>
      chunk({
        tool_calls: [
          { index, ...more, function: { ...('id' in more && { name: 'book' }), arguments: json } },
        ],
      })
    provider.play({
      chunks: [
        call(0, '{"a"', { id: 'call_a', type: 'function' }),
        call(1, '{"b"', { id: 'call_b', type: 'function' }),
        ...[call(0, ':1}'), call(1, ':2}'), chunk({}, 'tool_calls')],
      ],
    })
    const request = { model: 'gpt-4o', max_tokens: 9, messages: [{ role: 'user' as const, content: 'Hi' }] }
    const { content } = await connect().messages.stream(request).finalMessage()
    expect(content.map((block) => block.type === 'tool_use' && block.input)).to.deep.equal([
      { a: 1 },
      { b: 2 },
    ])
  })
})

/** The events of a block, with what streams send in deltas. */
function toBlockEvents(block: Body, index: number): readonly object[] {
  const delta = (value: object) => ({ type: 'content_block_delta', index, delta: value })
  const deltas = [
    ...(block.thinking ? [delta({ type: 'thinking_delta', thinking: block.thinking })] : []),
    ...(block.signature ? [delta({ type: 'signature_delta', signature: block.signature })] : []),
    ...(block.text ? [delta({ type: 'text_delta', text: block.text })] : []),
    ...(block.citations ?? []).map((citation: object) => delta({ type: 'citations_delta', citation })),
    ...(block.input ? [delta({ type: 'input_json_delta', partial_json: JSON.stringify(block.input) })] : []),
  ]
  const content_block = {
    ...block,
    ...(block.thinking && { thinking: '', signature: '' }),
    ...(block.text && { text: '' }),
    ...(block.input && { input: {} }),
  }
  return [
    { type: 'content_block_start', index, content_block },
    ...deltas,
    { type: 'content_block_stop', index },
  ]
}

/** Fields that are null say nothing. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(entries.map(([name, field]) => [name, withoutNulls(field)]))
}
