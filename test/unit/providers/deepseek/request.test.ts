import { expect } from 'chai'
import type OpenAI from 'openai'
import type { ChatRequest, Message } from '../../../../core/contract/chat.ts'
import type { Model, Target } from '../../../../core/contract/provider.ts'
import { deepseek } from '../../../../providers/deepseek/adapter.ts'
import type { DeepSeekMessage } from '../../../../providers/deepseek/messages.ts'

type Params = OpenAI.Chat.Completions.ChatCompletionCreateParams
type Mutable<T> = T extends readonly (infer U)[]
  ? Mutable<U>[]
  : T extends object
    ? { -readonly [K in keyof T]: Mutable<Exclude<T[K], undefined>> }
    : T

/** The fields of OpenAI's body that are sent, besides those of tools. */
const SHARED: readonly (keyof Params)[] = [
  ...(['model', 'messages', 'stream', 'stream_options', 'top_p', 'max_tokens', 'stop'] as const),
  ...(['response_format', 'logprobs', 'top_logprobs', 'reasoning_effort'] as const),
]
const _messages = (messages: Mutable<DeepSeekMessage>[]): Params['messages'] => messages

const FLASH: Partial<Model> = {
  id: 'deepseek-flash',
  aliases: ['deepseek-v4-flash', 'deepseek-chat', 'deepseek-reasoner'],
  quirks: {
    top_p: 'thinking',
    thinking_by_alias: { 'deepseek-chat': 'disabled', 'deepseek-reasoner': 'enabled' },
  },
}
const flash = targetOf(FLASH)
const pro = targetOf({ id: 'deepseek-v4-pro', quirks: { top_p: 'plain' } })
const request = { messages: [{ role: 'user', content: 'Which track?' }] } satisfies ChatRequest

describe('building a request to DeepSeek', () => {
  it('sets path and headers', () => {
    expect(deepseek.buildRequest(request, flash)).to.deep.include({
      path: '/chat/completions',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
      },
      omitted: [],
    })
  })

  it('sends only the model and messages if nothing else is set', () => {
    expect(bodyOf(request)).to.deep.equal({ model: 'deepseek-flash', messages: request.messages })
  })

  it('requests usage for streams', () => {
    const call = deepseek.buildRequest({ ...request, stream: true, stream_options: {} }, flash)
    expect(call.headers.accept).to.equal('text/event-stream')
    expect(JSON.parse(String(call.body))).to.deep.include({
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  it('passes on common parameters', () => {
    const same = { max_tokens: 20, stop: ['!'], logprobs: true, top_logprobs: 3 }
    expect(bodyOf({ ...request, ...same })).to.deep.include(same)
  })

  it('sends a temperature only without thinking, where it has an effect', () => {
    const { body, omitted } = deepseek.buildRequest({ ...request, temperature: 1.7 }, flash)
    expect(JSON.parse(String(body))).to.not.have.property('temperature')
    expect(omitted).to.deep.equal(['temperature'])
    const plain = bodyOf({ ...request, temperature: 1.7, reasoning_effort: 'none' })
    expect(plain).to.deep.include({ temperature: 1.7 })
  })

  it('sends a JSON schema in the prompt, and says so', () => {
    const schema = { type: 'object', properties: { track: { type: 'integer' } } }
    const response_format = {
      type: 'json_schema',
      json_schema: { name: 'x', description: 'A track.', schema },
    }
    const { body, changed } = deepseek.buildRequest({ ...request, response_format }, flash)
    const sent = JSON.parse(String(body))
    expect(sent.response_format).to.deep.equal({ type: 'json_object' })
    expect(sent.messages[0].role).to.equal('system')
    expect(sent.messages[0].content)
      .to.match(/^A track\.\n.*JSON Schema/)
      .and.contain(JSON.stringify(schema))
    expect(changed).to.have.length(1)
    expect(changed?.[0]).to.include({ param: 'response_format', from: 'json_schema' })
  })

  it('sends only the allowed tools', () => {
    const tool = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })
    const allowed_tools = { mode: 'required', tools: [tool('ring')] }
    const tool_choice = { type: 'allowed_tools', allowed_tools }
    const sent = bodyOf({ ...request, tools: [tool('switch'), tool('ring')], tool_choice })
    expect(sent).to.deep.include({ tools: [tool('ring')], tool_choice: 'required' })
  })

  it("sends no other fields of OpenAI than its SDK knows, and DeepSeek's own", () => {
    const all = {
      ...{ ...request, stream: true, temperature: 1, top_p: 0.97, max_tokens: 20, stop: ['!'], seed: 7 },
      ...{ response_format: { type: 'text' }, logprobs: true, top_logprobs: 2, reasoning_effort: 'high' },
      ...{ user: 'ada', presence_penalty: 1, frequency_penalty: 1, logit_bias: {}, made_up: 1 },
    }
    expect(bodyOf(all)).to.have.all.keys(...SHARED, 'thinking', 'user_id')
  })

  it('sends both token limits as max_tokens', () => {
    const body = bodyOf({ ...request, max_completion_tokens: 30, max_tokens: 20 })
    expect(body).to.include({ max_tokens: 30 }).and.not.to.have.property('max_completion_tokens')
  })

  it('omits and reports fields without effect on DeepSeek', () => {
    const fields = {
      presence_penalty: 0.5,
      frequency_penalty: null,
      seed: 7,
      logit_bias: { 50256: -100 },
      parallel_tool_calls: false,
    }
    expect(bodyOf({ ...request, ...fields })).to.have.all.keys('model', 'messages')
    expect(omittedOf({ ...request, ...fields })).to.deep.equal([
      'presence_penalty',
      'seed',
      'logit_bias',
      'parallel_tool_calls',
    ])
  })

  it('does not report omitted fields that do not affect the reply', () => {
    const unrelated = {
      metadata: { task: 'x' },
      store: true,
      service_tier: 'flex',
      stream_options: {},
      prompt_cache_key: 'a',
      n: 1,
      parallel_tool_calls: true,
      tools: [],
    }
    expect(bodyOf({ ...request, ...unrelated })).to.have.all.keys('model', 'messages')
    expect(omittedOf({ ...request, ...unrelated })).to.deep.equal([])
  })

  it('does not modify the request', () => {
    const original: ChatRequest = {
      messages: [{ role: 'tool', content: [{ type: 'text', text: 'x' }], tool_call_id: 'a' }],
      response_format: { type: 'json_object' },
    }
    const copy = structuredClone(original)
    bodyOf(original)
    expect(original).to.deep.equal(copy)
  })

  describe('the user', () => {
    for (const user of ['ada', 'Ada_9-x', 'a'.repeat(512)]) {
      it(`is sent as user_id (${user.slice(0, 10)})`, () => {
        expect(bodyOf({ ...request, user }))
          .to.include({ user_id: user })
          .and.not.to.have.property('user')
      })
    }

    it('is omitted if it is empty, and can be the safety_identifier', () => {
      expect(bodyOf({ ...request, user: '' })).not.to.have.property('user_id')
      expect(bodyOf({ ...request, safety_identifier: 'ada' })).to.have.property('user_id', 'ada')
    })
  })

  describe('thinking', () => {
    const disabled = { thinking: { type: 'disabled' } }
    const enabled = { thinking: { type: 'enabled' } }
    for (const [effort, fields] of [
      [null, {}],
      ['none', disabled],
      ['minimal', { ...enabled, reasoning_effort: 'low' }],
      ['low', { ...enabled, reasoning_effort: 'low' }],
      ['medium', { ...enabled, reasoning_effort: 'high' }],
      ['high', { ...enabled, reasoning_effort: 'high' }],
      ['xhigh', { ...enabled, reasoning_effort: 'high' }],
      ['max', { ...enabled, reasoning_effort: 'max' }],
    ] as const) {
      it(`is ${JSON.stringify(fields)} for effort ${effort}`, () => {
        const { model: _, messages, ...rest } = bodyOf({ ...request, reasoning_effort: effort })
        expect(rest).to.deep.equal(fields)
        expect(omittedOf({ ...request, reasoning_effort: effort })).to.deep.equal([])
      })
    }

    it("can be set by DeepSeek's own field", () => {
      expect(bodyOf({ ...request, ...disabled })).to.deep.include(disabled)
      expect(bodyOf({ ...request, ...enabled, reasoning_effort: 'max' })).to.deep.include({
        ...enabled,
        reasoning_effort: 'max',
      })
    })

    for (const [name, fields] of [
      ['deepseek-chat', disabled],
      ['deepseek-reasoner', enabled],
    ] as const) {
      it(`is ${fields.thinking.type} if ${name} was requested`, () => {
        const body = bodyOf(request, { ...flash, alias: name })
        expect(body).to.deep.include({ model: 'deepseek-flash', ...fields })
      })
    }

    it('is decided by the effort before a retired name', () => {
      const requested = { ...flash, alias: 'deepseek-chat' }
      expect(bodyOf({ ...request, reasoning_effort: 'low' }, requested)).to.deep.include(enabled)
    })

    it('is not decided by a name that a rule replaced', () => {
      expect(bodyOf({ ...request, model: 'deepseek-chat' }, pro)).not.to.have.property('thinking')
    })
  })

  describe('top_p', () => {
    for (const [name, target, effort, requested, sent] of [
      ['flash', flash, null, 0.5, 0.95],
      ['flash', flash, 'high', 0.98, 0.98],
      ['flash', flash, 'none', 0.5, undefined],
      ['pro', pro, null, 0.5, undefined],
      ['pro', pro, 'none', 0.5, 0.5],
      ['a model not in the catalogue', { provider: 'deepseek', model: 'deepseek-next' }, null, 0.5, 0.5],
    ] as const) {
      it(`is ${sent} for ${requested} on ${name} at effort ${effort}`, () => {
        const call = deepseek.buildRequest({ ...request, top_p: requested, reasoning_effort: effort }, target)
        expect(JSON.parse(String(call.body)).top_p).to.equal(sent)
        expect(call.omitted).to.deep.equal(sent === undefined ? ['top_p'] : [])
      })
    }
  })

  describe('messages', () => {
    it('have known fields only, and no developer role', () => {
      const messages = [
        { role: 'developer', content: 'Be brief', name: 'boss' },
        { role: 'user', content: 'Hi', name: 'ada', extra: 1 },
        { role: 'assistant', content: 'Hello', refusal: null, audio: null, reasoning_content: 'Hm.' },
      ] as unknown as Message[]
      expect(messagesOf(messages)).to.deep.equal([
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Hi', name: 'ada' },
        { role: 'assistant', content: 'Hello' },
      ])
    })

    it('have lists of texts joined', () => {
      const content = ['One', 'two'].map((text) => ({ type: 'text', text }))
      const converted = messagesOf([
        { role: 'system', content },
        { role: 'user', content },
        { role: 'tool', content, tool_call_id: 'a' },
      ])
      expect(converted.map((message) => message.content)).to.deep.equal(Array(3).fill('One\ntwo'))
    })

    it('have lists with images and files, each with known fields only', () => {
      const content = [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'https://example.com/9.png', detail: 'low', x: 1 } },
        { type: 'file', file: { file_id: 'file-1', x: 1 } },
      ]
      expect(messagesOf([{ role: 'user', content }])[0]!.content).to.deep.equal([
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'https://example.com/9.png', detail: 'low' } },
        { type: 'file', file: { file_id: 'file-1' } },
      ])
    })

    it('are rejected with audio', () => {
      const content = [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }]
      expect(() => messagesOf([{ role: 'user', content }]))
        .to.throw('does not support')
        .with.property('code', 'unsupported_parameter')
    })
  })

  describe('tool calls and results', () => {
    const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })

    it('have reasoning_content, empty if it is missing', () => {
      const messages: Message[] = [
        { role: 'assistant', content: null, reasoning_content: 'I look.', tool_calls: [call('a')] },
        { role: 'tool', tool_call_id: 'a', content: 'Nine' },
        { role: 'assistant', content: null, tool_calls: [call('b')] },
        { role: 'tool', tool_call_id: 'b', content: 'Ten' },
      ]
      expect(messagesOf(messages)).to.deep.equal([
        { role: 'assistant', content: '', reasoning_content: 'I look.', tool_calls: [call('a')] },
        { role: 'tool', tool_call_id: 'a', content: 'Nine' },
        { role: 'assistant', content: '', reasoning_content: '', tool_calls: [call('b')] },
        { role: 'tool', tool_call_id: 'b', content: 'Ten' },
      ])
    })

    it('have their images moved behind the results of parallel calls', () => {
      const image = (n: number) => ({
        type: 'image_url',
        image_url: { url: `data:image/png;base64,${n}` },
      })
      const messages: Message[] = [
        { role: 'assistant', tool_calls: [call('a'), call('b')] },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'A' }, image(1)] },
        { role: 'tool', tool_call_id: 'b', content: [image(2)] },
      ]
      const moved = {
        role: 'user',
        content: [
          { type: 'text', text: 'From tool result 1:' },
          image(1),
          { type: 'text', text: 'From tool result 2:' },
          image(2),
        ],
      }
      expect(messagesOf(messages).slice(1)).to.deep.equal([
        { role: 'tool', tool_call_id: 'a', content: 'A\n[The image follows the results.]' },
        { role: 'tool', tool_call_id: 'b', content: '[The image follows the results.]' },
        moved,
      ])
      expect(messagesOf([...messages, { role: 'user', content: 'So?' }]).slice(3)).to.deep.equal([
        moved,
        { role: 'user', content: 'So?' },
      ])
    })
  })

  describe('tools', () => {
    const ring = { name: 'ring', description: 'Rings', parameters: { type: 'object' } }
    const tool = { type: 'function', function: { ...ring, strict: true } }

    it('have no strict and no unknown fields', () => {
      expect(bodyOf({ ...request, tools: [{ ...tool, x: 1 }] }).tools).to.deep.equal([
        { type: 'function', function: ring },
      ])
    })

    const named = { type: 'function', function: { name: 'ring' } }
    for (const choice of ['auto', 'none', 'required', named]) {
      it(`have the choice ${JSON.stringify(choice)}`, () => {
        const body = bodyOf({ ...request, tools: [tool], tool_choice: choice })
        expect(body.tool_choice).to.deep.equal(choice)
      })
    }
  })

  describe('JSON mode', () => {
    const response_format = { type: 'json_object', extra: 1 }

    it('adds the word to the prompt if it is missing', () => {
      const body = bodyOf({ ...request, response_format })
      expect(body).to.deep.equal({
        model: 'deepseek-flash',
        messages: [{ role: 'system', content: 'Answer in JSON.' }, ...request.messages],
        response_format: { type: 'json_object' },
      })
    })

    it('does not change a prompt with the word', () => {
      const parts = [
        { type: 'text', text: 'As Json' },
        { type: 'image_url', image_url: { url: 'data:,' } },
      ]
      for (const content of ['Give me json', parts]) {
        expect(bodyOf({ messages: [{ role: 'user', content }], response_format }).messages).to.have.length(1)
      }
    })
  })
})

function bodyOf(chatRequest: ChatRequest, target = flash): Record<string, unknown> {
  return JSON.parse(String(deepseek.buildRequest(chatRequest, target).body))
}

function messagesOf(messages: readonly Message[]): DeepSeekMessage[] {
  return JSON.parse(String(deepseek.buildRequest({ messages }, flash).body)).messages
}

function omittedOf(chatRequest: ChatRequest): readonly string[] {
  return deepseek.buildRequest(chatRequest, flash).omitted
}

function targetOf(fields: Partial<Model>): Target {
  const entry: Model = {
    id: '',
    provider: 'deepseek',
    aliases: [],
    context: 1_000_000,
    max_output: 384_000,
    price: { input: 0.3, output: 1.2 },
    quality: 80,
    latency_ms: 2500,
    capabilities: { tools: true, images: true, json: 'object' },
    reasoning: false,
    sampling: true,
    quirks: {},
    ...fields,
  }
  return { provider: 'deepseek', model: entry.id, entry }
}
