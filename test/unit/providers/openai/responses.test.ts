import { expect } from 'chai'
import type { ChatRequest, ReplyPart } from '../../../../core/contract/chat.ts'
import type { JsonObject } from '../../../../core/contract/json.ts'
import type { Model, Target } from '../../../../core/contract/provider.ts'
import { openai } from '../../../../providers/openai/adapter.ts'

// The cast is safe: no other fields are read.
const entry = {
  max_output: 1000,
  reasoning: true,
  sampling: false,
  capabilities: { tools: true, images: true, json: 'schema' },
  quirks: { responses: true },
} as Partial<Model> as Model
const target: Target = { provider: 'openai', model: 'gpt-6.2-sol', entry }

const user = { role: 'user' as const, content: 'Hi' }
const search = { type: 'function', function: { name: 'search' } }
const grammar = { syntax: 'lark', definition: 'start: "a"' }
const patch = {
  type: 'custom',
  custom: { name: 'patch', description: 'Edits.', format: { type: 'grammar', grammar } },
}

const sent = (more: object) => {
  const request: ChatRequest = { messages: [user], tools: [search], ...more }
  const { body, ...call } = openai.buildRequest(request, target)
  return { ...call, body: JSON.parse(String(body)) as JsonObject }
}

describe('a request that OpenAI takes in the Responses API only', () => {
  it('has the history as items', () => {
    const history = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a/b', detail: 'low' } }] },
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_content: 'Hm.',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'search', arguments: '{}' }, extra_content: {} },
          { id: 'c2', type: 'custom', custom: { name: 'patch', input: 'a' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'Page 7' },
      { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'Done' }] },
      { role: 'assistant', content: null, refusal: 'No.' },
    ]
    const part = (type: string, text: string) => ({ type, text })
    expect(sent({ messages: history }).body.input).to.deep.equal([
      { type: 'message', role: 'system', content: [part('input_text', 'Be brief.')] },
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_image', image_url: 'https://a/b', detail: 'low' }],
      },
      {
        type: 'message',
        role: 'assistant',
        content: [{ ...part('output_text', 'I look.'), annotations: [], logprobs: [] }],
      },
      { type: 'function_call', call_id: 'c1', name: 'search', arguments: '{}' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'a' },
      { type: 'function_call_output', call_id: 'c1', output: 'Page 7' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: [part('input_text', 'Done')] },
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    ])
  })

  it('has flat tools and choices, and does not make schemas strict', () => {
    const choices = [
      [
        { type: 'custom', custom: { name: 'patch' } },
        { type: 'custom', name: 'patch' },
      ],
      ['required', 'required'],
      [
        { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [search] } },
        { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'search' }] },
      ],
    ]
    for (const [tool_choice, expected] of choices) {
      const { body } = sent({ tools: [search, patch], tool_choice })
      expect(body.tool_choice).to.deep.equal(expected)
      expect(body.tools).to.deep.equal([
        { type: 'function', name: 'search', parameters: null, strict: false },
        { type: 'custom', name: 'patch', description: 'Edits.', format: { type: 'grammar', ...grammar } },
      ])
    }
  })

  it('stores nothing unless the caller wants it, and clamps the limit', () => {
    expect(sent({ metadata: { a: 'b' } }).body)
      .to.include({ store: false })
      .and.not.to.have.property('metadata')
    expect(sent({ store: true, metadata: { a: 'b' } }).body).to.deep.include({
      store: true,
      metadata: { a: 'b' },
    })
    const { body, changed } = sent({ max_tokens: 2000 })
    expect(body).to.include({ max_output_tokens: 1000 })
    expect(changed).to.deep.equal([{ param: 'max_tokens', from: 2000, to: 1000 }])
  })
})

const start = { type: 'response.created', response: { id: 'resp_1', model: 'gpt-6.2-sol', error: null } }

function readAll(events: readonly JsonObject[]): readonly ReplyPart[] {
  const reader = openai.createStreamReader()
  const read = events.flatMap((event) =>
    reader.read({ event: String(event.type), data: JSON.stringify(event) }),
  )
  return [...read, ...reader.end()].flatMap(({ parts }) => parts)
}

describe('a stream of the Responses API', () => {
  it('has custom calls, cached tokens, the price of its tier and the reason of its end', () => {
    const item = { type: 'custom_tool_call', call_id: 'c1', name: 'patch' }
    const usage = {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
    }
    const incomplete_details = { reason: 'max_output_tokens' }
    const response = { status: 'incomplete', incomplete_details, service_tier: 'priority', usage }
    const parts = readAll([
      start,
      { type: 'response.output_item.added', output_index: 1, item },
      { type: 'response.custom_tool_call_input.delta', output_index: 1, delta: 'a' },
      { type: 'response.unheard_of' },
      { type: 'response.incomplete', response },
    ])
    expect(parts).to.deep.equal([
      { type: 'start', id: 'resp_1', model: 'gpt-6.2-sol' },
      { type: 'tool-start', index: 0, id: 'c1', name: 'patch', custom: true },
      { type: 'tool-json', index: 0, json: 'a' },
      { type: 'finish', reason: 'length' },
      { type: 'usage', usage: { input: 9, output: 5, cached: 4, reasoning: 2, tier: 'priority' } },
    ])
  })

  it('starts with its first content, so that another target can answer before', () => {
    const reader = openai.createStreamReader()
    const read = (event: JsonObject) =>
      reader.read({ event: String(event.type), data: JSON.stringify(event) }).flatMap(({ parts }) => parts)
    expect(read(start)).to.deep.equal([])
    const item = { type: 'reasoning' }
    expect(read({ type: 'response.output_item.added', output_index: 0, item })).to.deep.equal([])
    const parts = read({ type: 'response.output_text.delta', delta: 'Hi' })
    expect(parts.map(({ type }) => type)).to.deep.equal(['start', 'text'])
    expect(read({ type: 'response.output_text.delta', delta: '!' })).to.have.length(1)
  })

  it('fails with the error of its events, and if it ends early', () => {
    const error = { code: 'rate_limit_exceeded', message: 'Too fast.' }
    const failures: readonly [readonly JsonObject[], RegExp][] = [
      [[start, { type: 'response.failed', response: { status: 'failed', error } }], /rate limit/],
      [[start, { type: 'response.failed', response: { status: 'failed' } }], /failed/],
      [[{ type: 'error', ...error }], /rate limit/],
      [[start], /./],
      [[], /./],
    ]
    for (const [events, message] of failures) expect(() => readAll(events)).to.throw(message)
  })
})
