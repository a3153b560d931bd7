import { expect } from 'chai'
import type OpenAI from 'openai'
import type { ChatRequest } from '../../../../core/contract/chat.ts'
import { GatewayError } from '../../../../core/contract/errors.ts'
import type { JsonObject } from '../../../../core/contract/json.ts'
import type { Model } from '../../../../core/contract/provider.ts'
import { openai } from '../../../../providers/openai/adapter.ts'

// The cast is safe: no other fields are read.
const entry = {
  max_output: 1000,
  reasoning: true,
  sampling: false,
  capabilities: { tools: true, images: true, json: 'schema' },
  quirks: { responses: true },
} as Partial<Model> as Model

const user = { role: 'user', content: 'Hi' }
const look = { name: 'look', parameters: { type: 'object' } }
const tools = [{ type: 'function', function: look }]

function build(more: object, model = entry) {
  const request = { messages: [user], tools, ...more } as unknown as ChatRequest
  const target = { provider: 'openai', model: 'gpt-6.2-sol', entry: model }
  const { path, body, omitted, changed = [] } = openai.buildRequest(request, target)
  expect(path).to.equal('/responses')
  return { body: JSON.parse(String(body)) as JsonObject, omitted, changed: changed.map(({ param }) => param) }
}

/** What becomes of a field: it is in the body, in its own form or another, or the caller is warned of it. */
interface Fate {
  readonly value: unknown
  /** What the field needs beside it. */
  readonly beside?: object
  /** Part of the body. */
  readonly sent?: object
  readonly isChanged?: true
  readonly isOmitted?: true
}

const sent = (value: unknown, sentAs: object, beside: object = {}): Fate => ({ value, sent: sentAs, beside })
const omitted = (value: unknown): Fate => ({ value, isOmitted: true })

type ChatField = keyof OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming

const format = { type: 'json_schema', json_schema: { name: 'page', schema: { type: 'object' } } }

/** Every field of OpenAI's SDK: a new one has to be added here. */
const FIELDS: Readonly<Record<ChatField, Fate>> = {
  model: sent('openai/gpt-6.2-sol', { model: 'gpt-6.2-sol' }),
  messages: sent([user], {
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
  }),
  tools: sent(tools, { tools: [{ type: 'function', ...look, strict: false }] }),
  tool_choice: sent('required', { tool_choice: 'required' }),
  parallel_tool_calls: sent(false, { parallel_tool_calls: false }),
  functions: omitted([look]),
  function_call: omitted({ name: 'look' }),
  max_tokens: sent(100, { max_output_tokens: 100 }),
  max_completion_tokens: { value: 2000, sent: { max_output_tokens: 1000 }, isChanged: true },
  reasoning_effort: sent('high', { reasoning: { effort: 'high' } }),
  verbosity: sent('low', { text: { verbosity: 'low' } }),
  response_format: sent(format, {
    text: { format: { type: 'json_schema', name: 'page', schema: { type: 'object' }, strict: false } },
  }),
  stream: sent(true, { stream: true }),
  stream_options: sent(
    { include_usage: true, include_obfuscation: false },
    { stream_options: { include_obfuscation: false } },
    { stream: true },
  ),
  store: sent(true, { store: true }),
  metadata: sent({ tenant: 'acme' }, { metadata: { tenant: 'acme' } }, { store: true }),
  user: sent('u1', { user: 'u1' }),
  safety_identifier: sent('u1', { safety_identifier: 'u1' }),
  service_tier: sent('flex', { service_tier: 'flex' }),
  prompt_cache_key: sent('key', { prompt_cache_key: 'key' }),
  prompt_cache_options: sent({ mode: 'explicit' }, { prompt_cache_options: { mode: 'explicit' } }),
  prompt_cache_retention: sent('24h', { prompt_cache_retention: '24h' }),
  stop: omitted('END'),
  seed: omitted(7),
  temperature: omitted(0.5),
  top_p: omitted(0.5),
  presence_penalty: omitted(0.5),
  frequency_penalty: omitted(0.5),
  logit_bias: omitted({ 1: 1 }),
  // These two are refused before.
  logprobs: omitted(true),
  n: omitted(2),
  top_logprobs: omitted(2),
  prediction: omitted({ type: 'content', content: 'Hi' }),
  modalities: omitted(['text', 'audio']),
  audio: omitted({ voice: 'ash', format: 'mp3' }),
  moderation: omitted({ model: 'omni-moderation-latest' }),
  web_search_options: omitted({}),
}

type KeyOfEach<T> = T extends unknown ? keyof T : never
type MessageField = KeyOfEach<OpenAI.Chat.Completions.ChatCompletionMessageParam>

interface MessageFate {
  readonly message: object
  readonly items: readonly object[]
  readonly omitted?: string
}

const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }
const output = { type: 'output_text', text: 'Yes', annotations: [], logprobs: [] }
const reply = { type: 'message', role: 'assistant', content: [output] }
const called = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }
const question = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }

/** The same for the fields of messages. */
const MESSAGE_FIELDS: Readonly<Record<MessageField, MessageFate>> = {
  role: { message: { role: 'developer', content: 'Hi' }, items: [{ ...question, role: 'developer' }] },
  content: { message: user, items: [question] },
  name: { message: { ...user, name: 'ada' }, items: [question], omitted: 'name in messages' },
  refusal: {
    message: { role: 'assistant', refusal: 'No.' },
    items: [{ type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }],
  },
  audio: {
    message: { role: 'assistant', content: 'Yes', audio: { id: 'audio_1' } },
    items: [reply],
    omitted: 'audio in messages',
  },
  tool_calls: { message: { role: 'assistant', content: null, tool_calls: [call] }, items: [called] },
  tool_call_id: {
    message: { role: 'tool', tool_call_id: 'c1', content: 'Page 7' },
    items: [{ type: 'function_call_output', call_id: 'c1', output: 'Page 7' }],
  },
  function_call: {
    message: { role: 'assistant', content: 'Yes', function_call: call.function },
    items: [reply],
    // Calls in this form are converted before.
    omitted: 'function_call in messages',
  },
}

describe('parameters of chat completions in the Responses API', () => {
  for (const [field, { value, beside = {}, ...fate }] of Object.entries(FIELDS)) {
    const outcome = fate.isOmitted ? 'left out, with a warning' : 'sent'
    it(`${field}: ${outcome}`, () => {
      const built = build({ ...beside, [field]: value })
      if (fate.sent) expect(built.body).to.deep.include(fate.sent)
      else expect(built.body).not.to.have.property(field)
      expect(built.omitted).to.deep.equal(fate.isOmitted ? [field] : [])
      expect(built.changed).to.deep.equal(fate.isChanged ? [field] : [])
    })
  }

  it('temperature and top_p: sent for models that sample', () => {
    const sampling = { ...entry, sampling: true }
    const built = build({ temperature: 0.5, top_p: 0.5, seed: 7 }, sampling)
    expect(built.body).to.include({ temperature: 0.5, top_p: 0.5 })
    expect(built.omitted).to.deep.equal(['seed'])
  })

  it('unknown fields: left out, with a warning', () => {
    const forMax = { tools: undefined, reasoning_effort: 'max' }
    const built = build({ ...forMax, unheard_of: 1 })
    expect(built.omitted).to.deep.equal(['unheard_of'])
  })

  it('default values: left out, without a warning', () => {
    const defaults = { n: 1, logprobs: false, presence_penalty: 0, modalities: ['text'], seed: null }
    expect(build(defaults).omitted).to.deep.equal([])
  })

  it('tools that OpenAI would run itself: refused', () => {
    const mcp = { type: 'mcp', mcp: { server_url: 'https://example.com' } }
    expect(() => build({ tools: [...tools, mcp] }))
      .to.throw(GatewayError)
      .with.nested.property('details.param', 'tools[1]')
  })
})

describe('messages of chat completions in the Responses API', () => {
  for (const [field, { message, items, omitted = undefined }] of Object.entries(MESSAGE_FIELDS)) {
    it(`${field}: ${omitted ? 'left out, with a warning' : 'sent'}`, () => {
      const built = build({ messages: [message] })
      expect(built.body.input).to.deep.equal(items)
      expect(built.omitted).to.deep.equal(omitted ? [omitted] : [])
    })
  }

  it('prompt_cache_breakpoint: sent with parts of input, left out of replies', () => {
    const part = { type: 'text', text: 'Hi', prompt_cache_breakpoint: { mode: 'explicit' } }
    const { body, omitted: left } = build({
      messages: [
        { role: 'user', content: [part, { type: 'text', text: 'you' }] },
        { role: 'assistant', content: [{ ...part, text: 'Yes' }] },
      ],
    })
    expect(body.input).to.deep.equal([
      {
        ...question,
        content: [
          { type: 'input_text', text: 'Hi', prompt_cache_breakpoint: { mode: 'explicit' } },
          { type: 'input_text', text: 'you' },
        ],
      },
      reply,
    ])
    expect(left).to.deep.equal(['prompt_cache_breakpoint in messages'])
  })
})

describe('a model that is served in the Responses API only', () => {
  it('gets every request there', () => {
    const always = { ...entry, quirks: { responses: 'always' as const } }
    expect(build({ tools: undefined }, always).body).to.include({ store: false })
  })
})
