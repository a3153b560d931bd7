import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'
import { pairs } from '../support/rounds.ts'
import { readVectors } from '../support/vectors.ts'

const MODES = ['auto:balance', 'auto:cost', 'auto:quality', 'auto:fast']

// biome-ignore lint/suspicious/noExplicitAny: a body of any provider
type Sent = any

const tool = (name: string) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } } } },
})
const tools = [tool('look'), tool('listen')]
const named = { type: 'function', function: { name: 'listen' } }
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

const constrained = { ...schema, properties: { city: { type: 'string', pattern: '^[A-Z]' } } }

interface ParameterCase {
  readonly title: string
  readonly parameters: object
  /** What each provider that the gateway may choose must get, as a part of its body. */
  readonly sent: Readonly<Record<string, object>>
}

/** A field that has the same value in every format in which it has the same name. */
function sameValue(name: string, value: unknown, names: Readonly<Record<string, string>>): ParameterCase {
  const sent = Object.entries(names).map(([provider, field]) => [
    provider,
    provider === 'gemini' ? { generationConfig: { [field]: value } } : { [field]: value },
  ])
  return { title: `${name} ${value}`, parameters: { [name]: value }, sent: Object.fromEntries(sent) }
}

const SAME_TEMPERATURE = { openai: 'temperature', gemini: 'temperature', deepseek: 'temperature' }

const CASES: readonly ParameterCase[] = [
  sameValue('temperature', 0.3, { ...SAME_TEMPERATURE, anthropic: 'temperature', mistral: 'temperature' }),
  sameValue('temperature', 1.8, SAME_TEMPERATURE),
  sameValue('top_p', 0.5, {
    ...{ openai: 'top_p', anthropic: 'top_p', gemini: 'topP', mistral: 'top_p', deepseek: 'top_p' },
  }),
  sameValue('presence_penalty', 0.5, {
    ...{ openai: 'presence_penalty', gemini: 'presencePenalty', mistral: 'presence_penalty' },
  }),
  sameValue('frequency_penalty', -0.5, {
    ...{ openai: 'frequency_penalty', gemini: 'frequencyPenalty', mistral: 'frequency_penalty' },
  }),
  sameValue('seed', 7, { openai: 'seed', gemini: 'seed', mistral: 'random_seed' }),
  {
    title: 'stop',
    parameters: { stop: ['END'] },
    sent: {
      openai: { stop: ['END'] },
      anthropic: { stop_sequences: ['END'] },
      gemini: { generationConfig: { stopSequences: ['END'] } },
      mistral: { stop: ['END'] },
      deepseek: { stop: ['END'] },
    },
  },
  {
    title: 'logit_bias',
    parameters: { logit_bias: { 50256: -100 } },
    sent: { openai: { logit_bias: { 50256: -100 } } },
  },
  {
    title: 'max_tokens beyond most models',
    parameters: { max_tokens: 120_000 },
    sent: {
      ...Object.fromEntries(['anthropic', 'mistral', 'deepseek'].map((id) => [id, { max_tokens: 120_000 }])),
      openai: { max_completion_tokens: 120_000 },
    },
  },
  ...['low', 'high'].map((effort) => ({
    title: `reasoning_effort ${effort}`,
    parameters: { reasoning_effort: effort },
    sent: {
      openai: { reasoning_effort: effort },
      anthropic: { output_config: { effort } },
      gemini: { generationConfig: { thinkingConfig: { thinkingLevel: effort.toUpperCase() } } },
      mistral: { reasoning_effort: effort },
      deepseek: { reasoning_effort: effort },
    },
  })),
  {
    title: 'tool_choice required',
    parameters: { tools, tool_choice: 'required' },
    sent: {
      openai: { tool_choice: 'required' },
      anthropic: { tool_choice: { type: 'any' } },
      gemini: { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
      mistral: { tool_choice: 'any' },
      deepseek: { tool_choice: 'required' },
    },
  },
  {
    title: 'a named tool',
    parameters: { tools, tool_choice: named },
    sent: {
      openai: { tool_choice: named },
      responses: { tool_choice: { type: 'function', name: 'listen' } },
      anthropic: { tool_choice: { type: 'tool', name: 'listen' } },
      gemini: { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['listen'] } } },
      mistral: { tool_choice: named },
      deepseek: { tool_choice: named },
    },
  },
  {
    title: 'allowed_tools',
    parameters: {
      tools,
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } },
    },
    sent: {
      openai: { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } } },
      responses: {
        tool_choice: {
          type: 'allowed_tools',
          mode: 'required',
          tools: [{ type: 'function', name: 'listen' }],
        },
      },
      anthropic: { tool_choice: { type: 'any' }, tools: [{ name: 'listen' }] },
      gemini: { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['listen'] } } },
      mistral: { tool_choice: 'any', tools: [{ function: { name: 'listen' } }] },
      deepseek: { tool_choice: 'required', tools: [{ function: { name: 'listen' } }] },
    },
  },
  {
    title: 'parallel_tool_calls false',
    parameters: { tools, parallel_tool_calls: false },
    sent: {
      openai: { parallel_tool_calls: false },
      anthropic: { tool_choice: { disable_parallel_tool_use: true } },
      mistral: { parallel_tool_calls: false },
    },
  },
  {
    title: 'json_object',
    parameters: { response_format: { type: 'json_object' } },
    sent: {
      ...Object.fromEntries(
        ['openai', 'mistral', 'deepseek'].map((id) => [id, { response_format: { type: 'json_object' } }]),
      ),
      gemini: { generationConfig: { responseMimeType: 'application/json' } },
    },
  },
  {
    title: 'json_schema',
    parameters: { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
    sent: {
      openai: { response_format: { json_schema: { schema } } },
      anthropic: { output_config: { format: { type: 'json_schema' } } },
      gemini: { generationConfig: { responseJsonSchema: schema } },
      mistral: { response_format: { json_schema: { schema } } },
    },
  },
  {
    title: 'json_schema with a constraint that not every provider enforces',
    parameters: { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: constrained } } },
    sent: {
      openai: { response_format: { json_schema: { schema: constrained } } },
      mistral: { response_format: { json_schema: { schema: constrained } } },
    },
  },
  {
    title: 'a temperature with a forced tool',
    parameters: { temperature: 0.3, tools, tool_choice: 'required' },
    sent: {
      openai: { temperature: 0.3, tool_choice: 'required' },
      anthropic: { temperature: 0.3, tool_choice: { type: 'any' } },
      gemini: {
        generationConfig: { temperature: 0.3 },
        toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      },
      mistral: { temperature: 0.3, tool_choice: 'any' },
    },
  },
  {
    title: 'a seed, a penalty and reasoning',
    parameters: { seed: 7, presence_penalty: 1, reasoning_effort: 'high' },
    sent: {
      gemini: {
        generationConfig: { seed: 7, presencePenalty: 1, thinkingConfig: { thinkingLevel: 'HIGH' } },
      },
      mistral: { random_seed: 7, presence_penalty: 1, reasoning_effort: 'high' },
    },
  },
]

/** Reduces a body to the fields of an expected part of it. */
function pick(body: Sent, part: Sent): Sent {
  if (Array.isArray(part))
    return Array.isArray(body) ? body.map((each, index) => pick(each, part[index])) : body
  if (typeof part !== 'object' || part === null || typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.keys(part).map((key) => [key, pick(body[key], part[key])]))
}

describe('an automatic choice, by what the request asks for', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let onlyAnthropic: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 10 })
    gateway = await startGateway(providersAt(sandbox))
    onlyAnthropic = await startGateway(providersAt(sandbox, ['anthropic']))
  })
  after(async () => {
    await gateway?.stop()
    await onlyAnthropic?.stop()
    await sandbox.close()
  })

  async function ask(parameters: object, model: string, at = gateway) {
    const body = { model, messages: [{ role: 'user', content: 'In JSON: hello' }], ...parameters }
    const answer = await at.call('POST', '/v1/chat/completions', body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    const { provider, warnings = [] } = answer.body.signalbox
    return { answer, provider, warnings, sent: sandbox.requests.at(-1)?.body as Sent }
  }

  for (const [{ title, parameters, sent: expected }, mode] of pairs(CASES, MODES)) {
    it(`sends ${title} with ${mode} to a model that honours it`, async () => {
      const { answer, provider, warnings, sent } = await ask(parameters, mode)
      expect(warnings, `${provider}/${answer.body.model}`).to.deep.equal([])
      // OpenAI's newest models get tools in the Responses API.
      const isResponse = sandbox.requests.at(-1)?.path.endsWith('/responses') === true
      const part = (isResponse ? expected.responses : undefined) ?? expected[provider]
      expect(part, `${provider}/${answer.body.model} was not expected`).to.not.equal(undefined)
      expect(pick(sent, part)).to.deep.equal(part)
      const isForced = 'tool_choice' in parameters
      expect(answer.body.choices[0].finish_reason).to.equal(isForced ? 'tool_calls' : 'stop')
    })
  }

  for (const mode of MODES) {
    it(`says with ${mode} which parameter no model could honour`, async () => {
      const { sent, warnings } = await ask({ logit_bias: { 50256: 1 }, reasoning_effort: 'high' }, mode)
      const arrived = sent.logit_bias === undefined ? 'reasoning_effort' : 'logit_bias'
      const lost = arrived === 'logit_bias' ? 'reasoning_effort' : 'logit_bias'
      expect(warnings).to.have.length(1)
      expect(warnings[0].message).to.match(new RegExp(`^${lost} was omitted because `))
      expect(warnings[0].message).to.contain('No available model supports all parameters')
    })
  }

  it('says which parameter the only provider does not support', async () => {
    const { sent, warnings } = await ask({ seed: 7, temperature: 1.8 }, 'auto:cost', onlyAnthropic)
    expect(sent).to.deep.include({ temperature: 1 })
    expect(warnings.map(({ message }: { message: string }) => message)).to.deep.equal([
      'seed was omitted because claude-haiku-4-5 does not support it. ' +
        'No available model supports all parameters of this request.',
      'temperature was changed from 1.8 to 1: claude-haiku-4-5 does not support the original value. ' +
        'No available model supports all parameters of this request.',
    ])
  })

  for (const cost_priority of ['cost', 'quality', 'speed', 'balanced']) {
    it(`sends the default temperature of direct routing with ${cost_priority}`, async () => {
      const response = await fetch(`${gateway.routeUrl}/route`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ prompt: 'Hi', cost_priority }),
      })
      expect(response.status).to.equal(200)
      const body = sandbox.requests.at(-1)?.body as Sent
      expect((body.generationConfig ?? body).temperature).to.equal(0.7)
    })
  }

  const audio = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }
  const pdf = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } }
  const text = { type: 'text', text: 'What is this?' }

  for (const [title, content, providers] of [
    ['audio', [text, audio], ['openai', 'gemini', 'mistral']],
    ['a PDF', [text, pdf], ['openai', 'anthropic', 'gemini', 'mistral', 'deepseek']],
    ['no text at all', '', ['openai', 'mistral', 'deepseek']],
  ] as const) {
    it(`sends ${title} to a provider that accepts it`, async () => {
      for (const mode of MODES) {
        const { provider } = await ask({ messages: [{ role: 'user', content }] }, mode)
        expect(providers).to.include(provider)
      }
    })
  }

  it('is a 400 that names the content if no provider accepts it', async () => {
    for (const [path, body, param] of [
      ['/v1/chat/completions', { messages: [{ role: 'user', content: [audio] }] }, 'messages'],
      ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: ' ' }] }, 'messages'],
      ['/v1/responses', { input: ' ' }, 'input'],
    ] as const) {
      const answer = await onlyAnthropic.call('POST', path, { model: 'auto', ...body })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(400)
      expect(answer.body.error.message).to.equal(`No available model supports: the content of ${param}.`)
      expect(answer.body.error.param ?? 'messages').to.equal(param)
    }
  })

  it('keeps the requested model when a rule sets its provider', async () => {
    const rule = { name: 'r', is_enabled: true, priority: 0, match_json: { task: 'keep' } }
    await gateway.call('POST', '/v1/routing-rules', { ...rule, action_json: { set_provider: 'openai' } })
    const { provider, answer } = await ask({ metadata: { task: 'keep' } }, 'gpt-4o')
    expect([provider, answer.body.model]).to.deep.equal(['openai', 'gpt-4o'])
    expect((await ask({ metadata: { task: 'keep' } }, 'claude-haiku-4-5')).provider).to.equal('openai')
  })

  it('never chooses a model that refuses the request, such as one for tools of another type', async () => {
    const custom = { type: 'custom', custom: { name: 'patch' } }
    for (const mode of MODES) expect((await ask({ tools: [custom] }, mode)).provider).to.equal('openai')
  })
})

describe('a fixed model', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 10 })
    gateway = await startGateway(providersAt(sandbox))
  })
  after(async () => {
    await gateway?.stop()
    await sandbox.close()
  })

  const messages = [{ role: 'user', content: 'Hello' }]
  const flat = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }]
  const claude = [{ name: 'look', input_schema: { type: 'object' } }]

  for (const [path, body] of [
    ['/v1/chat/completions', { messages, tools, tool_choice: 'required' }],
    ['/v1/chat/completions', { messages, tools, tool_choice: named }],
    ['/v1/responses', { input: 'Hello', tools: flat, tool_choice: 'required' }],
    ['/v1/messages', { messages, max_tokens: 10, tools: claude, tool_choice: { type: 'any' } }],
  ] as const) {
    it(`that cannot be forced to call a tool is a 400 at ${path}`, async () => {
      const before = sandbox.requests.length
      const { status, body: answer } = await gateway.call('POST', path, { ...body, model: 'claude-opus-5-5' })
      expect(status, JSON.stringify(answer)).to.equal(400)
      expect(answer.error.param).to.equal('tool_choice')
      expect(answer.error.message).to.contain('cannot be forced').and.contain('quirks.forced_tools')
      expect(sandbox.requests.length).to.equal(before)
    })
  }

  interface ChangeCase {
    readonly model: string
    readonly parameters: object
    readonly warning: string
  }
  for (const { model, parameters, warning } of readVectors<readonly ChangeCase[]>('changed-parameters')) {
    it(`${model} with ${JSON.stringify(parameters)}: a warning with both values`, async () => {
      const { body } = await gateway.call('POST', '/v1/chat/completions', { model, messages, ...parameters })
      const found = (body.signalbox?.warnings ?? []).map(({ message }: { message: string }) => message)
      expect(found, JSON.stringify(body)).to.have.length(1)
      expect(found[0]).to.satisfy((message: string) => message.startsWith(warning))
    })
  }

  it('warnings name parameters of responses as the caller wrote them', async () => {
    const { body } = await gateway.call('POST', '/v1/responses', {
      ...{ model: 'claude-haiku-4-5', input: 'Hi', max_output_tokens: 90_000 },
      text: { format: { type: 'json_object' } },
    })
    const found = body.signalbox.warnings.map(({ message }: { message: string }) => message)
    expect(found[0]).to.contain('max_output_tokens was changed from 90000 to 64000')
    expect(found[1]).to.contain('text.format was changed from "json_object"')
  })
})
