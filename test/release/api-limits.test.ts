import { expect } from 'chai'
import type { SseEvent } from '../../core/contract/index.ts'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { writeSettings } from '../support/settings-file.ts'
import {
  type Combination,
  combinations,
  encodeReply,
  type ProviderCall,
  refusalOf,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

const LONG = 'mcp__claude_ai_company_knowledge_base__search_documents_by_author_and_date_modified'
const NAMES = [
  LONG,
  `${LONG}_2`,
  'files.read/all',
  'Wetter für heute',
  '1st',
  'plain_tool-1',
  'p'.repeat(140),
]
const IDS = [
  'call_1',
  'toolu_01AbCdEfGhIjKlMnOpQrStUv',
  'functions.read:0',
  `call_${'x'.repeat(30)}|fc_${'y'.repeat(40)}`,
]

const EMPTY = { type: 'object', properties: {} }

/** Bodies in each dialect that has tools. */
const DIALECTS: Readonly<Record<'chat' | 'messages' | 'responses', DialectBodies>> = {
  chat: {
    tools: (names, schema) => ({
      tools: names.map((name) => ({ type: 'function', function: { name, parameters: schema } })),
    }),
    choose: (name) => ({ tool_choice: { type: 'function', function: { name } } }),
    history: (calls) => ({
      messages: [
        { role: 'user', content: 'Go' },
        {
          role: 'assistant',
          content: null,
          tool_calls: calls.map(({ id, name }) => ({
            id,
            type: 'function',
            function: { name, arguments: '{}' },
          })),
        },
        ...calls.map(({ id, name }) => ({ role: 'tool', tool_call_id: id, name, content: 'done' })),
      ],
    }),
  },
  messages: {
    tools: (names, schema) => ({ tools: names.map((name) => ({ name, input_schema: schema })) }),
    choose: (name) => ({ tool_choice: { type: 'tool', name } }),
    history: (calls) => ({
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: calls.map((call) => ({ type: 'tool_use', input: {}, ...call })) },
        {
          role: 'user',
          content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'done' })),
        },
      ],
    }),
  },
  responses: {
    tools: (names, schema) => ({
      tools: names.map((name) => ({ type: 'function', name, parameters: schema })),
    }),
    choose: (name) => ({ tool_choice: { type: 'function', name } }),
    history: (calls) => ({
      input: [
        { type: 'message', role: 'user', content: 'Go' },
        ...calls.map(({ id, name }) => ({ type: 'function_call', call_id: id, name, arguments: '{}' })),
        ...calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: 'done' })),
      ],
    }),
  },
}

interface DialectBodies {
  tools(names: readonly string[], schema: object): object
  choose(name: string): object
  history(calls: readonly { readonly id: string; readonly name: string }[]): object
}

const DIALECT_NAMES = Object.keys(DIALECTS) as readonly (keyof typeof DIALECTS)[]

/** The names of the tools in a request, whatever the format is. */
function toolNamesIn({ format, body }: ProviderCall): readonly string[] {
  const tools = format === 'gemini' ? body.tools[0].functionDeclarations : body.tools
  return tools.map((tool: { name?: string; function?: { name: string } }) => tool.function?.name ?? tool.name)
}

/** The schemas of the tools' arguments. */
function schemasIn({ format, body }: ProviderCall): readonly object[] {
  const tools = format === 'gemini' ? body.tools[0].functionDeclarations : body.tools
  return tools.map(
    (tool: { function?: { parameters: object }; [field: string]: unknown }) =>
      tool.function?.parameters ?? tool.input_schema ?? tool.parametersJsonSchema ?? tool.parameters,
  )
}

describe('what an API refuses', () => {
  let bench: TranslationBench
  let refusals: (string | undefined)[] = []

  before(async () => {
    bench = await startTranslationBench()
  })
  beforeEach(() => {
    refusals = []
    bench.respond(answerWith({}))
  })
  after(() => bench?.close())

  const answerWith = (reply: Parameters<typeof encodeReply>[1]) => (call: ProviderCall) => {
    refusals.push(refusalOf(call))
    return encodeReply(call, reply)
  }

  /** Asks, and fails if the sandbox would refuse what is sent. */
  async function ask(combination: Combination, body: object) {
    const asked = await bench.ask(combination, { body })
    expect(refusals.filter((refusal) => refusal !== undefined)).to.deep.equal([])
    expect(asked.status, asked.raw).to.equal(200)
    return asked
  }

  describe('names of tools', () => {
    for (const combination of combinations(DIALECT_NAMES)) {
      const bodies = DIALECTS[combination.dialect as keyof typeof DIALECTS]
      it(`are shortened, and come back whole: ${combination.title}`, async () => {
        bench.respond((call) => {
          refusals.push(refusalOf(call))
          const toolCalls = toolNamesIn(call).map((name, index) => ({
            id: `call_${index}`,
            name,
            argumentsJson: '{}',
          }))
          return encodeReply(call, { toolCalls })
        })
        const history = bodies.history(NAMES.map((name, index) => ({ id: `call_${index}`, name })))
        const asked = await ask(combination, { ...bodies.tools(NAMES, EMPTY), ...history })
        expect(asked.calls.map(({ name }) => name)).to.deep.equal(NAMES)
        const sent = toolNamesIn(bench.calls.at(-1)!)
        expect(new Set(sent).size).to.equal(NAMES.length)
        for (const name of sent) if (!NAMES.includes(name)) expect(asked.raw).not.to.contain(name)
        // The history has the same names, and the same caller's name is sent alike in every request.
        const json = JSON.stringify(bench.calls.at(-1)!.body)
        for (const name of sent) expect(json.split(JSON.stringify(name)).length).to.be.greaterThan(2)
        await ask(combination, { ...bodies.tools([NAMES[1]!, 'other'], EMPTY), ...bodies.choose(NAMES[1]!) })
        expect(toolNamesIn(bench.calls.at(-1)!)[0]).to.equal(sent[1])
      })
    }

    it('come back whole in further choices and in deltas that repeat them', async () => {
      const combination: Combination = { dialect: 'chat', format: 'compatible', stream: true }
      bench.respond((call) => {
        const [name] = toolNamesIn(call)
        const delta = (json: string) => ({
          tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: json } }],
        })
        const record = (fields: object): SseEvent => ({ event: '', data: JSON.stringify(fields) })
        const chunk = (delta: object, finish_reason: string | null = null) =>
          record({
            id: 'c',
            object: 'chat.completion.chunk',
            model: 'm',
            choices: [{ index: 0, delta, finish_reason }],
          })
        return {
          records: [
            chunk(delta('{')),
            chunk(delta('}')),
            chunk({}, 'tool_calls'),
            { event: '', data: '[DONE]' },
          ],
        }
      })
      const asked = await bench.ask(combination, { body: DIALECTS.chat.tools([LONG], EMPTY) })
      const [sent] = toolNamesIn(bench.calls.at(-1)!)
      expect(asked.raw).to.contain(LONG).and.not.to.contain(sent)
    })

    it('are sent as they are where they fit', async () => {
      const names = ['plain_tool-1', 'p'.repeat(100), 'a.b:c']
      for (const [format, kept] of [
        ['anthropic', names.slice(0, 2)],
        ['gemini', [names[0], names[2]]],
        ['mistral', [names[0]]],
      ] as const) {
        await ask({ dialect: 'chat', format, stream: false }, DIALECTS.chat.tools(names, EMPTY))
        expect(toolNamesIn(bench.calls.at(-1)!).filter((name) => names.includes(name))).to.deep.equal(kept)
      }
    })

    for (const { title, ...combination } of combinations(['chat'], ['openai', 'responses', 'compatible']))
      it(`fit in custom tools, allowed tools and calls in the old form: ${title}`, async () => {
        const custom = { type: 'custom', custom: { name: LONG } }
        const tool = { type: 'function', function: { name: `${LONG}_2` } }
        await ask(combination, {
          tools: [custom, tool],
          tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [custom, tool] } },
          messages: [
            { role: 'user', content: 'Go' },
            { role: 'assistant', content: null, function_call: { name: LONG, arguments: '{}' } },
            { role: 'function', name: LONG, content: 'done' },
            {
              role: 'assistant',
              content: null,
              tool_calls: [{ id: 'c', ...custom, custom: { name: LONG, input: 'x' } }],
            },
            { role: 'tool', tool_call_id: 'c', content: 'done' },
          ],
        })
        const json = JSON.stringify(bench.calls.at(-1)!.body)
        expect(json).not.to.contain(LONG)
      })
  })

  describe('ids of calls', () => {
    for (const combination of combinations(DIALECT_NAMES)) {
      const bodies = DIALECTS[combination.dialect as keyof typeof DIALECTS]
      it(`are replaced in calls and results alike: ${combination.title}`, async () => {
        const calls = IDS.map((id) => ({ id, name: 'read' }))
        await ask(combination, { ...bodies.tools(['read'], EMPTY), ...bodies.history(calls) })
      })
    }
  })

  describe('schemas of arguments', () => {
    const ALTERNATIVES = {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
    }
    const UNION = {
      oneOf: [{ $ref: '#/$defs/Ring' }, { $ref: '#/$defs/Wave' }],
      $defs: {
        Ring: {
          type: 'object',
          properties: { kind: { const: 'ring' }, bell: { type: 'string' } },
          required: ['kind', 'bell'],
        },
        Wave: { type: 'object', properties: { kind: { const: 'wave' } }, required: ['kind'] },
      },
    }

    for (const combination of combinations(DIALECT_NAMES)) {
      const bodies = DIALECTS[combination.dialect as keyof typeof DIALECTS]
      it(`have an object without alternatives at their root: ${combination.title}`, async () => {
        const isChanged = ['anthropic', 'openai', 'responses', 'compatible'].includes(combination.format)
        for (const [schema, merged, keyword] of [
          [
            ALTERNATIVES,
            { properties: ALTERNATIVES.properties, description: 'Alternatives: a | b.' },
            'anyOf',
          ],
          [
            UNION,
            {
              properties: { kind: { enum: ['ring', 'wave'] }, bell: { type: 'string' } },
              required: ['kind'],
            },
            'oneOf',
          ],
        ] as const) {
          const asked = await ask(combination, bodies.tools(['act'], schema))
          if (!isChanged) continue
          expect(schemasIn(bench.calls.at(-1)!)[0]).to.deep.include({ type: 'object', ...merged })
          if (!combination.stream) expect(asked.warnings.join()).to.contain(`${keyword} at the root`)
        }
      })
    }

    for (const combination of combinations(
      ['chat', 'messages', 'responses'],
      ['openai', 'responses', 'compatible'],
    ))
      it(`are strict only where OpenAI accepts them: ${combination.title}`, async () => {
        const schema = {
          type: 'object',
          properties: { a: { type: 'string' }, b: { type: 'string' } },
          required: ['a'],
          additionalProperties: false,
        }
        const format = { type: 'json_schema', name: 'x', schema, strict: true }
        const body = {
          chat: {
            tools: [{ type: 'function', function: { name: 'act', parameters: schema, strict: true } }],
            response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
          },
          messages: {
            tools: [{ name: 'act', input_schema: schema, strict: true }],
            output_config: { format: { type: 'json_schema', schema } },
          },
          responses: {
            tools: [{ type: 'function', name: 'act', parameters: schema, strict: true }],
            text: { format },
          },
        }[combination.dialect as keyof typeof DIALECTS]
        const asked = await ask(combination, body)
        if (!combination.stream) expect(asked.warnings.join()).to.contain('strict: false')
      })
  })

  describe('marks of a cache of prompts', () => {
    const cache_control = { type: 'ephemeral' }
    const part = (text: string) => ({ type: 'text', text, cache_control })
    const call = {
      ...{ id: 'call_1', type: 'function', cache_control },
      function: { name: 'act', arguments: '{}' },
    }
    const body = {
      cache_control,
      tools: [
        { type: 'function', cache_control, function: { name: 'act', parameters: EMPTY, cache_control } },
      ],
      messages: [
        { role: 'system', content: [part('Be brief.')] },
        { role: 'user', content: [part('a'), part('b')] },
        { role: 'assistant', content: 'c', cache_control, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: [part('r')], cache_control },
        { role: 'user', content: [part('d'), part('e')] },
      ],
    }

    for (const combination of combinations(['chat'])) {
      it(`are sent to Anthropic only, and at most four: ${combination.title}`, async () => {
        const { warnings } = await ask(combination, body)
        expect(warnings).to.deep.equal([])
        const marks = JSON.stringify(bench.calls.at(-1)!.body).split('"cache_control"').length - 1
        expect(marks).to.equal(combination.format === 'anthropic' ? 4 : 0)
      })
    }
  })

  describe('marks of a cache, for a compatible provider that reads them,', () => {
    let provider: ScriptedProvider
    let gateway: RunningGateway

    before(async () => {
      provider = await startScriptedProvider()
      const row = `{ format: openai, base_url: "${provider.url}", auth: none, capabilities: { cache_control: true } }`
      gateway = await startGateway({ CONFIG: await writeSettings(`providers:\n  router: ${row}\n`) })
    })
    after(async () => {
      await gateway?.stop()
      provider?.close()
    })

    it('are kept', async () => {
      provider.play({ body: { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] } })
      const content = [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }]
      const body = { model: 'router:m', messages: [{ role: 'user', content }] }
      expect(await gateway.call('POST', '/v1/chat/completions', body)).to.include({ status: 200 })
      expect(provider.last()?.body.messages[0].content).to.deep.equal(content)
    })
  })

  describe('parameters', () => {
    for (const combination of combinations(['chat']))
      it(`are within the limits of the API: ${combination.title}`, async () => {
        const stop = Array.from({ length: 20 }, (_, index) => `stop ${index}`)
        const user = `user_${'a'.repeat(64)}_account_${'b'.repeat(100)}`
        const asked = await ask(combination, {
          stop,
          seed: -(2 ** 40),
          user,
          prompt_cache_key: 'k'.repeat(100),
          safety_identifier: 'ada@example.com'.repeat(9),
          store: true,
          metadata: { team: 'ops', note: 'n'.repeat(600), count: 3 },
          stream_options: { include_usage: true },
          tools: [],
          tool_choice: 'auto',
          parallel_tool_calls: true,
          messages: [{ role: 'user', name: 'Ada Lovelace <ada>', content: 'Hi' }],
        })
        if (
          ['openai', 'compatible', 'gemini', 'deepseek'].includes(combination.format) &&
          !combination.stream
        )
          expect(asked.warnings.join()).to.contain('stop was changed')
      })

    it('of a client of Anthropic reach OpenAI in a form that it accepts', async () => {
      for (const format of ['openai', 'responses', 'compatible'] as const)
        await ask(
          { dialect: 'messages', format, stream: false },
          {
            stop_sequences: ['a', 'b', 'c', 'd', 'e'],
            metadata: { user_id: `user_${'a'.repeat(64)}_account__session_${'b'.repeat(36)}` },
          },
        )
    })

    it('keep a schema with a name that others accept', async () => {
      for (const format of ['openai', 'responses', 'mistral', 'compatible'] as const) {
        const json_schema = { name: 'Wetter für heute', schema: EMPTY }
        await ask(
          { dialect: 'chat', format, stream: false },
          { response_format: { type: 'json_schema', json_schema } },
        )
      }
    })
  })
})

describe('embeddings of more texts than an API accepts', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway

  useSandboxGateway(100, (...started) => {
    ;[sandbox, gateway] = started
  })

  const texts = (count: number, chars = 8) =>
    Array.from({ length: count }, (_, index) => `${index} `.padEnd(chars, 'x'))

  async function embed(model: string, input: readonly string[]) {
    const from = sandbox.requests.length
    const answer = await gateway.call('POST', '/v1/embeddings', { model, input })
    return { answer, sent: sandbox.requests.slice(from) }
  }

  for (const { model, count, chars, calls } of [
    { model: 'gemini-embedding-001', count: 250, chars: 8, calls: 3 },
    { model: 'mistral-embed', count: 600, chars: 8, calls: 2 },
    { model: 'mistral-embed', count: 20, chars: 4000, calls: 3 },
    { model: 'text-embedding-3-small', count: 250, chars: 8, calls: 1 },
    { model: 'text-embedding-3-small', count: 100, chars: 8000, calls: 2 },
  ])
    it(`are asked for in turn: ${count} texts of ${chars} characters, ${model}`, async () => {
      const input = texts(count, chars)
      const { answer, sent } = await embed(model, input)
      expect(answer.status, JSON.stringify(answer.body).slice(0, 300)).to.equal(200)
      expect(sent).to.have.length(calls)
      const { data, usage } = answer.body
      expect(data.map(({ index }: { index: number }) => index)).to.deep.equal(input.map((_, index) => index))
      for (const index of [0, count - 1]) {
        const one = await embed(model, [input[index]!])
        expect(data[index].embedding).to.deep.equal(one.answer.body.data[0].embedding)
      }
      // The sandbox's Gemini reports no usage: it is estimated.
      const tokens = input.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0)
      if (model.startsWith('gemini')) expect(usage.prompt_tokens).to.be.greaterThan(count)
      else expect(usage.prompt_tokens).to.equal(tokens)
    })

  it('fail together', async () => {
    const input = [...texts(150), '[[sandbox:status=400]]', ...texts(100)]
    const { answer, sent } = await embed('gemini-embedding-001', input)
    expect(answer.status).to.equal(400)
    expect(sent).to.have.length(2)
  })
})
