import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { type Body, DIALECTS, readRecords } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { IS_FULL } from '../support/rounds.ts'
import { chunk, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const EVALUATED = `${UNLIMITED}firewall: { evaluate_responses: true }\n`
const STREAMING = Object.entries(DIALECTS).filter(([, { streams }]) => streams)

const parameters = { type: 'object' }

/** A tool in each dialect that has tools, and the arguments in a record of a stream. */
const CALLS = {
  'chat completions': {
    tool: { type: 'function', function: { name: 'look', parameters } },
    argumentsOf: ({ choices }: Body) =>
      (choices[0]?.delta.tool_calls ?? []).map((call: Body) => call.function?.arguments ?? '').join(''),
  },
  responses: {
    tool: { type: 'function', name: 'look', parameters },
    argumentsOf: ({ type, delta }: Body) => (type === 'response.function_call_arguments.delta' ? delta : ''),
  },
  messages: {
    tool: { name: 'look', input_schema: parameters },
    argumentsOf: ({ delta }: Body) => delta?.partial_json ?? '',
  },
}

/** Divides a text at every offset, in the quick form at every third, and `step` characters behind it. */
function divisions(text: string, step: number): readonly (readonly string[])[] {
  const borders = Array.from({ length: text.length + 1 }, (_, index) => index)
  return borders
    .filter((index) => IS_FULL || index % 3 === 0)
    .map((first) => {
      const second = Math.min(text.length, first + step)
      return [text.slice(0, first), text.slice(first, second), text.slice(second)]
    })
}

/** Times in seconds may contain the digits that a rule masks. */
const withoutTimes = (text: string) => text.replaceAll(/"created(?:_at)?":\d+/g, '')

describe('rules for replies, wherever chunks end', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway

  before(async () => {
    provider = await startScriptedProvider()
    const environment = { OPENAI_API_KEY: 'provider-key', OPENAI_BASE_URL: provider.url }
    gateway = await startGateway({ ...environment, ...(await withSettings(EVALUATED)) })
    for (const rule of [
      { pattern: 'secret', replacement: '[gone]' },
      { type: 'regex', pattern: '\\d{4} ?\\d{4}', replacement: '[number]' },
      { pattern: 'launch code', action: 'block' },
    ])
      await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody({ scope: 'response', ...rule }))
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  async function ask(dialect: (typeof STREAMING)[number][1], more: object = {}): Promise<string> {
    const response = await fetch(dialect.url(gateway), {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...dialect.body('gpt-4o', 'Hello'), stream: true, ...more }),
    })
    let text = ''
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece
      // The connection of a stream that fails stays open for a second.
      if (text.includes('Request blocked') && text.endsWith('\n\n')) break
    }
    return text
  }

  for (const [name, dialect] of STREAMING) {
    it(`mask a text: ${name}`, async () => {
      for (const pieces of divisions('A SECRET: 4711 0815.', 3)) {
        provider.play({ chunks: [...pieces.map((content) => chunk({ content })), chunk({}, 'stop')] })
        const text = await ask(dialect)
        const said = readRecords(text).map(dialect.deltaOf).join('')
        expect(said, JSON.stringify(pieces)).to.equal('A [gone]: [number].')
        expect(withoutTimes(text)).not.to.match(/secret|4711|0815/i)
      }
    })

    it(`block a text and send nothing of the match: ${name}`, async () => {
      for (const pieces of divisions('The launch code is', 4)) {
        provider.play({ chunks: [...pieces.map((content) => chunk({ content })), chunk({}, 'stop')] })
        const text = await ask(dialect)
        expect(text, JSON.stringify(pieces)).to.contain('Request blocked by firewall rule')
        expect(text, JSON.stringify(pieces)).not.to.contain('launch')
        const said = readRecords(text).map(dialect.deltaOf).join('')
        expect('The ', JSON.stringify(pieces)).to.match(new RegExp(`^${said}`))
      }
    })
  }

  for (const [name, dialect] of STREAMING)
    it(`refuse a word that is divided between text and refusal: ${name}`, async () => {
      for (const rule of ['A secret', 'The launch code']) {
        for (const kinds of [['content', 'refusal'] as const, ['refusal', 'content'] as const]) {
          const cut = rule.length - 3
          const [first, second] = [rule.slice(0, cut), rule.slice(cut)]
          const pieces = [chunk({ [kinds[0]]: first }), chunk({ [kinds[1]]: second })]
          provider.play({ chunks: [...pieces, chunk({}, 'stop')] })
          const text = await ask(dialect)
          expect(text).to.contain('Request blocked by firewall rule').and.not.to.contain(`"${second}"`)
        }
      }
    })

  const ARGUMENTS = '{"q":"a \\u0073ecret","n":47110815,"m":1.50}'

  /** Two calls at once, whose arguments arrive in turns. */
  function playCalls(pieces: readonly string[]): void {
    const calls = [0, 1]
    const start = calls.map((index) => {
      return { index, id: `call_${index}`, type: 'function', function: { name: 'look', arguments: '' } }
    })
    const deltas = pieces.flatMap((json) =>
      calls.map((index) => chunk({ tool_calls: [{ index, function: { arguments: json } }] })),
    )
    provider.play({ chunks: [chunk({ tool_calls: start }), ...deltas, chunk({}, 'tool_calls')] })
  }

  for (const [name, { tool, argumentsOf }] of Object.entries(CALLS)) {
    // A request for every offset of one dialect; the rules do not know which one it is.
    const step = name === 'chat completions' ? 1 : 4
    it(`mask arguments of tool calls, also between the digits of an escape: ${name}`, async () => {
      for (const pieces of divisions(ARGUMENTS, 5).filter((_, offset) => offset % step === 0)) {
        playCalls(pieces)
        const text = await ask(DIALECTS[name as keyof typeof CALLS], { tools: [tool] })
        const records = readRecords(text)
        const json = records.map(argumentsOf).join('')
        const masked = '{"q":"a [gone]","n":"[number]","m":1.50}'
        expect(json, JSON.stringify(pieces)).to.equal(masked + masked)
        expect(withoutTimes(text)).not.to.match(/0073ecret|secret|4711/)
      }
    })

    it(`block a call and send nothing of its arguments: ${name}`, async () => {
      playCalls(['{"q":"the laun', 'ch co', 'de"}'])
      const text = await ask(DIALECTS[name as keyof typeof CALLS], { tools: [tool] })
      expect(text).to.contain('Request blocked by firewall rule')
      expect(text).not.to.match(/the laun|ch co/)
    })
  }
})
