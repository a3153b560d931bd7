import type { ChatCompletionRequest$Outbound } from '@mistralai/mistralai/models/components'
import { expect } from 'chai'
import type { ChatRequest, Message } from '../../../../core/contract/chat.ts'
import type { Model, Quirks, Target } from '../../../../core/contract/provider.ts'
import { mistral } from '../../../../providers/mistral/adapter.ts'
import type { MistralMessage } from '../../../../providers/mistral/messages.ts'

type KeysOf<T> = T extends unknown ? keyof T : never
type Unknown<Ours, Theirs> = Exclude<KeysOf<Ours>, KeysOf<Theirs>>
/**
 * The SDK's type with all fields optional: it always sends some fields that the provider does not require.
 */
type Lenient<T> = T extends readonly (infer U)[]
  ? readonly Lenient<U>[]
  : T extends object
    ? { readonly [K in keyof T]?: Lenient<T[K]> | undefined }
    : T

type Outbound = ChatCompletionRequest$Outbound
const _messages = (messages: readonly MistralMessage[]): Lenient<Outbound['messages']> => messages
const _knows: Unknown<MistralMessage, Outbound['messages'][number]> extends never ? true : false = true
/** All fields that are sent, besides those of tools. */
const FIELDS: readonly (keyof Outbound)[] = [
  ...(['model', 'messages', 'stream', 'temperature', 'top_p', 'max_tokens', 'stop', 'random_seed'] as const),
  ...(['presence_penalty', 'frequency_penalty', 'response_format', 'reasoning_effort'] as const),
  ...(['prediction', 'prompt_cache_key', 'service_tier', 'safe_prompt'] as const),
]

const target = withQuirks()
const request = { messages: [{ role: 'user', content: 'Which track?' }] } satisfies ChatRequest

describe('building a request to Mistral', () => {
  it('sets path and headers', () => {
    expect(mistral.buildRequest(request, target)).to.deep.include({
      path: '/v1/chat/completions',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
      },
      omitted: [],
    })
  })

  it('sends only the model and messages if nothing else is set', () => {
    expect(bodyOf(request)).to.deep.equal({ model: 'mistral-medium-3.5', messages: request.messages })
  })

  it('streams', () => {
    const call = mistral.buildRequest({ ...request, stream: true }, target)
    expect(call.headers.accept).to.equal('text/event-stream')
    expect(JSON.parse(String(call.body))).to.have.property('stream', true)
  })

  it('passes on common parameters', () => {
    const same = {
      temperature: 0.3,
      top_p: 0.9,
      max_tokens: 20,
      stop: ['!'],
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      prompt_cache_key: 'timetable',
      service_tier: 'auto',
      safe_prompt: true,
      prediction: { type: 'content', content: 'Track 9' },
    }
    expect(bodyOf({ ...request, ...same })).to.deep.include(same)
  })

  it('sends only fields that its SDK knows', () => {
    const all = {
      ...{ ...request, stream: true, temperature: 0.3, top_p: 0.9, max_tokens: 20, stop: ['!'], seed: 7 },
      ...{ presence_penalty: 0.5, frequency_penalty: -0.5, response_format: { type: 'text' } },
      ...{ reasoning_effort: 'high', prompt_cache_key: 'timetable', service_tier: 'auto', safe_prompt: true },
      ...{ prediction: { type: 'content', content: 'Track 9' }, logit_bias: {}, user: 'ada', made_up: 1 },
    }
    expect(bodyOf(all, withQuirks({ efforts: ['high'] }))).to.have.all.keys(FIELDS)
  })

  it('does not send max_completion_tokens, user, seed and stream_options', () => {
    const call = mistral.buildRequest(
      {
        ...request,
        max_completion_tokens: 30,
        max_tokens: 20,
        user: 'ada',
        seed: 7,
        stream: true,
        stream_options: { include_usage: true },
        metadata: { task: 'x' },
        store: true,
        safety_identifier: 'ada',
        service_tier: 'flex',
        n: 1,
        logprobs: false,
      },
      target,
    )
    expect(JSON.parse(String(call.body))).to.deep.equal({
      model: 'mistral-medium-3.5',
      messages: request.messages,
      max_tokens: 30,
      random_seed: 7,
      stream: true,
    })
    expect(call.omitted).to.deep.equal([])
  })

  it('omits and reports unsupported fields', () => {
    const fields = { logit_bias: { 50256: -100 }, top_logprobs: 3, verbosity: 'low', made_up: null }
    expect(omittedOf({ ...request, ...fields })).to.deep.equal(['logit_bias', 'top_logprobs', 'verbosity'])
    expect(bodyOf({ ...request, ...fields })).to.have.all.keys('model', 'messages')
  })

  it('limits the temperature to 1', () => {
    expect(bodyOf({ ...request, temperature: 1.7 })).to.have.property('temperature', 1)
    expect(bodyOf({ ...request, temperature: 0 })).to.have.property('temperature', 0)
  })

  it('does not modify the request', () => {
    const original = {
      ...request,
      temperature: 2,
      tools: [],
      messages: [{ role: 'developer', content: 'Hi' }],
    }
    const copy = structuredClone(original)
    mistral.buildRequest(original as ChatRequest, target)
    expect(original).to.deep.equal(copy)
  })

  describe('messages', () => {
    it('have known fields only', () => {
      const messages = [
        { role: 'system', content: 'Be brief', name: 'boss' },
        { role: 'user', content: 'Hi', name: 'ada', tool_calls: null },
        { role: 'assistant', content: 'Hello', refusal: null, audio: null, reasoning_content: 'Hm.' },
        { role: 'user', content: 'Bye' },
      ] as unknown as Message[]
      expect(messagesOf(messages)).to.deep.equal([
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello' },
        { role: 'user', content: 'Bye' },
      ])
    })

    it('convert developer to system, and join text parts', () => {
      const content = [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.' },
      ]
      const [first] = messagesOf([{ role: 'developer', content }, ...request.messages])
      expect(first).to.deep.equal({ role: 'system', content: 'Be brief.\nBe kind.' })
    })

    it('mark an assistant message at the end as a prefix', () => {
      const messages: Message[] = [
        { role: 'user', content: 'Count' },
        { role: 'assistant', content: 'One,' },
      ]
      expect(messagesOf(messages).at(-1)).to.deep.equal({ role: 'assistant', content: 'One,', prefix: true })
    })

    it('end with a user or a tool: later instructions are marked texts of the user', () => {
      const system = { role: 'system', content: 'Be brief.' } as const
      const user = { role: 'user', content: 'Which track?' } as const
      const said = { role: 'assistant', content: 'One,' } as const
      const called = { id: 'abcdefghi', type: 'function', function: { name: 'look', arguments: '{}' } }
      const call = { role: 'assistant', content: '', tool_calls: [called] } as const
      const result = { role: 'tool', content: 'Page 7', tool_call_id: 'abcdefghi' } as const
      const asUser = { ...system, role: 'user' }
      const marked = { role: 'user', content: '<system-reminder>\nBe brief.\n</system-reminder>' }
      const reply = { role: 'assistant', content: 'I have read the result.' }
      for (const [messages, sent] of [
        [
          [user, said, user, system, system],
          [user, said, user, marked, marked],
        ],
        [
          [user, call, result, system],
          [user, call, result, reply, marked],
        ],
        [
          [user, said, system],
          [user, said, marked],
        ],
        [[system], [asUser]],
      ] as const)
        expect(messagesOf([...messages])).to.deep.equal(sent)
    })

    it('can hold images, audio and files, each with known fields only', () => {
      const url = 'data:image/png;base64,AAAA'
      const content = [
        { type: 'text', text: 'Look', annotations: [] },
        { type: 'image_url', image_url: { url, detail: 'low', extra: 1 } },
        { type: 'image_url', image_url: 'https://example.com/9.png' },
        { type: 'input_audio', input_audio: { data: 'BBBB', format: 'wav' } },
        { type: 'file', file: { file_id: 'file-1' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,CCCC', filename: 'map.pdf' } },
        { type: 'document_url', document_url: 'https://example.com/a.pdf' },
      ]
      expect(messagesOf([{ role: 'user', content }])[0]).to.have.deep.property('content', [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url, detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://example.com/9.png' } },
        { type: 'input_audio', input_audio: 'BBBB' },
        { type: 'file', file_id: 'file-1' },
        {
          type: 'document_url',
          document_url: 'data:application/pdf;base64,CCCC',
          document_name: 'map.pdf',
        },
        { type: 'document_url', document_url: 'https://example.com/a.pdf' },
      ])
    })

    it('are rejected with unsupported content', () => {
      const message: Message = { role: 'user', content: [{ type: 'video_url', video_url: 'x' }] }
      expect(() => messagesOf([message]))
        .to.throw('does not support')
        .with.property('code', 'unsupported_parameter')
    })
  })

  describe('tool calls of earlier replies', () => {
    const call = (id: string) => ({
      id,
      type: 'function',
      index: 0,
      function: { name: 'ring', arguments: '{}', extra: 1 },
    })
    const history = (...ids: string[]): Message[] => [
      { role: 'user', content: 'Ring' },
      { role: 'assistant', content: null, tool_calls: ids.map(call) },
      ...ids.map((id) => ({ role: 'tool' as const, tool_call_id: id, content: 'rung', name: 'ring' })),
    ]

    it('have known fields only', () => {
      expect(messagesOf(history('D681PevKs')).slice(1)).to.deep.equal([
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'D681PevKs', type: 'function', function: { name: 'ring', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'D681PevKs', content: 'rung', name: 'ring' },
      ])
    })

    it('are not marked as a prefix', () => {
      expect(messagesOf(history('call_1').slice(0, 2)).at(-1)).not.to.have.property('prefix')
    })
  })

  describe('tools', () => {
    const tool = { type: 'function', function: { name: 'ring', parameters: { type: 'object' } } }

    it('have known fields only, and always parameters', () => {
      const tools = [
        {
          ...tool,
          cache_control: {},
          function: { ...tool.function, description: 'Rings', strict: true, x: 1 },
        },
        { type: 'function', function: { name: 'wave' } },
      ]
      expect(bodyOf({ ...request, tools }).tools).to.deep.equal([
        { ...tool, function: { ...tool.function, description: 'Rings', strict: true } },
        { type: 'function', function: { name: 'wave', parameters: { type: 'object', properties: {} } } },
      ])
    })

    it('are omitted if there are none, with all related fields', () => {
      const body = bodyOf({ ...request, tools: [], tool_choice: 'auto', parallel_tool_calls: true })
      expect(body).to.have.all.keys('model', 'messages')
    })

    it('can be restricted to one call at a time', () => {
      const body = bodyOf({ ...request, tools: [tool], parallel_tool_calls: false })
      expect(body).to.have.property('parallel_tool_calls', false)
    })

    const named = { type: 'function', function: { name: 'ring' } }
    for (const [choice, sent] of [
      ['auto', 'auto'],
      ['none', 'none'],
      ['required', 'any'],
      [named, named],
    ] as const) {
      it(`have the choice ${JSON.stringify(sent)} for ${JSON.stringify(choice)}`, () => {
        const body = bodyOf({ ...request, tools: [tool], tool_choice: choice })
        expect(body.tool_choice).to.deep.equal(sent)
      })
    }

    it('are rejected if they are not functions', () => {
      expect(() => bodyOf({ ...request, tools: [{ type: 'web_search' }] }))
        .to.throw('web_search')
        .with.property('code', 'unsupported_parameter')
    })
  })

  it('adds the word JSON to the prompt for JSON mode', () => {
    const body = bodyOf({ ...request, response_format: { type: 'json_object' } })
    expect(body.messages).to.deep.equal([{ role: 'system', content: 'Answer in JSON.' }, ...request.messages])
  })

  it('sends a response format with known fields only', () => {
    const json_schema = { name: 'track', schema: { type: 'object' }, strict: true }
    const format = { type: 'json_schema', json_schema: { ...json_schema, extra: 1 } }
    expect(bodyOf({ ...request, response_format: format }).response_format).to.deep.equal({
      type: 'json_schema',
      json_schema,
    })
    expect(bodyOf({ ...request, response_format: { type: 'json_object' } }).response_format).to.deep.equal({
      type: 'json_object',
    })
  })

  describe('reasoning', () => {
    const medium: Quirks = { efforts: ['high'], thinking_off: 'disabled' }
    const large: Quirks = { efforts: ['low', 'medium', 'high'] }
    const magistral: Quirks = { thinking: 'prompt_mode', thinking_off: 'disabled' }
    for (const [model, quirks, effort, fields] of [
      ['medium-3.5', medium, 'low', { reasoning_effort: 'high' }],
      ['medium-3.5', medium, 'xhigh', { reasoning_effort: 'high' }],
      ['medium-3.5', medium, 'none', { reasoning_effort: 'none' }],
      ['large-4', large, 'medium', { reasoning_effort: 'medium' }],
      ['large-4', large, 'minimal', { reasoning_effort: 'low' }],
      ['large-4', large, 'none', { reasoning_effort: 'low' }],
      ['large-4', large, 'max', { reasoning_effort: 'high' }],
      ['magistral', magistral, 'low', { prompt_mode: 'reasoning' }],
      ['magistral', magistral, 'none', { reasoning_effort: 'none' }],
    ] as const) {
      it(`is ${JSON.stringify(fields)} for ${effort} on ${model}`, () => {
        const call = mistral.buildRequest({ ...request, reasoning_effort: effort }, withQuirks(quirks))
        const { model: _, messages, ...rest } = JSON.parse(String(call.body))
        expect(rest).to.deep.equal(fields)
        expect(call.omitted).to.deep.equal([])
      })
    }

    it('is omitted and reported for models without reasoning', () => {
      const call = mistral.buildRequest({ ...request, reasoning_effort: 'high' }, target)
      expect(JSON.parse(String(call.body))).to.have.all.keys('model', 'messages')
      expect(call.omitted).to.deep.equal(['reasoning_effort'])
      expect(omittedOf({ ...request, reasoning_effort: 'none' })).to.deep.equal([])
    })

    it('is passed on to models that are not in the catalogue', () => {
      const unknown = { provider: 'mistral', model: 'mistral-next' }
      const call = mistral.buildRequest({ ...request, reasoning_effort: 'low' }, unknown)
      expect(JSON.parse(String(call.body))).to.include({ model: 'mistral-next', reasoning_effort: 'low' })
    })
  })
})

function bodyOf(chatRequest: ChatRequest, to = target): Record<string, unknown> {
  return JSON.parse(String(mistral.buildRequest(chatRequest, to).body))
}

function messagesOf(messages: readonly Message[]): MistralMessage[] {
  return JSON.parse(String(mistral.buildRequest({ messages }, target).body)).messages
}

function omittedOf(chatRequest: ChatRequest): readonly string[] {
  return mistral.buildRequest(chatRequest, target).omitted
}

function withQuirks(quirks: Quirks = {}): Target {
  const entry: Model = {
    id: 'mistral-medium-3.5',
    provider: 'mistral',
    aliases: [],
    context: 262_144,
    max_output: 262_144,
    price: { input: 1.5, output: 7.5 },
    quality: 80,
    latency_ms: 2500,
    capabilities: { tools: true, images: true, json: 'none' },
    reasoning: false,
    sampling: true,
    quirks,
  }
  return { provider: 'mistral', model: entry.id, entry }
}
