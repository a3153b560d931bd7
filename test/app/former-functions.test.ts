import { expect } from 'chai'
import OpenAI from 'openai'
import {
  combinations,
  encodeReply,
  FORMATS,
  type ProviderCall,
  refusalOf,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

const look_up = {
  name: 'look_up',
  description: 'Looks up a track.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const other = { name: 'other', parameters: { type: 'object', properties: {} } }
const ARGUMENTS = '{"city":"Basel"}'
const toolCalls = [{ id: 'call_abc', name: 'look_up', argumentsJson: ARGUMENTS }]

describe('functions in the form before tools', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench()
  })
  after(() => bench.close())
  beforeEach(() => bench.respond((call) => encodeReply(call, { toolCalls })))

  const lastCall = (): ProviderCall => bench.calls.at(-1)!

  for (const { title, ...combination } of combinations(['chat'])) {
    it(`are tools for the provider, and its call is a function_call (${title})`, async () => {
      const body = { functions: [look_up, other], function_call: { name: 'look_up' } }
      const { status, raw, body: whole, records, warnings } = await bench.ask(combination, { body })
      expect(status, raw).to.equal(200)
      const sent = JSON.stringify(lastCall().body)
      expect(refusalOf(lastCall())).to.equal(undefined)
      expect(sent).to.contain('Looks up a track.').and.not.contain('"functions"')
      expect(lastCall().body).not.to.have.property('function_call')
      expect(raw).not.to.contain('tool_calls')
      expect(warnings.filter((warning) => warning.includes('parallel'))).to.deep.equal([])
      if (!combination.stream) {
        const [{ message, finish_reason }] = whole.choices
        expect(message.function_call).to.deep.equal({ name: 'look_up', arguments: ARGUMENTS })
        expect(finish_reason).to.equal('function_call')
        return
      }
      const deltas = records.flatMap(({ choices }) => choices.map(({ delta }: { delta: object }) => delta))
      const calls = deltas.flatMap(({ function_call: call }) => call ?? [])
      expect(calls.map(({ name = '' }) => name).join('')).to.equal('look_up')
      expect(calls.map(({ arguments: json = '' }) => json).join('')).to.equal(ARGUMENTS)
      const reasons = records.flatMap(({ choices }) => choices.map((choice: Choice) => choice.finish_reason))
      expect(reasons.filter(Boolean)).to.deep.equal(['function_call'])
    })

    it(`have calls and results in the conversation (${title})`, async () => {
      bench.respond((call) => encodeReply(call, {}))
      const messages = [
        { role: 'user', content: 'Which city?' },
        { role: 'assistant', content: null, function_call: { name: 'look_up', arguments: ARGUMENTS } },
        { role: 'function', name: 'look_up', content: 'rain in Basel' },
      ]
      const asked = await bench.ask(combination, { body: { functions: [look_up], messages } })
      expect(asked.status, asked.raw).to.equal(200)
      expect(asked.text).to.equal('Hello.')
      expect(refusalOf(lastCall())).to.equal(undefined)
      const sent = JSON.stringify(lastCall().body)
      expect(sent).to.contain('rain in Basel').and.not.contain('"role":"function"')
      expect(asked.warnings).to.deep.equal([])
    })
  }

  interface Choice {
    readonly finish_reason: string | null
  }

  it('force a call of what function_call names', async () => {
    const combination = { dialect: 'chat', format: 'anthropic', stream: false } as const
    const body = { functions: [look_up, other], function_call: { name: 'other' } }
    await bench.ask(combination, { body })
    expect(lastCall().body.tool_choice).to.include({ type: 'tool', name: 'other' })
    await bench.ask(combination, { body: { functions: [look_up], function_call: 'none' } })
    expect(lastCall().body.tool_choice ?? { type: 'none' }).to.include({ type: 'none' })
  })

  it('are read by the runner of the official client', async () => {
    const client = new OpenAI({ baseURL: `${bench.gateway.url}/v1`, apiKey: bench.gateway.demoKey })
    const completion = await client.chat.completions.create({
      model: FORMATS.gemini.model,
      messages: [{ role: 'user', content: 'Which city?' }],
      functions: [look_up],
      function_call: 'auto',
    })
    expect(completion.choices[0]?.message.function_call?.arguments).to.equal(ARGUMENTS)
  })

  const REFUSED: readonly (readonly [string, object, string])[] = [
    [
      'tools beside them',
      { functions: [look_up], tools: [{ type: 'function', function: other }] },
      'functions',
    ],
    ['a choice of no function', { functions: [look_up], function_call: { name: 'nobody' } }, 'function_call'],
    ['a name of another type', { functions: [{ name: 7 }] }, 'functions[0].name'],
    [
      'a result without a call',
      { functions: [look_up], messages: [{ role: 'function', name: 'look_up', content: 'x' }] },
      'messages[0].name',
    ],
  ]
  for (const [what, body, param] of REFUSED) {
    it(`are refused with ${what}, by the caller's own path`, async () => {
      const calls = bench.calls.length
      const combination = { dialect: 'chat', format: 'mistral', stream: false } as const
      const { status, error } = await bench.ask(combination, { body })
      expect([status, error?.param]).to.deep.equal([400, param])
      expect(bench.calls.length).to.equal(calls)
    })
  }
})
