import { expect } from 'chai'
import {
  combinations,
  type DialectName,
  encodeReply,
  type FormatName,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

/** OpenAI's own API does not parse the arguments of earlier calls. */
const takesAnyArguments = (format: FormatName) => ['openai', 'responses', 'compatible'].includes(format)

const HISTORIES: Partial<Record<DialectName, (json: string) => object>> = {
  chat: (json) => ({
    messages: [
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: json } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'The arguments are not JSON.' },
    ],
  }),
  responses: (json) => ({
    input: [
      { role: 'user', content: 'Weather?' },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: json },
      { type: 'function_call_output', call_id: 'call_1', output: 'The arguments are not JSON.' },
    ],
  }),
}

/** What users of gateways reported in public, which no other test covers. Each case names the reports. */
describe('public reports', () => {
  let bench: TranslationBench

  before(async () => {
    bench = await startTranslationBench()
  })
  after(() => bench?.close())
  beforeEach(() => bench.respond((call) => encodeReply(call, {})))

  // anthropics/claude-code#60394, #6273, mastra-ai/mastra#15573, octopusreview/octopus#686
  describe('a text that was cut within an emoji', () => {
    for (const combination of combinations()) {
      it(`is sent as valid Unicode: ${combination.title}`, async () => {
        const { status, raw } = await bench.ask(combination, { text: 'cut \ud83d off \\ud83d 😀' })
        expect(status, raw).to.equal(200)
        const sent = JSON.stringify(bench.calls.at(-1)!.body)
        expect(sent).to.contain('cut \ufffd off \\\\ud83d 😀')
        expect(sent).not.to.match(/(?<!\\)\\ud83d/)
      })
    }
  })

  // router-for-me/CLIProxyAPI#2001, justrach/codegraff#752, local-inference-lab/vllm#684,
  // theopenco/llmgateway#2997, xuzhougeng/wisp-science#775
  describe('arguments of an earlier call that are not JSON', () => {
    const cut = '{"city": "Par'
    const dialects: readonly DialectName[] = ['chat', 'responses']
    for (const combination of combinations(dialects).filter(({ format }) => !takesAnyArguments(format))) {
      it(`do not end the session: ${combination.title}`, async () => {
        const { status, raw } = await bench.ask(combination, { body: HISTORIES[combination.dialect]!(cut) })
        expect(status, raw).to.equal(200)
        const sent = JSON.stringify(bench.calls.at(-1)!.body).replaceAll('\\', '')
        expect(sent).to.contain('"invalid_arguments":"{"city": "Par"')
      })
    }
  })
  // BerriAI/litellm#13355, #31553, OpenHands/OpenHands#8685, NousResearch/hermes-agent#11906,
  // home-assistant/core#175637
  describe('an earlier reply without content', () => {
    for (const combination of combinations(['chat'])) {
      it(`is left out: ${combination.title}`, async () => {
        for (const content of ['', ' \n', null, [], [{ type: 'text', text: '' }]]) {
          const messages = [
            { role: 'user', content: 'First' },
            { role: 'assistant', content },
            { role: 'user', content: 'Second' },
          ]
          const { status, raw } = await bench.ask(combination, { body: { messages } })
          expect(status, raw).to.equal(200)
          const sent = JSON.stringify(bench.calls.at(-1)!.body)
          expect(sent).to.match(/First.*Second/)
          expect(sent).not.to.match(/"role":"(?:assistant|model)"/)
        }
      })
    }
  })

  // QwenLM/qwen-code#2054, JetBrains/koog#786, runebookai/tome#87, Wei-Shaw/sub2api#4439
  describe('an empty list of tools', () => {
    for (const combination of combinations(['chat', 'responses'])) {
      it(`is not sent, nor what is about tools: ${combination.title}`, async () => {
        const body = { tools: [], tool_choice: 'auto', parallel_tool_calls: true }
        const { status, raw } = await bench.ask(combination, { body })
        expect(status, raw).to.equal(200)
        expect(JSON.stringify(bench.calls.at(-1)!.body)).not.to.match(/tool/i)
      })
    }
  })

  // google-deepmind/concordia#164, lidge-jun/opencodex#4630, Wei-Shaw/sub2api#941,
  // vellum-ai/vellum-assistant#28082
  describe('the verbosity of a client whose request goes to another model', () => {
    for (const combination of combinations(['chat', 'responses'])) {
      const takesVerbosity = combination.format === 'responses'
      it(`is ${takesVerbosity ? 'sent' : 'left out with a warning'}: ${combination.title}`, async () => {
        const body = combination.dialect === 'chat' ? { verbosity: 'low' } : { text: { verbosity: 'low' } }
        const { warnings } = await bench.ask(combination, { body })
        expect(JSON.stringify(bench.calls.at(-1)!.body).includes('verbosity')).to.equal(takesVerbosity)
        expect(/verbosity was omitted/.test(warnings.join())).to.equal(!takesVerbosity)
      })
    }
  })
  // ogx-ai/ogx#6069, vastsa/PI-Desktop#30, kubernetes-sigs/inference-perf#553, cloudflare/cloudflare-os#36,
  // theopenco/llmgateway#3103
  describe('the role developer', () => {
    for (const combination of combinations(['chat', 'responses'])) {
      const isOpenAi = combination.format === 'openai' || combination.format === 'responses'
      it(`is ${isOpenAi ? 'sent' : 'not sent'}: ${combination.title}`, async () => {
        const turns = [
          { role: 'developer', content: 'Be brief.' },
          { role: 'user', content: 'Hi' },
        ]
        const body = combination.dialect === 'chat' ? { messages: turns } : { input: turns }
        const { status, raw } = await bench.ask(combination, { body })
        expect(status, raw).to.equal(200)
        const sent = JSON.stringify(bench.calls.at(-1)!.body)
        expect(sent).to.contain('Be brief.')
        expect(sent.includes('developer')).to.equal(isOpenAi)
      })
    }
  })
  // BYK/loreai#605, BYK/loreai#1195, Wei-Shaw/sub2api#2826, mistralai/mistral-vibe#619, maximhq/bifrost#3928
  describe('a reply in the other form than was asked for', () => {
    for (const combination of combinations()) {
      it(`is read: ${combination.title}`, async () => {
        bench.respond((call) => encodeReply({ ...call, stream: !call.stream }, { text: 'Grüße' }))
        const { status, raw, text } = await bench.ask(combination)
        expect(status, raw).to.equal(200)
        expect(text).to.equal('Grüße')
      })

      if (!combination.stream) continue
      it(`is read without the type of a stream: ${combination.title}`, async () => {
        bench.respond((call) => ({ ...encodeReply(call, {}), headers: { 'content-type': 'text/plain' } }))
        const { status, raw, text } = await bench.ask(combination)
        expect(status, raw).to.equal(200)
        expect(text).to.equal('Hello.')
      })
    }
  })

  // initializ/forge#434
  describe('a stream of the Responses API without names of events', () => {
    for (const combination of combinations(undefined, ['responses']).filter(({ stream }) => stream)) {
      it(`is read: ${combination.title}`, async () => {
        bench.respond((call) => {
          const { records = [] } = encodeReply(call, {})
          return { records: records.map((record) => ({ ...record, event: '' })) }
        })
        const { status, raw, text } = await bench.ask(combination)
        expect(status, raw).to.equal(200)
        expect(text).to.equal('Hello.')
      })
    }
  })

  // esengine/DeepSeek-Reasonix#8870
  it('a web page in place of a reply is an error that says so', async () => {
    const page = { body: '<html>Log in</html>', headers: { 'content-type': 'text/html' } }
    bench.respond(() => page)
    for (const stream of [false, true]) {
      const { status, error } = await bench.ask({ dialect: 'chat', format: 'compatible', stream })
      expect(status).to.equal(502)
      expect(error.message).to.match(/not valid JSON|not respond with a stream/)
    }
  })

  // BerriAI/litellm#24900, anthropics/claude-code#13131, home-assistant/core#167208
  describe('an image whose declared type is wrong', () => {
    const PNG = `iVBORw0KGgo${'A'.repeat(40)}`
    const WEBP = `UklGRiQAAABXRUJQVlA4${'A'.repeat(40)}`
    /** A user's image and that of a tool's result, in each dialect. */
    const IMAGES: Partial<Record<DialectName, (type: string, data: string) => object>> = {
      chat: (type, data) => {
        const content = [{ type: 'image_url', image_url: { url: `data:${type};base64,${data}` } }]
        const called = { name: 'draw', arguments: '{}' }
        return {
          messages: [
            { role: 'user', content },
            {
              role: 'assistant',
              content: null,
              tool_calls: [{ id: 'c', type: 'function', function: called }],
            },
            { role: 'tool', tool_call_id: 'c', content },
          ],
        }
      },
      messages: (type, data) => {
        const image = { type: 'image', source: { type: 'base64', media_type: type, data } }
        return {
          messages: [
            { role: 'user', content: [image] },
            { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'draw', input: {} }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: [image] }] },
          ],
        }
      },
      responses: (type, data) => {
        const content = [{ type: 'input_image', image_url: `data:${type};base64,${data}` }]
        return {
          input: [
            { role: 'user', content },
            { type: 'function_call', call_id: 'c', name: 'draw', arguments: '{}' },
            { type: 'function_call_output', call_id: 'c', output: content },
          ],
        }
      },
    }
    for (const combination of combinations(['chat', 'messages', 'responses'], ['anthropic', 'gemini'])) {
      it(`is sent with that of its data: ${combination.title}`, async () => {
        for (const [declared, data, type] of [
          ['image/jpeg', PNG, 'image/png'],
          ['image/png', WEBP, 'image/webp'],
          ['image/webp', `/9j/${'A'.repeat(40)}`, 'image/jpeg'],
          ['image/png', `R0lGODlh${'A'.repeat(40)}`, 'image/gif'],
          ['image/png', 'A'.repeat(44), 'image/png'],
        ] as const) {
          const body = IMAGES[combination.dialect]!(declared, data)
          const { status, raw } = await bench.ask(combination, { body })
          expect(status, raw).to.equal(200)
          const sent = JSON.stringify(bench.calls.at(-1)!.body)
          const types = [...sent.matchAll(/"(?:media_type|mimeType)":"([^"]+)"/g)].map(([, each]) => each)
          // Gemini takes no GIF, so that of a result is left out.
          const isLeftOut = combination.format === 'gemini' && type === 'image/gif'
          expect(types).to.deep.equal(isLeftOut ? [type] : [type, type])
        }
      })
    }
  })

  // BerriAI/litellm#20997, #38211
  describe('a strict schema that does not close its objects', () => {
    const inner = { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] }
    const open = { type: 'object', properties: { a: inner }, required: ['a'] }
    const closed = {
      ...open,
      properties: { a: { ...inner, additionalProperties: false } },
      additionalProperties: false,
    }
    const optional = { ...open, required: [] }
    const map = { ...open, properties: { a: { type: 'object' } } }
    const BODIES: Partial<Record<DialectName, (schema: object) => object>> = {
      chat: (schema) => ({
        tools: [{ type: 'function', function: { name: 'act', parameters: schema, strict: true } }],
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
      }),
      messages: (schema) => ({
        tools: [{ name: 'act', input_schema: schema, strict: true }],
        output_config: { format: { type: 'json_schema', schema } },
      }),
      responses: (schema) => ({
        tools: [{ type: 'function', name: 'act', parameters: schema, strict: true }],
        text: { format: { type: 'json_schema', name: 'x', schema, strict: true } },
      }),
    }
    for (const combination of combinations(
      ['chat', 'messages', 'responses'],
      ['openai', 'responses', 'compatible'],
    )) {
      it(`is sent so that OpenAI accepts it: ${combination.title}`, async () => {
        for (const [schema, sent, strict] of [
          [open, closed, true],
          [optional, optional, false],
          [map, map, false],
        ] as const) {
          const { status, raw } = await bench.ask(combination, { body: BODIES[combination.dialect]!(schema) })
          expect(status, raw).to.equal(200)
          const { tools, text, response_format: format } = bench.calls.at(-1)!.body
          const tool = tools[0].function ?? tools[0]
          expect([tool.parameters, tool.strict]).to.deep.equal([sent, strict])
          const output = format?.json_schema ?? text.format
          expect([output.schema, output.strict]).to.deep.equal([sent, strict])
        }
      })
    }
  })

  // OpenAI's guide to rate limits has these headers; its messages say when to try again.
  describe('a rate limit that does not use retry-after', () => {
    const CASES: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
      ['Limit 30000. Please try again in 7.66s. Visit https://…', {}, '8'],
      ['Please try again in 6m0s.', { 'x-ratelimit-reset-tokens': '1s' }, '360'],
      ['Please try again in 1h2m3.5s.', {}, '3724'],
      ['Please try again in 3100ms.', {}, '4'],
      ['Please retry after 6 seconds.', {}, '6'],
      ['Busy', { 'x-ratelimit-reset-tokens': '6m0s' }, '360'],
      ['Busy', { 'x-ratelimit-reset-tokens': '6m0s', 'x-ratelimit-remaining-tokens': '10' }, '1'],
      [
        'Busy',
        {
          'x-ratelimit-remaining-requests': '0',
          'x-ratelimit-reset-requests': '8.64s',
          'x-ratelimit-remaining-tokens': '29000',
          'x-ratelimit-reset-tokens': '6m0s',
        },
        '9',
      ],
      ['Please try again in 7.66s.', { 'retry-after': '3' }, '3'],
      ['Please try again in a while.', {}, '1'],
    ]
    const limited = (message: string) => ({
      error: { message, type: 'tokens', code: 'rate_limit_exceeded' },
    })
    const [first] = CASES

    for (const combination of combinations(
      ['chat', 'messages', 'responses', 'completions'],
      ['openai', 'responses', 'mistral', 'deepseek', 'compatible'],
    ))
      it(`says when to try again: ${combination.title}`, async () => {
        bench.respond(() => ({ status: 429, body: limited(first![0]) }))
        const asked = await bench.ask(combination)
        expect(asked.status, asked.raw).to.equal(429)
        expect(asked.headers.get('retry-after')).to.equal('8')
      })

    it('says when to try again, whatever the form is', async () => {
      const combination = { dialect: 'chat', format: 'openai', stream: false } as const
      for (const [message, headers, expected] of CASES) {
        bench.respond(() => ({ status: 429, headers, body: limited(message) }))
        const asked = await bench.ask(combination)
        expect(asked.headers.get('retry-after'), message).to.equal(expected)
      }
    })

    it('says when to try again in a stream', async () => {
      bench.respond((call) => {
        const { records = [] } = encodeReply(call, { text: 'word '.repeat(40_000) })
        const error = { event: '', data: JSON.stringify(limited(first![0])) }
        return { records: [...records.slice(0, records.length / 2), error] }
      })
      const asked = await bench.ask({ dialect: 'responses', format: 'openai', stream: true })
      expect(asked.records.at(-1).response.error.message).to.contain('try again in 8s')
    })
  })
})
