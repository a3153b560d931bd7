import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import type OpenAI from 'openai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { ROOT } from '../support/root.ts'
import {
  chunk,
  completion,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'
import { withSettings } from '../support/settings.ts'
import { parseYaml } from '../support/yaml.ts'

interface Preset {
  readonly base_url: string
  readonly auth?: string
  readonly key_variable?: string
}

const presets: Readonly<Record<string, Preset>> = parseYaml(
  await readFile(new URL('config/provider-presets.yaml', ROOT), 'utf8'),
)
const NAMES = Object.keys(presets)
const KEY = 'pr3set-key-n0-known-prefix'

const TOOL = { type: 'function', function: { name: 'signal', parameters: { type: 'object' } } }
const CALL = { id: 'call_1', type: 'function', function: { name: 'signal', arguments: '{}' } }
const THOUGHT = [
  { role: 'user', content: 'Go' },
  { role: 'assistant', content: null, reasoning_content: 'Hm.', tool_calls: [CALL] },
  { role: 'tool', tool_call_id: 'call_1', content: 'green' },
]
const SCHEMA = { type: 'json_schema', json_schema: { name: 'track', schema: { type: 'object' } } }

/** A request to a preset, and what of it arrives. `undefined`: the field does not arrive. */
interface Sent {
  readonly preset: string
  readonly model?: string
  readonly title: string
  readonly request: object
  readonly arrives: Readonly<Record<string, unknown>>
}

const SENT: readonly Sent[] = [
  {
    preset: 'groq',
    title: 'no log probabilities and no names of authors, which it refuses',
    request: {
      logprobs: false,
      seed: 3,
      messages: [{ role: 'user', name: 'Ann', content: 'Hi' }],
    },
    arrives: {
      ...{ logprobs: undefined, seed: 3 },
      messages: [{ role: 'user', content: 'Hi' }],
    },
  },
  {
    preset: 'groq',
    model: 'openai/gpt-oss-120b',
    title: 'the reasoning of earlier replies as reasoning, for models that reason',
    request: { messages: THOUGHT },
    arrives: {
      messages: [
        THOUGHT[0],
        { role: 'assistant', content: null, tool_calls: [CALL], reasoning: 'Hm.' },
        THOUGHT[2],
      ],
    },
  },
  {
    preset: 'groq',
    model: 'llama-3.3-70b-versatile',
    title: 'no reasoning of earlier replies, for other models',
    request: { messages: THOUGHT },
    arrives: { messages: [THOUGHT[0], { role: 'assistant', content: null, tool_calls: [CALL] }, THOUGHT[2]] },
  },
  {
    preset: 'xai',
    model: 'grok-4-0709',
    title: 'no penalties, stop sequences and efforts for models that refuse them',
    request: { presence_penalty: 1, frequency_penalty: 1, stop: ['.'], reasoning_effort: 'low' },
    arrives: {
      ...{ presence_penalty: undefined, frequency_penalty: undefined },
      ...{ stop: undefined, reasoning_effort: undefined },
    },
  },
  {
    preset: 'xai',
    model: 'grok-4.3',
    title: 'the effort for models that have efforts',
    request: { reasoning_effort: 'low', max_completion_tokens: 9 },
    arrives: { reasoning_effort: 'low', max_completion_tokens: 9 },
  },
  {
    preset: 'xai',
    model: 'grok-4-fast-non-reasoning',
    title: 'penalties for models that do not reason',
    request: { presence_penalty: 1, stop: ['.'] },
    arrives: { presence_penalty: 1, stop: ['.'] },
  },
  {
    preset: 'openrouter',
    title: 'marks of the cache, biases and seeds',
    request: {
      ...{ seed: 1, logit_bias: { 5: 1 } },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] },
      ],
    },
    arrives: {
      ...{ seed: 1, logit_bias: { 5: 1 } },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] },
      ],
    },
  },
  {
    preset: 'fireworks',
    title: 'nothing that is OpenAI’s own',
    request: { store: false, verbosity: 'low', prompt_cache_retention: '24h', prompt_cache_key: 'a' },
    arrives: {
      store: undefined,
      verbosity: undefined,
      prompt_cache_retention: undefined,
      prompt_cache_key: 'a',
    },
  },
  {
    preset: 'cohere',
    title: 'none of the fields that its compatibility API lacks, and an effort that it has',
    request: {
      ...{ service_tier: 'auto', parallel_tool_calls: false, tools: [TOOL], reasoning_effort: 'low' },
      ...{ n: 1, metadata: { a: 'b' }, store: true, response_format: SCHEMA },
    },
    arrives: {
      ...{ service_tier: undefined, parallel_tool_calls: undefined, reasoning_effort: 'high' },
      ...{ n: undefined, metadata: undefined, store: undefined, response_format: SCHEMA },
    },
  },
  {
    preset: 'cohere',
    title: 'no reasoning of earlier replies',
    request: { messages: THOUGHT },
    arrives: { messages: [THOUGHT[0], { role: 'assistant', content: null, tool_calls: [CALL] }, THOUGHT[2]] },
  },
  {
    preset: 'cerebras',
    title: 'no penalties, no tier and no parallel_tool_calls, and reasoning as reasoning',
    request: {
      ...{ presence_penalty: 1, frequency_penalty: 1, service_tier: 'auto', parallel_tool_calls: false },
      ...{ messages: THOUGHT, tools: [TOOL] },
    },
    arrives: {
      ...{ presence_penalty: undefined, frequency_penalty: undefined, service_tier: undefined },
      parallel_tool_calls: undefined,
      messages: [
        THOUGHT[0],
        { role: 'assistant', content: null, tool_calls: [CALL], reasoning: 'Hm.' },
        THOUGHT[2],
      ],
    },
  },
  {
    preset: 'perplexity',
    title: 'no log probabilities and no seed',
    request: { seed: 1, logprobs: false, n: 1, temperature: 0.5 },
    arrives: { seed: undefined, logprobs: undefined, n: undefined, temperature: 0.5 },
  },
  {
    preset: 'nvidia',
    title: 'no fields that its schema does not have',
    request: { user: 'ann', n: 1, prompt_cache_key: 'a', service_tier: 'auto', seed: 2 },
    arrives: { user: undefined, n: undefined, prompt_cache_key: undefined, service_tier: undefined, seed: 2 },
  },
  {
    preset: 'moonshot',
    title: 'a temperature of at most 1, and a blank reasoning with calls',
    request: {
      temperature: 1.7,
      messages: [THOUGHT[0], { role: 'assistant', content: null, tool_calls: [CALL] }, THOUGHT[2]],
    },
    arrives: {
      temperature: 1,
      messages: [
        THOUGHT[0],
        { role: 'assistant', content: null, tool_calls: [CALL], reasoning_content: ' ' },
        THOUGHT[2],
      ],
    },
  },
  {
    preset: 'zai',
    title: 'thinking in place of an effort, user_id, and values within its ranges',
    request: {
      ...{ reasoning_effort: 'high', user: 'ann', temperature: 2, top_p: 0, presence_penalty: 1 },
      messages: [{ role: 'user', name: 'Ann', content: 'Hi' }],
    },
    arrives: {
      ...{ reasoning_effort: undefined, thinking: { type: 'enabled' }, user: undefined, user_id: 'ann' },
      ...{ temperature: 1, top_p: 0.01, presence_penalty: undefined },
      messages: [{ role: 'user', content: 'Hi' }],
    },
  },
  {
    preset: 'zai',
    title: 'thinking switched off, and no tools if none may be called',
    request: { reasoning_effort: 'none', tools: [TOOL], tool_choice: 'none' },
    arrives: {
      thinking: { type: 'disabled' },
      reasoning_effort: undefined,
      tools: undefined,
      tool_choice: undefined,
    },
  },
  {
    preset: 'minimax',
    title: 'the wish for reasoning apart from the text, and a temperature above 0',
    request: { temperature: 0, max_tokens: 9, presence_penalty: 1 },
    arrives: {
      ...{ temperature: 0.01, max_tokens: undefined, max_completion_tokens: 9 },
      ...{ presence_penalty: undefined, reasoning_split: true },
    },
  },
  {
    preset: 'minimax',
    title: 'what the caller says of it',
    request: { reasoning_split: false },
    arrives: { reasoning_split: false },
  },
  {
    preset: 'qwen',
    title: 'enable_thinking in place of an effort, and a forced function',
    request: {
      ...{ reasoning_effort: 'none', tools: [TOOL] },
      tool_choice: { type: 'function', function: { name: 'signal' } },
    },
    arrives: {
      ...{ reasoning_effort: undefined, enable_thinking: false },
      tool_choice: { type: 'function', function: { name: 'signal' } },
    },
  },
  {
    preset: 'vllm',
    title: 'all fields',
    request: {
      seed: 1,
      logit_bias: { 5: 1 },
      response_format: SCHEMA,
      chat_template_kwargs: { thinking: true },
    },
    arrives: {
      seed: 1,
      logit_bias: { 5: 1 },
      response_format: SCHEMA,
      chat_template_kwargs: { thinking: true },
    },
  },
  {
    preset: 'sglang',
    title: 'all fields',
    request: { seed: 1, response_format: SCHEMA, max_completion_tokens: 9 },
    arrives: { seed: 1, response_format: SCHEMA, max_completion_tokens: 9 },
  },
  {
    preset: 'lmstudio',
    title: 'a schema in place of JSON mode, which it refuses',
    request: { response_format: { type: 'json_object' } },
    arrives: {
      response_format: { type: 'json_schema', json_schema: { name: 'object', schema: { type: 'object' } } },
    },
  },
  ...['together', 'cohere', 'perplexity', 'nvidia', 'zai', 'qwen', 'deepinfra', 'ollama', 'lmstudio'].flatMap(
    (preset) => [
      {
        preset,
        title: 'the output limit as max_tokens',
        request: { max_completion_tokens: 7 },
        arrives: { max_tokens: 7, max_completion_tokens: undefined },
      },
      {
        preset,
        title: 'the newer of two output limits',
        request: { max_tokens: 5, max_completion_tokens: 7 },
        arrives: { max_tokens: 7, max_completion_tokens: undefined },
      },
    ],
  ),
]

/** Requests that a preset cannot express without another meaning. */
const REFUSED: readonly (readonly [preset: string, request: object, param: string])[] = [
  ['perplexity', { tools: [TOOL] }, 'tools'],
  ...['moonshot', 'zai', 'minimax', 'qwen', 'deepinfra', 'ollama'].map(
    (preset) => [preset, { tools: [TOOL], tool_choice: 'required' }, 'tool_choice'] as const,
  ),
  [
    'lmstudio',
    { tools: [TOOL], tool_choice: { type: 'function', function: { name: 'signal' } } },
    'tool_choice',
  ],
  ['minimax', { response_format: SCHEMA }, 'response_format'],
  ['zai', { response_format: SCHEMA }, 'response_format'],
]

interface Recorded {
  readonly preset: string
  readonly title: string
  /** The message of a whole reply, and the deltas of a stream. */
  readonly message: object
  readonly deltas: readonly object[]
  readonly reasoning?: string
  /** `usage` of a whole reply, and the last chunks of a stream, which have it. */
  readonly usage: object
  readonly last: readonly object[]
  /** As Anthropic's clients see it. */
  readonly counts: Readonly<Record<string, number>>
}

const finish = (more: object = {}, choice: object = {}) => ({
  ...chunk({}, 'stop'),
  choices: [{ index: 0, delta: {}, finish_reason: 'stop', ...choice }],
  ...more,
})

const RECORDED: readonly Recorded[] = [
  {
    preset: 'groq',
    title: 'its usage in x_groq, and reasoning in reasoning',
    message: { reasoning: 'Hm.', content: 'Track 9.' },
    deltas: [{ reasoning: 'Hm.' }, { content: 'Track ' }, { content: '9.' }],
    reasoning: 'Hm.',
    usage: {
      ...{ queue_time: 0.02, prompt_tokens: 120, completion_tokens: 30, total_tokens: 150 },
      ...{
        prompt_tokens_details: { cached_tokens: 100 },
        completion_tokens_details: { reasoning_tokens: 8 },
      },
    },
    last: [
      finish({
        x_groq: {
          id: 'req_1',
          usage: {
            ...{ prompt_tokens: 120, completion_tokens: 30, total_tokens: 150 },
            prompt_tokens_details: { cached_tokens: 100 },
          },
        },
      }),
    ],
    counts: { input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 30 },
  },
  {
    preset: 'xai',
    title: 'reasoning tokens that are counted apart',
    message: { reasoning_content: 'Hm.', content: 'Track 9.', refusal: null },
    deltas: [{ reasoning_content: 'Hm.' }, { content: 'Track 9.' }],
    reasoning: 'Hm.',
    usage: {
      ...{ prompt_tokens: 100, completion_tokens: 10, total_tokens: 150, num_sources_used: 0 },
      ...{
        prompt_tokens_details: { cached_tokens: 60 },
        completion_tokens_details: { reasoning_tokens: 40 },
      },
    },
    last: [
      finish(),
      {
        ...chunk({}),
        choices: [],
        usage: {
          ...{ prompt_tokens: 100, completion_tokens: 10, total_tokens: 150 },
          prompt_tokens_details: { cached_tokens: 60 },
          completion_tokens_details: { reasoning_tokens: 40 },
        },
      },
    ],
    counts: { input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 50 },
  },
  {
    preset: 'moonshot',
    title: 'cached tokens beside the others, and the usage of a stream in its choice',
    message: { reasoning_content: 'Hm.', content: 'Track 9.' },
    deltas: [{ reasoning_content: 'Hm.' }, { content: 'Track 9.' }],
    reasoning: 'Hm.',
    usage: { prompt_tokens: 90, completion_tokens: 5, total_tokens: 95, cached_tokens: 64 },
    last: [
      finish({}, { usage: { prompt_tokens: 90, completion_tokens: 5, total_tokens: 95, cached_tokens: 64 } }),
    ],
    counts: { input_tokens: 26, cache_read_input_tokens: 64, output_tokens: 5 },
  },
  {
    preset: 'together',
    title: 'cached tokens beside the others, and reasoning in reasoning',
    message: { reasoning: 'Hm.', content: 'Track 9.', tool_calls: [] },
    deltas: [{ reasoning: 'Hm.', content: '' }, { content: 'Track 9.' }],
    reasoning: 'Hm.',
    usage: { prompt_tokens: 50, completion_tokens: 6, total_tokens: 56, cached_tokens: 32 },
    last: [
      finish({ usage: { prompt_tokens: 50, completion_tokens: 6, total_tokens: 56, cached_tokens: 32 } }),
    ],
    counts: { input_tokens: 18, cache_read_input_tokens: 32, output_tokens: 6 },
  },
  {
    preset: 'perplexity',
    title: 'its own fields beside the reply',
    message: { content: 'Track 9.' },
    deltas: [{ content: 'Track 9.' }],
    usage: {
      ...{ prompt_tokens: 14, completion_tokens: 70, total_tokens: 84, search_context_size: 'low' },
      cost: { total_cost: 0.005 },
    },
    last: [
      finish({
        usage: { prompt_tokens: 14, completion_tokens: 70, total_tokens: 84 },
        citations: ['https://example.com'],
      }),
    ],
    counts: { input_tokens: 14, output_tokens: 70 },
  },
  {
    preset: 'minimax',
    title: 'reasoning in reasoning_content and reasoning_details',
    message: {
      ...{ content: 'Track 9.', reasoning_content: 'Hm.', name: 'MiniMax AI', audio_content: '' },
      reasoning_details: [{ type: 'reasoning.text', id: 'reasoning-text-1', index: 0, text: 'Hm.' }],
    },
    deltas: [
      {
        ...{ reasoning_content: 'Hm.', content: '' },
        reasoning_details: [{ type: 'reasoning.text', id: 'reasoning-text-1', index: 0, text: 'Hm.' }],
      },
      { content: 'Track 9.' },
    ],
    reasoning: 'Hm.',
    usage: {
      ...{ total_tokens: 70, total_characters: 0, prompt_tokens: 40, completion_tokens: 30 },
      prompt_tokens_details: { cached_tokens: 16 },
    },
    last: [
      finish(),
      {
        ...chunk({}),
        choices: [],
        usage: {
          ...{ total_tokens: 70, prompt_tokens: 40, completion_tokens: 30 },
          prompt_tokens_details: { cached_tokens: 16 },
        },
      },
    ],
    counts: { input_tokens: 24, cache_read_input_tokens: 16, output_tokens: 30 },
  },
]

describe('presets of providers', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway

  before(async () => {
    provider = await startScriptedProvider()
    const rows = Object.entries(presets).map(([id, { base_url }]) => {
      const { pathname } = new URL(base_url)
      return [id, { preset: id, base_url: new URL(pathname, provider.url).href.replace(/\/$/, '') }]
    })
    const own = {
      preset: 'groq',
      base_url: provider.url,
      key_variable: 'OWN_KEY',
      fields: { store: 'keep' },
    }
    const keyed = { preset: 'vllm', base_url: provider.url, key_variable: 'VLLM_API_KEY' }
    const embedder = {
      ...{ format: 'openai', base_url: provider.url, auth: 'none', body: { reasoning_split: true } },
      fields: {
        ...{ dimensions: { name: 'output_dimension' }, user: { name: 'user_id' }, encoding_format: 'drop' },
        ...{ truncate: 'refuse', input_type: 'drop' },
      },
    }
    const others = { 'my-groq': own, 'keyed-vllm': keyed, embedder }
    const settings = { providers: { ...Object.fromEntries(rows), ...others } }
    const keys = Object.values(presets).flatMap(({ key_variable }) =>
      key_variable ? [[key_variable, KEY]] : [],
    )
    gateway = await startGateway({
      ...(await withSettings(`${dump(settings)}${UNLIMITED}`)),
      ...Object.fromEntries(keys),
      ...{ OWN_KEY: 'an-0wn-key-of-this-row', VLLM_API_KEY: KEY },
    })
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  const ask = (model: string, request: object, path = '/v1/chat/completions') => {
    const messages = [{ role: 'user', content: 'Which track?' }]
    return gateway.call('POST', path, { model, messages, ...request })
  }

  for (const name of NAMES) {
    it(`${name}: requests and replies, whole and as streams, of any model`, async () => {
      const { base_url, auth } = presets[name] ?? expect.fail(name)
      const model = 'some-org/some-model-1'
      provider.play({ body: { ...completion({ content: 'Track 9.' }), model } })
      const whole = await ask(`${name}/${model}`, {})
      expect(whole.body.choices?.[0].message.content, JSON.stringify(whole.body)).to.equal('Track 9.')
      const sent = provider.last() ?? expect.fail('nothing was sent')
      expect(sent.body.model).to.equal(model)
      expect(sent.path).to.equal(`${new URL(base_url).pathname.replace(/\/$/, '')}/chat/completions`)
      expect(sent.headers.authorization).to.equal(auth === 'none' ? undefined : `Bearer ${KEY}`)

      provider.play({ chunks: [chunk({ content: 'Track ' }), chunk({ content: '9.' }), chunk({}, 'stop')] })
      const messages = [{ role: 'user' as const, content: 'Which track?' }]
      const stream = gateway.openai().chat.completions.stream({ model: `${name}:${model}`, messages })
      expect(await stream.finalContent()).to.equal('Track 9.')
      expect(provider.last()?.body).to.deep.include({ stream: true, stream_options: { include_usage: true } })
    })
  }

  for (const { preset, title, model = 'some-model', request, arrives } of SENT) {
    it(`${preset} gets ${title} (${model})`, async () => {
      provider.play({ body: completion({ content: 'Hi' }) })
      const { status, body } = await ask(`${preset}/${model}`, request)
      expect(status, JSON.stringify(body)).to.equal(200)
      const sent = provider.last()?.body
      for (const [field, value] of Object.entries(arrives)) expect(sent[field], field).to.deep.equal(value)
      provider.play({ chunks: [chunk({ content: 'Hi' }), chunk({}, 'stop')] })
      const messages = [{ role: 'user' as const, content: 'Which track?' }]
      const asked = { model: `${preset}/${model}`, messages, ...request, stream: true as const }
      let text = ''
      for await (const { choices } of await gateway.openai().chat.completions.create(asked))
        text += choices[0]?.delta.content ?? ''
      expect(text).to.equal('Hi')
      const streamed = provider.last()?.body
      for (const [field, value] of Object.entries(arrives))
        expect(streamed[field], `${field} of a stream`).to.deep.equal(value)
    })
  }

  for (const [preset, request, param] of REFUSED) {
    it(`${preset} cannot have ${JSON.stringify(request).slice(0, 60)}, so it is refused`, async () => {
      const { status, body } = await ask(`${preset}/some-model`, request)
      expect({ status, code: body.error.code, param: body.error.param }).to.deep.equal({
        ...{ status: 400, code: 'unsupported_parameter', param },
      })
    })
  }

  for (const { preset, title, message, deltas, reasoning, usage, last, counts } of RECORDED) {
    it(`${preset} answers with ${title}`, async () => {
      const limit = { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } }
      const textOf = (content: readonly { type: string; text?: string; thinking?: string }[]) => ({
        text: content.map(({ text = '' }) => text).join(''),
        reasoning: content.map(({ thinking = '' }) => thinking).join('') || undefined,
      })
      const expected = { text: 'Track 9.', reasoning }
      provider.play({ body: { ...completion(message), usage } })
      const whole = await ask(`${preset}/m`, limit, '/v1/messages')
      expect(textOf(whole.body.content)).to.deep.equal(expected)
      expect(whole.body.usage).to.include(counts)

      provider.play({ chunks: [...deltas.map((delta) => chunk(delta)), ...last] })
      const streamed = await fetch(`${gateway.url}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ model: `${preset}/m`, stream: true, messages: [{ role: 'user', content: 'Which?' }] },
          ...limit,
        }),
      })
      const events = [...(await streamed.text()).matchAll(/^data: (.+)$/gm)].map(([, data = '']) =>
        JSON.parse(data),
      )
      expect(textOf(events.flatMap(({ delta }) => (delta ? [delta] : [])))).to.deep.equal(expected)
      expect(events.findLast(({ usage }) => usage).usage).to.include(counts)
    })
  }

  for (const { preset, message, deltas, usage, last, counts } of RECORDED) {
    it(`${preset} answers clients of chat completions with cached tokens where they look for them`, async () => {
      const cached = counts.cache_read_input_tokens ?? 0
      const prompt_tokens = (counts.input_tokens ?? 0) + cached
      const check = (found: OpenAI.CompletionUsage | null | undefined) => {
        expect(found).to.include({ prompt_tokens })
        expect(found?.prompt_tokens_details?.cached_tokens ?? 0).to.equal(cached)
      }
      const { completions } = gateway.openai().chat
      const request = { model: `${preset}/m`, messages: [{ role: 'user' as const, content: 'Which?' }] }
      provider.play({ body: { ...completion(message), usage } })
      check((await completions.create(request)).usage)

      provider.play({ chunks: [...deltas.map((delta) => chunk(delta)), ...last] })
      const options = { stream: true, stream_options: { include_usage: true } } as const
      const usages: OpenAI.CompletionUsage[] = []
      for await (const { usage } of await completions.create({ ...request, ...options }))
        if (usage) usages.push(usage)
      expect(usages).to.have.length(1)
      check(usages[0])
    })
  }

  it('warns of what a provider does not get', async () => {
    provider.play({ body: completion({ content: 'Hi' }) })
    const named = [{ role: 'user', name: 'Ann', content: 'Hi' }]
    const { body } = await ask('zai/m', { presence_penalty: 1, temperature: 2, messages: named })
    const warned = JSON.stringify(body)
    expect(warned).to.contain('presence_penalty').and.contain('name in messages')
    expect(warned).to.contain('temperature was changed')
  })

  it('gets the fields of embeddings as its own settings say, too', async () => {
    const embed = (request: object) =>
      gateway.call('POST', '/v1/embeddings', { model: 'embedder/some-model', input: 'Track 9', ...request })
    provider.play({ body: { data: [{ index: 0, embedding: [0.5, 0.25] }], usage: { prompt_tokens: 2 } } })
    const { status, body } = await embed({ dimensions: 2, encoding_format: 'base64', user: 'Ann' })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(provider.last()?.body).to.deep.equal({
      ...{ model: 'some-model', input: ['Track 9'], output_dimension: 2, user_id: 'Ann' },
    })
    expect(Buffer.from(body.data[0].embedding, 'base64').readFloatLE(4)).to.equal(0.25)
    const refused = await embed({ truncate: 'END' })
    expect([refused.status, refused.body.error.param]).to.deep.equal([400, 'truncate'])
    expect(JSON.stringify((await embed({ input_type: 'query' })).body)).to.contain('input_type')
  })

  it("lets a row's own settings override the preset's", async () => {
    provider.play({ body: completion({ content: 'Hi' }) })
    await ask('my-groq/m', { store: true, logprobs: false })
    expect(provider.last()?.headers.authorization).to.equal('Bearer an-0wn-key-of-this-row')
    expect(provider.last()?.body).to.include({ store: true }).and.not.have.property('logprobs')
    await ask('keyed-vllm/m', {})
    expect(provider.last()?.headers.authorization).to.equal(`Bearer ${KEY}`)
  })
})

const UNLIMITED = 'rate_limits: { requests_per_minute: { free: null, paid: null } }\n'

describe('presets in the settings', () => {
  const readWith = async (yaml: string, environment: Record<string, string> = {}) => {
    const { readSettings, isConfigured } = await import('../../config/settings/settings.ts')
    const { providers } = readSettings({ ...(await withSettings(yaml)), ...environment })
    return { providers, isConfigured }
  }

  it('has all presets', () => {
    expect(NAMES).to.include.members(
      `groq xai openrouter together fireworks cohere cerebras perplexity nvidia moonshot zai minimax qwen
      deepinfra vllm ollama lmstudio sglang`.split(/\s+/),
    )
  })

  it('refuses an unknown preset, with the list', async () => {
    const message = await readWith('providers: { grok: { preset: grok } }\n').then(
      () => 'read',
      (error) => error.message,
    )
    expect(message).to.contain(
      'providers.grok.preset is "grok", which is not a preset; did you mean groq? use one of ',
    )
    expect(message).to.contain('cerebras, ')
    expect(message).to.contain('xai').and.not.contain('needs a format')
  })

  it('is configured with the key of the preset, or without one for local servers', async () => {
    const yaml = 'providers: { fast: { preset: groq }, local: { preset: ollama } }\n'
    const without = await readWith(yaml)
    const { fast, local } = without.providers
    expect([fast, local].map((row) => row && without.isConfigured(row))).to.deep.equal([false, true])
    const { providers } = await readWith(yaml, { GROQ_API_KEY: KEY, FAST_BASE_URL: 'http://127.0.0.1:9/v1' })
    expect(providers.fast).to.include({ api_key: KEY, base_url: 'http://127.0.0.1:9/v1', format: 'openai' })
  })

  it('knows the address of the formats that are named after a company', async () => {
    const formats = ['openai', 'anthropic', 'gemini', 'mistral', 'deepseek']
    const rows = formats.map((format) => `mine-${format}: { format: ${format} }`)
    const { providers } = await readWith(`providers: { ${rows.join(', ')} }\n`)
    for (const format of formats)
      expect(providers[`mine-${format}`]?.base_url, format).to.equal(providers[format]?.base_url)
  })

  for (const [title, row, issue] of [
    ['no format', '{ base_url: "http://a" }', 'providers.acme needs a format, or a preset'],
    [
      'fields of another format',
      '{ format: gemini, fields: { stop: drop } }',
      'providers.acme.fields requires the format openai',
    ],
  ] as const) {
    it(`refuses a row with ${title}`, async () => {
      const message = await readWith(`providers: { acme: ${row} }\n`).then(
        () => 'read',
        (error) => error.message,
      )
      expect(message).to.contain(issue)
    })
  }
})
