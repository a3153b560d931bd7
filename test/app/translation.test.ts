import { expect } from 'chai'
import {
  combinations,
  encodeReply,
  PROVIDER_KEYS,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

const CALL = { id: 'call_1', name: 'get_weather', argumentsJson: '{"city":"Paris"}' }

const TOOL = { name: 'get_weather', description: 'Weather', schema: { type: 'object', properties: {} } }

/** The tool in each dialect that has tools. */
const TOOLS = {
  chat: [{ type: 'function', function: { name: TOOL.name, parameters: TOOL.schema } }],
  messages: [{ name: TOOL.name, input_schema: TOOL.schema }],
  responses: [{ type: 'function', name: TOOL.name, parameters: TOOL.schema }],
}

describe('translation between dialects and provider formats', () => {
  let bench: TranslationBench

  before(async () => {
    bench = await startTranslationBench()
  })
  after(() => bench?.close())

  for (const combination of combinations()) {
    it(`carries text: ${combination.title}`, async () => {
      bench.respond((call) => encodeReply(call, { text: 'Grüße, 世界' }))
      const asked = await bench.ask(combination, { text: 'Hello?' })
      expect(asked.status, asked.raw).to.equal(200)
      expect(asked.text).to.equal('Grüße, 世界')
      const sent = bench.calls.at(-1)!
      expect(JSON.stringify(sent.body)).to.contain('Hello?')
      expect(JSON.stringify(sent.headers)).to.contain(PROVIDER_KEYS[providerOf(sent.format)])
      if (combination.dialect !== 'route') expect(sent.format).to.equal(combination.format)
    })
  }

  for (const combination of combinations(['chat', 'messages', 'responses'])) {
    it(`carries a tool call: ${combination.title}`, async () => {
      bench.respond((call) => encodeReply(call, { toolCalls: [CALL] }))
      const tools = TOOLS[combination.dialect as keyof typeof TOOLS]
      const asked = await bench.ask(combination, { body: { tools } })
      expect(asked.status, asked.raw).to.equal(200)
      expect(asked.calls).to.have.length(1)
      expect(asked.calls[0]).to.include({ name: 'get_weather' })
      expect(JSON.parse(asked.calls[0]!.arguments)).to.deep.equal({ city: 'Paris' })
    })
  }
})

const providerOf = (format: string) => ({ responses: 'openai', compatible: 'acme' })[format] ?? format
