import { expect } from 'chai'
import {
  combinations,
  type DialectName,
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
})
