import { expect } from 'chai'
import {
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

const PARAMETERS = { type: 'object', properties: {} }
const TOOLS: Readonly<Record<string, object>> = {
  chat: { type: 'function', function: { name: 'weather', parameters: PARAMETERS } },
  messages: { name: 'weather', input_schema: PARAMETERS },
  responses: { type: 'function', name: 'weather', parameters: PARAMETERS },
}
const DIALECTS = ['chat', 'messages', 'responses'] as const
const CHAT_FORMATS = ['openai', 'mistral', 'deepseek', 'compatible'] as const

const JSON_TEXT = '{"city":"Bern","days":3}'
const CALL = { id: 'call_0123456789abcdef', name: 'weather', argumentsJson: JSON_TEXT }

const chunkOf = (choice: object) => ({
  ...{ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, ...choice }],
})
const deltaOf = (delta: object, finish_reason: string | null = null) => chunkOf({ delta, finish_reason })
const callOf = (call: object) => deltaOf({ tool_calls: [call] })
const argumentsOf = (json: string) => callOf({ index: 0, function: { arguments: json } })
const streamOf = (...records: object[]): ProviderAnswer => ({
  records: [...records.map((record) => JSON.stringify(record)), '[DONE]'].map((data) => ({
    event: '',
    data,
  })),
})

const whole = { index: 0, id: CALL.id, type: 'function', function: { name: 'weather', arguments: JSON_TEXT } }
const opened = { ...whole, function: { name: 'weather', arguments: '' } }
const pieces = [JSON_TEXT.slice(0, 1), JSON_TEXT.slice(1, 9), JSON_TEXT.slice(9)]

/** Streams of one call, as compatible providers send them. */
const CALLS: Readonly<Record<string, readonly object[]>> = {
  'without index at its start': [
    callOf({ ...opened, index: undefined }),
    ...pieces.map((piece) => argumentsOf(piece)),
  ],
  'with {} at its start': [
    callOf({ ...opened, function: { name: 'weather', arguments: '{}' } }),
    ...pieces.map((piece) => argumentsOf(piece)),
  ],
  'with {} at its start, then with everything': [
    callOf({ ...opened, function: { name: 'weather', arguments: {} } }),
    callOf(whole),
  ],
  'with all arguments again at its end': [
    callOf(opened),
    ...pieces.map((piece) => argumentsOf(piece)),
    argumentsOf(JSON_TEXT),
  ],
  'with everything again at its end': [
    callOf(opened),
    ...pieces.map((piece) => argumentsOf(piece)),
    callOf(whole),
  ],
  'with all arguments behind their first character': [
    callOf(opened),
    argumentsOf('{'),
    argumentsOf(JSON_TEXT),
  ],
  'with all arguments so far in each delta': [
    callOf(opened),
    ...[1, 9, JSON_TEXT.length].map((length) => argumentsOf(JSON_TEXT.slice(0, length))),
  ],
}

/** Keeps the records of these types. */
function ofTypes(answer: ProviderAnswer, types: RegExp): ProviderAnswer {
  return { records: answer.records?.filter(({ data }) => types.test(JSON.parse(data).type)) ?? [] }
}

describe('irregular streams', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench({}, 'breaker: { min_requests: 100000 }')
  })
  after(() => bench?.close())

  const ask = (dialect: (typeof DIALECTS)[number], format: FormatName) =>
    bench.ask({ dialect, format, stream: true }, { body: { tools: [TOOLS[dialect]] } })

  for (const [title, deltas] of Object.entries(CALLS))
    for (const { dialect, format, stream } of combinations(DIALECTS, CHAT_FORMATS))
      if (stream)
        it(`of a call ${title} have it once: ${dialect} × ${format}`, async () => {
          bench.respond(() => streamOf(deltaOf({ role: 'assistant' }), ...deltas, deltaOf({}, 'tool_calls')))
          const { calls, raw } = await ask(dialect as (typeof DIALECTS)[number], format)
          expect(calls, raw).to.have.length(1)
          expect(calls[0]).to.include({ name: 'weather', arguments: JSON_TEXT })
        })

  for (const dialect of DIALECTS) {
    it(`of two calls of a function without arguments have both: ${dialect}`, async () => {
      const call = { type: 'function', function: { name: 'weather', arguments: '{}' } }
      bench.respond(() => streamOf(callOf(call), callOf(call), deltaOf({}, 'tool_calls')))
      const { calls } = await ask(dialect, 'compatible')
      expect(calls.map((each) => each.arguments)).to.deep.equal(['{}', '{}'])
    })

    it(`that hold a whole completion have its content: ${dialect}`, async () => {
      const message = { role: 'assistant', content: 'Hello.', tool_calls: [whole] }
      bench.respond(() => streamOf(chunkOf({ message, finish_reason: 'tool_calls' })))
      const { text, calls } = await ask(dialect, 'compatible')
      expect({ text, names: calls.map(({ name }) => name) }).to.deep.equal({
        text: 'Hello.',
        names: ['weather'],
      })
    })

    const partial: Readonly<Record<string, RegExp>> = {
      'without starts of items': /^response\.(?!output_item\.added)/,
      'without deltas': /^response\.(?!.*delta)/,
      'with complete items only': /^response\.(?:created|completed|output_item\.done)$/,
      'with the complete response only': /^response\.completed$/,
    }
    for (const [title, types] of Object.entries(partial))
      it(`of OpenAI's responses ${title} are whole: ${dialect}`, async () => {
        for (const reply of [{ text: 'Hello.' }, { toolCalls: [CALL], reasoning: 'Think.' }]) {
          bench.respond((call) => ofTypes(encodeReply(call, reply), types))
          const { text, calls, raw } = await ask(dialect, 'responses')
          expect(text, raw).to.equal(reply.text ?? '')
          expect(
            calls.map(({ name, arguments: json }) => [name, json]),
            raw,
          ).to.deep.equal(reply.text === undefined ? [['weather', JSON_TEXT]] : [])
        }
      })

    it(`of Anthropic's format are complete without message_stop: ${dialect}`, async () => {
      bench.respond((call) => ofTypes(encodeReply(call, {}), /^(?!message_stop)/))
      const { text, error } = await ask(dialect, 'anthropic')
      expect({ text, error }).to.deep.equal({ text: 'Hello.', error: null })
    })
  }
})

describe('irregular fields of replies', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench({}, 'breaker: { min_requests: 100000 }')
  })
  after(() => bench?.close())

  for (const { dialect, format, stream, title } of combinations(['chat', 'route'], CHAT_FORMATS))
    it(`that should be texts or counts are left out: ${title}`, async () => {
      const message = { role: 'assistant', content: 'Hello.', refusal: false, reasoning_content: [{}] }
      bench.respond(() =>
        stream
          ? streamOf(deltaOf(message), { ...deltaOf({}, 'stop'), usage: [null] })
          : { body: { ...chunkOf({ message, finish_reason: 'stop' }), usage: [null] } },
      )
      const asked = await bench.ask({ dialect, format, stream })
      expect(asked.text).to.equal('Hello.')
      for (const { choices, usage } of [asked.body, ...asked.records].filter(Boolean)) {
        expect(usage ?? null).to.equal(null)
        const { refusal, reasoning_content } = choices[0].message ?? choices[0].delta
        expect([refusal ?? null, reasoning_content ?? null]).to.deep.equal([null, null])
      }
    })

  for (const reason of ['', 'stop', 'tool_calls', [], {}])
    for (const { dialect, format, stream, title } of combinations(['messages'], ['anthropic']))
      it(`as stop reason are regular: ${title}, ${JSON.stringify(reason)}`, async () => {
        bench.respond((call) => withStopReason(encodeReply(call, { toolCalls: [CALL] }), reason))
        const { body, records, raw } = await bench.ask({ dialect, format, stream })
        // Without a reason and without an end, the reply is complete by `message_stop`.
        const { stop_reason } = body ?? records.find(({ type }) => type === 'message_delta').delta
        expect(stop_reason, raw).to.equal('tool_use')
      })

  const nested = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  for (const [status, expected] of [
    [400, 400],
    [200, 502],
  ] as const)
    for (const { title, ...combination } of combinations(DIALECTS, ['compatible', 'gemini', 'anthropic']))
      if (!combination.stream)
        it(`that are nested 20,000 times are an error: ${title}, status ${status}`, async () => {
          const type = combination.format === 'anthropic' ? '"type":"error",' : ''
          bench.respond(() => ({ status, body: `{${type}"error":{"message":${nested}}}` }))
          expect((await bench.ask(combination)).status).to.equal(expected)
        })
})

function withStopReason(answer: ProviderAnswer, reason: unknown): ProviderAnswer {
  const change = (text: string) =>
    text.replaceAll('"stop_reason":"tool_use"', `"stop_reason":${JSON.stringify(reason)}`)
  if (answer.records === undefined) return { body: change(String(answer.body)) }
  return { records: answer.records.map(({ event, data }) => ({ event, data: change(data) })) }
}

describe('irregular reasoning that clients send back', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench()
  })
  after(() => bench?.close())

  const carried = [
    { anthropic: { type: 'thinking', thinking: 'Think.', signature: 's' } },
    { openai: { type: 'reasoning', encrypted_content: 'e' } },
  ]
  const reasoning = `sbr1.${Buffer.from(JSON.stringify(carried)).toString('base64url')}`

  for (const reasoning_data of [{}, 5, 'x', [null], { length: 3 }])
    it(`does not fail the request: ${JSON.stringify(reasoning_data)}`, async () => {
      for (const { dialect, format, stream } of combinations(['chat'])) {
        bench.respond((call: ProviderCall) => encodeReply(call, {}))
        const call: Loose = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }
        const messages = [
          { role: 'user', content: 'Hi' },
          {
            ...{ role: 'assistant', content: null, reasoning_data },
            tool_calls: [{ ...call, extra_content: { reasoning } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: 'Rain' },
        ]
        const body = { tools: [TOOLS.chat], messages }
        expect((await bench.ask({ dialect, format, stream }, { body })).status, format).to.equal(200)
      }
    })
})
