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
      expect(error.message).to.match(/not valid JSON|not respond with an event stream/)
    }
  })
})
