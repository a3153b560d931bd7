import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { writeSettings } from '../support/settings-file.ts'
import {
  type Asked,
  type Combination,
  combinations,
  encodeReply,
  type FormatName,
  type ProviderAnswer,
  type ProviderCall,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

// biome-ignore lint/suspicious/noExplicitAny: records of any format
type Loose = any

/** The formats of OpenAI's chat completions, in which most irregular replies are seen. */
const CHAT_FORMATS = ['openai', 'mistral', 'deepseek', 'compatible'] as const

const TOOLS = ['get_weather', 'get_time']
const PARAMETERS = { type: 'object', properties: {} }

const BODIES: Readonly<Record<string, object>> = {
  chat: { tools: TOOLS.map((name) => ({ type: 'function', function: { name, parameters: PARAMETERS } })) },
  messages: { tools: TOOLS.map((name) => ({ name, input_schema: PARAMETERS })) },
  responses: { tools: TOOLS.map((name) => ({ type: 'function', name, parameters: PARAMETERS })) },
}

const [WEATHER, TIME] = ['{"city":"Paris"}', '{"zone":"CET"}']

const frame = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' }
const chunkOf = (choice: Loose, more: object = {}) => ({
  ...frame,
  choices: [{ index: 0, ...choice }],
  ...more,
})
const deltaOf = (delta: Loose, finish_reason: unknown = null) => chunkOf({ delta, finish_reason })
const callsOf = (...tool_calls: object[]) => deltaOf({ tool_calls })
const streamOf = (...records: unknown[]): ProviderAnswer => ({
  records: [...records.map((record) => JSON.stringify(record)), '[DONE]'].map((data) => ({
    event: '',
    data,
  })),
})
const wholeOf = (message: unknown, finish_reason: unknown = 'stop', more: object = {}): ProviderAnswer => ({
  body: {
    ...{ id: 'x', object: 'chat.completion', created: 1, model: 'm' },
    choices: [{ index: 0, message, finish_reason }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    ...more,
  },
})

const weather = { name: 'get_weather', arguments: WEATHER }
const time = { name: 'get_time', arguments: TIME }
const pieces = (text: string) => [text.slice(0, 5), text.slice(5)]

/** Two calls, as compatible providers send them: deltas of a stream, and calls of a whole reply. */
const TWO_CALLS: Readonly<Record<string, { deltas: object[]; calls?: object[] }>> = {
  'without index': {
    deltas: [
      callsOf({ id: 'a', type: 'function', function: { name: 'get_weather', arguments: '' } }),
      ...pieces(WEATHER).map((json) => callsOf({ function: { arguments: json } })),
      callsOf({ id: 'b', type: 'function', function: { name: 'get_time', arguments: '' } }),
      ...pieces(TIME).map((json) => callsOf({ function: { arguments: json } })),
    ],
  },
  'with index 0 and equal ids': {
    deltas: [weather, time].map((called) =>
      callsOf({ index: 0, id: 'a', type: 'function', function: called }),
    ),
    calls: [weather, time].map((called) => ({ index: 0, id: 'a', type: 'function', function: called })),
  },
  'with equal ids and different indexes': {
    deltas: [weather, time].map((called, index) => callsOf({ index, id: 'a', function: called })),
    calls: [weather, time].map((called) => ({ id: 'a', function: called })),
  },
  'without ids and types': {
    deltas: [weather, time].map((called) => callsOf({ function: called })),
    calls: [weather, time].map((called) => ({ function: called })),
  },
  'with numbers as ids, from index 1': {
    deltas: [weather, time].map((called, index) =>
      callsOf({ index: index + 1, id: index, function: called }),
    ),
    calls: [weather, time].map((called, index) => ({ id: index, function: called })),
  },
  'with the id and the name in each delta': {
    deltas: [weather, time].flatMap(({ name, arguments: json }, index) =>
      pieces(json).map((piece) =>
        callsOf({ index, id: `id${index}`, type: 'function', function: { name, arguments: piece } }),
      ),
    ),
  },
  'with the name in pieces': {
    deltas: [weather, time].flatMap(({ name, arguments: json }, index) => [
      callsOf({
        index,
        id: `id${index}`,
        type: 'function',
        function: { name: name.slice(0, 4), arguments: '' },
      }),
      callsOf({ index, function: { name: name.slice(4) } }),
      callsOf({ index, function: { arguments: json } }),
    ]),
  },
  'with objects as arguments': {
    deltas: [weather, time].map(({ name, arguments: json }, index) =>
      callsOf({ index, id: `id${index}`, function: { name, arguments: JSON.parse(json) } }),
    ),
    calls: [weather, time].map(({ name, arguments: json }, index) => ({
      id: `id${index}`,
      function: { name, arguments: JSON.parse(json) },
    })),
  },
  'in one delta without index': {
    deltas: [callsOf(...[weather, time].map((called, index) => ({ id: `id${index}`, function: called })))],
  },
}

const CALL_DIALECTS = ['chat', 'messages', 'responses'] as const

describe('irregular replies', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench({}, 'breaker: { min_requests: 100000 }')
  })
  after(() => bench?.close())

  const ask = (combination: Combination) =>
    bench.ask(combination, { body: { ...BODIES[combination.dialect], ...streamOptions(combination) } })

  function expectTwoCalls(asked: Asked, combination: Combination): void {
    expect(asked.status, asked.raw).to.equal(200)
    expect(asked.calls.map(({ name }) => name)).to.deep.equal(TOOLS)
    expect(asked.calls.map((call) => JSON.parse(call.arguments))).to.deep.equal([
      JSON.parse(WEATHER),
      JSON.parse(TIME),
    ])
    const ids = asked.calls.map(({ id }) => id)
    expect(new Set(ids).size).to.equal(2)
    for (const id of ids) expect(id).to.be.a('string').with.length.greaterThan(0)
    expect(finishOf(asked, combination)).to.equal(FINISHES.calls[combination.dialect])
    if (combination.dialect === 'chat') expectRegularChat(asked)
  }

  for (const [title, { deltas, calls }] of Object.entries(TWO_CALLS))
    for (const combination of combinations(CALL_DIALECTS, CHAT_FORMATS)) {
      if (!combination.stream && calls === undefined) continue
      it(`of two calls ${title} are two calls: ${combination.title}`, async () => {
        bench.respond(({ stream }) =>
          stream
            ? streamOf(deltaOf({ role: 'assistant', content: null }), ...deltas, deltaOf({}, 'stop'))
            : wholeOf({ role: 'assistant', content: null, tool_calls: calls }),
        )
        expectTwoCalls(await ask(combination), combination)
      })
    }

  for (const combination of combinations(CALL_DIALECTS, ['anthropic', 'gemini', 'responses']))
    it(`with equal ids are two calls: ${combination.title}`, async () => {
      const toolCalls = [weather, time].map(({ name, arguments: argumentsJson }) => ({
        ...{ id: 'same', name, argumentsJson },
      }))
      bench.respond((call) => withoutIndex(encodeReply(call, { toolCalls })))
      expectTwoCalls(await ask(combination), combination)
    })

  for (const combination of combinations(CALL_DIALECTS))
    it(`without arguments have {}: ${combination.title}`, async () => {
      bench.respond(withoutArguments)
      const asked = await ask(combination)
      expect(asked.status, asked.raw).to.equal(200)
      expect(asked.calls.map(({ name, arguments: json }) => [name, JSON.parse(json)])).to.deep.equal([
        ['get_weather', {}],
      ])
      if (combination.dialect === 'chat') expectRegularChat(asked)
    })

  /** Replies whose text is `Hello.` all the same. */
  const TEXTS: Readonly<Record<string, { stream: ProviderAnswer; whole?: ProviderAnswer }>> = {
    'beside an empty error': {
      stream: streamOf(chunkOf({ delta: { content: 'Hello.' } }, { error: {} }), {
        ...deltaOf({}, 'stop'),
        error: '',
      }),
      whole: wholeOf({ role: 'assistant', content: 'Hello.' }, 'stop', {
        error: { message: '', code: null },
      }),
    },
    'with null as error': {
      stream: streamOf(chunkOf({ delta: { content: 'Hello.' } }, { error: null }), deltaOf({}, 'stop')),
      whole: wholeOf({ role: 'assistant', content: 'Hello.' }, 'stop', { error: null }),
    },
    'without envelope': {
      stream: streamOf(
        { choices: [{ delta: { content: 'Hel' } }] },
        { choices: [{ delta: { content: 'lo' } }] },
        { choices: [{ delta: { content: '.' } }] },
        { choices: [{ delta: null, finish_reason: 'eos' }] },
      ),
      whole: { body: { choices: [{ message: { content: 'Hello.' } }] } },
    },
    'with a role in each delta, and an empty finish': {
      stream: streamOf(
        ...['Hel', 'lo', '.'].map((content) => deltaOf({ role: 'assistant', content }, '')),
        deltaOf({ role: '', content: '' }, 'end_turn'),
      ),
      whole: wholeOf({ role: '', content: 'Hello.' }, 'end_turn'),
    },
    'with a list of parts as content': {
      stream: streamOf(deltaOf({ content: [{ type: 'text', text: 'Hello.' }] }), deltaOf({}, 'stop')),
      whole: wholeOf({
        content: [
          { type: 'text', text: 'Hel' },
          { type: 'text', text: 'lo.' },
        ],
      }),
    },
    'with texts, fractions and negative numbers as usage': {
      stream: streamOf(
        deltaOf({ content: 'Hello.' }),
        deltaOf({}, 'stop'),
        chunkOf(
          {},
          { choices: [], usage: { prompt_tokens: '10', completion_tokens: 4.5, total_tokens: -1 } },
        ),
        { ...frame, choices: [], usage: {} },
      ),
      whole: wholeOf({ role: 'assistant', content: 'Hello.' }, 'stop', {
        usage: { prompt_tokens: '10', completion_tokens: 4.5, total_tokens: null },
      }),
    },
    'with a finish in each record': {
      stream: streamOf(...['Hel', 'lo', '.'].map((content) => deltaOf({ content }, 'stop'))),
    },
    'with two finishes, and empty records behind them': {
      stream: streamOf(
        deltaOf({ content: 'Hello.' }, 'stop'),
        deltaOf({}, 'stop'),
        { ...frame, choices: [] },
        { ...frame, choices: null },
        deltaOf(null),
      ),
    },
    'of another choice than 0': {
      stream: streamOf(
        { ...frame, choices: [{ index: 1, delta: { content: 'Hello.' }, finish_reason: null }] },
        { ...frame, choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] },
      ),
      whole: {
        body: { ...frame, choices: [{ index: 1, message: { content: 'Hello.' }, finish_reason: 'stop' }] },
      },
    },
    'of several choices': {
      stream: streamOf(
        ...[0, 1].map((index) => ({
          ...frame,
          choices: [{ index, delta: { content: index === 0 ? 'Hello.' : 'Bye.' }, finish_reason: null }],
        })),
        { ...frame, choices: [0, 1].map((index) => ({ index, delta: {}, finish_reason: 'stop' })) },
      ),
    },
    'without a finish': { stream: streamOf(deltaOf({ content: 'Hello.' })) },
  }
  for (const [title, answers] of Object.entries(TEXTS))
    for (const combination of combinations(undefined, CHAT_FORMATS)) {
      if (!combination.stream && answers.whole === undefined) continue
      it(`of text ${title} are regular: ${combination.title}`, async () => {
        bench.respond(({ stream }) => (stream ? answers.stream : (answers.whole ?? answers.stream)))
        const asked = await ask(combination)
        expect(asked.status, asked.raw).to.equal(200)
        expect(asked.text).to.equal('Hello.')
        expect(asked.error).to.equal(null)
        expect(finishOf(asked, combination)).to.equal(FINISHES.text[combination.dialect])
        if (combination.dialect === 'chat' || combination.dialect === 'route') expectRegularChat(asked)
        if (title.includes('usage')) expectUsage(asked)
      })
    }

  it('have a finish of the length, whatever its name', async () => {
    for (const combination of combinations(['chat', 'messages', 'responses', 'completions'], CHAT_FORMATS)) {
      bench.respond(({ stream }) =>
        stream
          ? streamOf(deltaOf({ content: 'Hello.' }), deltaOf({}, 'MAX_TOKENS'))
          : wholeOf({ content: 'Hello.' }, 'max_tokens'),
      )
      expect(finishOf(await ask(combination), combination), combination.title).to.equal(
        { chat: 'length', completions: 'length', messages: 'max_tokens', responses: 'incomplete' }[
          combination.dialect as string
        ],
      )
    }
  })

  /** Bodies that hold no reply. */
  const NOTHING: readonly [string, readonly FormatName[], unknown, unknown[]][] = [
    [
      'a null message',
      CHAT_FORMATS,
      { ...frame, choices: [{ index: 0, message: null, finish_reason: 'stop' }] },
      [],
    ],
    ['no choices', CHAT_FORMATS, { ...frame, choices: [] }, [{ ...frame, choices: [] }]],
    ['null as choices', CHAT_FORMATS, { ...frame, choices: null, error: {} }, [{ ...frame, choices: null }]],
    ['nothing', CHAT_FORMATS, {}, [{}]],
    ['no content and no finish', CHAT_FORMATS, { choices: [{ message: { content: null } }] }, [{}]],
    ['null as content', ['anthropic'], { type: 'message', content: null, stop_reason: 'end_turn' }, []],
    ['null as output', ['responses'], { object: 'response', output: null, status: 'completed' }, []],
    ['null as candidates', ['gemini'], { candidates: null, error: {} }, [{ candidates: null }]],
  ]
  for (const [title, formats, body, records] of NOTHING)
    for (const combination of combinations(CALL_DIALECTS, formats)) {
      if (combination.stream && records.length === 0) continue
      it(`with ${title} are errors: ${combination.title}`, async () => {
        bench.respond(({ stream }) => (stream ? streamOf(...records) : { body: Object(body) }))
        const asked = await ask(combination)
        expect(asked.status, asked.raw).to.equal(502)
        expect(asked.headers.get('x-error-code')).to.equal('provider_error')
      })
    }

  for (const combination of combinations(CALL_DIALECTS))
    it(`with an empty text and a finish are replies: ${combination.title}`, async () => {
      bench.respond((call) => encodeReply(call, { text: '' }))
      const asked = await ask(combination)
      expect(asked.status, asked.raw).to.equal(200)
      expect(finishOf(asked, combination)).to.equal(FINISHES.text[combination.dialect])
    })

  for (const combination of combinations(['chat', 'responses']))
    for (const json of ['', null, undefined])
      it(`that clients send back with ${json === '' ? "''" : json} as arguments: ${combination.title}`, async () => {
        bench.respond((call) => encodeReply(call, {}))
        const body =
          combination.dialect === 'chat'
            ? {
                messages: [
                  { role: 'user', content: 'Hi' },
                  {
                    role: 'assistant',
                    content: null,
                    tool_calls: [
                      { id: 'a', type: 'function', function: { name: 'get_weather', arguments: json } },
                    ],
                  },
                  { role: 'tool', tool_call_id: 'a', content: 'Rain' },
                ],
              }
            : {
                input: [
                  { role: 'user', content: 'Hi' },
                  { type: 'function_call', call_id: 'a', name: 'get_weather', arguments: json },
                  { type: 'function_call_output', call_id: 'a', output: 'Rain' },
                ],
              }
        const asked = await bench.ask(combination, { body: { ...BODIES[combination.dialect], ...body } })
        expect(asked.status, asked.raw).to.equal(200)
        expect(JSON.stringify(bench.calls.at(-1)?.body)).to.match(
          /"(?:arguments|input|args)":(?:"\{\}"|\{\})/,
        )
      })

  describe('are read by the helpers of the official packages', () => {
    const answers: Readonly<Record<string, ProviderAnswer>> = Object.fromEntries(
      Object.entries(TWO_CALLS).map(([title, { deltas }]) => [
        title,
        streamOf(...deltas, deltaOf({}, 'eos')),
      ]),
    )
    for (const [title, answer] of Object.entries(answers)) {
      it(`chat.completions.stream: two calls ${title}`, async () => {
        bench.respond(() => answer)
        const stream = bench.gateway.openai().chat.completions.stream({
          model: 'acme:loco-1',
          messages: [{ role: 'user', content: 'Hi' }],
          ...(BODIES.chat as { tools: [] }),
        })
        const { choices } = await stream.finalChatCompletion()
        const calls = choices[0]?.message.tool_calls ?? []
        expect(choices[0]?.finish_reason).to.equal('tool_calls')
        expect(calls.map((call: Loose) => [call.function.name, call.function.arguments])).to.deep.equal([
          ['get_weather', WEATHER],
          ['get_time', TIME],
        ])
      })

      it(`responses.stream: two calls ${title}`, async () => {
        bench.respond(() => answer)
        const stream = bench.gateway.openai().responses.stream({
          model: 'acme:loco-1',
          input: 'Hi',
          ...(BODIES.responses as { tools: [] }),
        })
        const { output } = await stream.finalResponse()
        expect(output.map((item: Loose) => [item.name, item.arguments])).to.deep.equal([
          ['get_weather', WEATHER],
          ['get_time', TIME],
        ])
      })

      it(`messages.stream: two calls ${title}`, async () => {
        bench.respond(() => answer)
        const client = new Anthropic({
          apiKey: bench.gateway.demoKey,
          baseURL: bench.gateway.url,
          maxRetries: 0,
        })
        const message = await client.messages
          .stream({
            model: 'acme:loco-1',
            max_tokens: 100,
            messages: [{ role: 'user', content: 'Hi' }],
            ...(BODIES.messages as { tools: [] }),
          })
          .finalMessage()
        expect(message.stop_reason).to.equal('tool_use')
        expect(message.content.map((block: Loose) => [block.name, block.input])).to.deep.equal([
          ['get_weather', JSON.parse(WEATHER)],
          ['get_time', JSON.parse(TIME)],
        ])
      })
    }
  })
})

describe('the fault "irregular" of the sandbox', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway({ CONFIG: await writeSettings('breaker: { min_requests: 100000 }') })
  })
  after(() => gateway?.stop())

  const models = ['gpt-4o', 'gpt-6-sol', 'claude-sonnet-4-6', 'gemini-3.5-flash', 'mistral-large-4']
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  for (const model of models)
    for (const fault of ['irregular', 'arguments', 'irregular arguments'])
      it(`is corrected: ${model}, ${fault}`, async () => {
        const stream = gateway.openai().chat.completions.stream({
          model,
          messages: [{ role: 'user', content: `Call a tool in parallel [[sandbox:${fault}]]` }],
          tools: TOOLS.map((name) => ({ type: 'function', function: { name, parameters } })),
        })
        const { choices } = await stream.finalChatCompletion()
        const calls: readonly Loose[] = choices[0]?.message.tool_calls ?? []
        expect(choices[0]?.finish_reason).to.equal('tool_calls')
        expect(new Set(calls.map(({ id }) => id)).size).to.equal(2)
        for (const call of calls)
          expect(Object.keys(JSON.parse(call.function.arguments))).to.deep.equal(
            fault === 'irregular' ? ['city'] : [],
          )
      })
})

const FINISHES: Readonly<Record<'calls' | 'text', Readonly<Record<string, string>>>> = {
  calls: { chat: 'tool_calls', messages: 'tool_use', responses: 'completed' },
  text: { chat: 'stop', route: 'stop', completions: 'stop', messages: 'end_turn', responses: 'completed' },
}

const streamOptions = ({ dialect, stream }: Combination) =>
  stream && dialect === 'chat' ? { stream_options: { include_usage: true } } : {}

/** Why a reply ended, in the client's dialect. */
function finishOf({ body, records }: Asked, { dialect }: Combination): string | undefined {
  switch (dialect) {
    case 'messages':
      return body?.stop_reason ?? records.find(({ type }) => type === 'message_delta')?.delta.stop_reason
    case 'responses':
      return body?.status ?? records.at(-1)?.response?.status
    default: {
      const finishes = [body, ...records].flatMap((each) => each?.choices?.[0]?.finish_reason ?? [])
      expect(finishes, 'finish reasons').to.have.length(1)
      return finishes[0]
    }
  }
}

/** Every field of chat completions and chunks that clients read is there, and of its type. */
function expectRegularChat({ body, records }: Asked): void {
  const all: readonly Loose[] = body ? [body] : records
  for (const record of all) {
    expect(record.id).to.match(/^(?:chatcmpl-|tr_req_)\w+$/)
    expect(record.object).to.equal(body ? 'chat.completion' : 'chat.completion.chunk')
    expect(record.created).to.satisfy(Number.isInteger)
    expect(record.model).to.be.a('string').with.length.greaterThan(0)
    expect(record).not.to.have.property('error')
    if (record.usage) expectCounts(record.usage)
    for (const choice of record.choices) {
      expect(choice.index).to.equal(0)
      expect(choice.finish_reason ?? null).to.be.oneOf([
        null,
        'stop',
        'length',
        'tool_calls',
        'content_filter',
      ])
      const content = (choice.message ?? choice.delta).content ?? ''
      expect(content).to.be.a('string')
    }
  }
  if (body) {
    expect(body.choices[0].message).to.include({ role: 'assistant' })
    for (const call of body.choices[0].message.tool_calls ?? []) {
      expect(call.type).to.equal('function')
      expect(call.function.arguments).to.be.a('string')
    }
    return
  }
  const deltas: Loose[] = records.flatMap(({ choices }) => choices).map(({ delta }: Loose) => delta)
  expect(deltas.map(({ role }) => role).filter((role) => role !== undefined)).to.deep.equal(['assistant'])
  expect(deltas[0].role).to.equal('assistant')
  const known = new Set<number>()
  for (const call of deltas.flatMap(({ tool_calls = [] }) => tool_calls)) {
    expect(call.index).to.satisfy(Number.isInteger)
    if (known.has(call.index)) expect(call).to.have.all.keys('index', 'function')
    else expect(call).to.include({ type: 'function', index: known.size }).and.have.property('id')
    if (known.has(call.index)) expect(call.function).to.have.all.keys('arguments')
    known.add(call.index)
  }
}

function expectCounts(usage: Loose): void {
  for (const name of ['prompt_tokens', 'completion_tokens', 'total_tokens'])
    expect(usage[name], name).to.satisfy((count: unknown) => Number.isInteger(count) && Number(count) >= 0)
}

function expectUsage({ body, records }: Asked): void {
  const usages = [body, ...records].flatMap((each) => each?.usage ?? each?.response?.usage ?? [])
  const last = usages.at(-1)
  if (last === undefined) return
  expect([
    last.prompt_tokens ?? last.input_tokens,
    last.completion_tokens ?? last.output_tokens,
  ]).to.deep.equal([10, 5])
}

/** Removes the numbers of blocks, items and calls. */
function withoutIndex(answer: ProviderAnswer): ProviderAnswer {
  const strip = (data: string) => data.replaceAll(/"index":\d+,/g, '')
  return answer.records
    ? { records: answer.records.map(({ event, data }) => ({ event, data: strip(data) })) }
    : answer
}

/** A call without arguments, as each format may have it. */
function withoutArguments(call: ProviderCall): ProviderAnswer {
  const answer = encodeReply(call, { toolCalls: [{ id: 'a', name: 'get_weather', argumentsJson: '{}' }] })
  const strip = (json: string) =>
    json.replaceAll(/"arguments":"\{\}"/g, '"arguments":""').replaceAll(/,"args":\{\}/g, '')
  const isArguments = (data: string) =>
    /input_json_delta|function_call_arguments|"function":\{"arguments":"\{\}"\}\}/.test(data)
  if (answer.records === undefined) return { body: JSON.parse(strip(String(answer.body))) }
  const records = answer.records.filter(({ data }) => !isArguments(data))
  return { records: records.map(({ event, data }) => ({ event, data: strip(data) })) }
}
