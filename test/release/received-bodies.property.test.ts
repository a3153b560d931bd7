import { expect } from 'chai'
import fc from 'fast-check'
import { parseUniqueJson } from '../../core/util/json.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { hardText, jsonStyles, jsonValues, PLAIN_STYLE, writeJson } from '../support/json-texts.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { inRounds } from '../support/property.ts'
import { REQUESTS } from '../support/request-arbitraries.ts'
import { LONG_TIMEOUT_MS, ROUNDS } from '../support/rounds.ts'
import { completion, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'

/** Longer than the bodies that are always written anew. */
const LONG = 'a long conversation '.repeat(150)

/** A body with a byte order mark is always written anew. */
const BYTE_ORDER_MARK = '\ufeff'

const style = fc.oneof(fc.constantFrom(PLAIN_STYLE, { ...PLAIN_STYLE, blank: '\n  ' }), {
  weight: 4,
  arbitrary: jsonStyles,
})

/** As they are written: rules see what is left of them once they are parsed. */
const numbersIn = (json: string) => json.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/[0-9][0-9.e+-]*/gi)

const MODELS = ['gpt-4o', 'openai:unknown', 'o3', 'mistral:mistral-large-latest', 'deepseek:deepseek-chat']
const SEES_IMAGES = new Set(['gpt-4o', 'openai:unknown'])

/** Bodies from 1 MiB on are always written anew. */
const pixels = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom('iVBORw0KGgo=', 'iVBORw0KGgo/+w==') },
  fc.constant('iVBORw0K'.repeat(150_000)),
)
const image = fc.tuple(pixels, fc.constantFrom('low', 'high', 'auto')).map(([base64, detail]) => ({
  ...{ type: 'image_url', image_url: { url: `data:image/png;base64,${base64}`, detail } },
}))

const long = fc.constantFrom('', LONG, LONG, LONG, LONG.repeat(20), 'é🙂 "kind" \\ '.repeat(400))

const call = { id: 'call_1', type: 'function', function: { name: 'hard_values', arguments: '{"a":"x"}' } }
const HISTORY = [
  { role: 'user', content: 'Go' },
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'tool', tool_call_id: 'call_1', content: 'done' },
]

/** Requests of which each provider gets most as it came, and those of which it gets little so. */
const requests: fc.Arbitrary<{ readonly messages: readonly object[]; readonly tools?: readonly object[] }> =
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom({ messages: HISTORY, tools: [] }, { messages: [] }) },
    REQUESTS.chat,
  )

/** A request with values that are hard to copy, in messages and tools, and sometimes images. */
const conversation = fc
  .record({
    request: requests,
    model: fc.constantFrom(...MODELS),
    long,
    texts: fc.array(hardText, { maxLength: 4 }),
    images: fc.array(image, { maxLength: 2 }),
    examples: fc.array(jsonValues(hardText), { maxLength: 3 }),
    isLast: fc.boolean(),
  })
  .map(({ request, model, long, texts, images, examples, isLast }) => {
    const hard = texts.map((text) => ({ type: 'text', text: text || ' ' }))
    const content = [
      { type: 'text', text: long || 'short' },
      ...hard,
      ...(SEES_IMAGES.has(model) ? images : []),
    ]
    const own = { role: 'user', content }
    const parameters = { type: 'object', properties: { a: { type: 'string', enum: ['x'], examples } } }
    const tool = { type: 'function', function: { name: 'hard_values', description: 'é', parameters } }
    const messages = isLast ? [...request.messages, own] : [own, ...request.messages]
    return { ...request, model, messages, ...(request.tools && { tools: [...request.tools, tool] }) }
  })

describe('bodies that are sent on as they came', () => {
  let gateway: RunningGateway
  let provider: ScriptedProvider
  before(async () => {
    provider = await startScriptedProvider()
    provider.play({ body: completion({ content: 'Hi' }) })
    const env = {
      OPENAI_BASE_URL: provider.url,
      MISTRAL_BASE_URL: provider.url,
      DEEPSEEK_BASE_URL: provider.url,
    }
    const keys = { OPENAI_API_KEY: 'x', MISTRAL_API_KEY: 'x', DEEPSEEK_API_KEY: 'x' }
    gateway = await startGateway({ ...env, ...keys })
    const mask = firewallRuleBody({ name: 'mask', pattern: 'kind', action: 'mask' })
    expect((await gateway.call('POST', '/v1/firewall-rules', mask)).status).to.equal(201)
  })
  after(async () => {
    await gateway.stop()
    provider.close()
  })

  /** What the provider got, and what the client was told. */
  async function send(json: string): Promise<object> {
    const headers = { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' }
    const url = `${gateway.url}/v1/chat/completions`
    const response = await fetch(url, { method: 'POST', headers, body: json })
    const { error, warnings } = (await response.json()) as Record<string, unknown>
    return { status: response.status, error, warnings, sent: provider.last()?.body }
  }

  it('say the same as when they are written anew', async () => {
    const isSame = fc.asyncProperty(conversation, style, async (request, style) => {
      const json = writeJson(request, style)
      const answer = await send(json)
      const sent = provider.lastText()
      expect(answer).to.deep.equal(await send(BYTE_ORDER_MARK + json))
      expect(answer).to.have.property('status', 200)
      // Other readers of JSON take the first of two fields, or read more digits of a number.
      expect(parseUniqueJson(sent)).to.deep.equal(provider.last()?.body)
      expect(numbersIn(sent)).to.deep.equal(numbersIn(provider.lastText()))
    })
    await fc.assert(isSame, inRounds(ROUNDS.forwardedBodies))
  }).timeout(LONG_TIMEOUT_MS)
  it('have nothing in their numbers that the firewall does not see', async () => {
    const rule = firewallRuleBody({ name: 'cards', pattern: '4111111111111111', action: 'block' })
    expect((await gateway.call('POST', '/v1/firewall-rules', rule)).status).to.equal(201)
    const numbers = ['1.00000000000000004111111111111111', '4111111111111111000000']
    for (const field of ['tools', 'logit_bias', 'temperature']) {
      for (const number of numbers.slice(0, field === 'tools' ? 2 : 1)) {
        const parameters = `{"type":"object","properties":{"a":{"minimum":${number}}}}`
        const values: Readonly<Record<string, string>> = {
          tools: `[{"type":"function","function":{"name":"f","parameters":${parameters}}}]`,
          logit_bias: `{"50":${number}}`,
          temperature: number,
        }
        const messages = JSON.stringify([{ role: 'user', content: LONG }])
        const answer = await send(`{"model":"gpt-4o","messages":${messages},"${field}":${values[field]}}`)
        expect(answer).to.have.property('status', 200)
        expect(provider.lastText()).to.contain(LONG).and.not.to.contain('4111111111111111')
      }
    }
  })
})

/** Changes in place what is not frozen. */
const CHANGING = `import { GatewayError } from 'signalbox'
const change = ({ messages }) => { messages[0].content = 'changed' }
export default {
  name: 'signalbox-changing',
  contract: 3,
  setup: () => ({
    confirm: ({ request, headers }) => { if (headers['x-change'] === 'confirm') change(request) },
    dialects: {
      '/v1/changed': {
        parseRequest(body) { change(body); return body },
        writeWhole: () => ({}),
        writeStream: async function* () {},
        errorStyle: 'openai',
      },
    },
  }),
}
`

describe('a long body that a package changes in place', () => {
  let gateway: RunningGateway
  let provider: ScriptedProvider
  before(async () => {
    provider = await startScriptedProvider()
    provider.play({ body: completion({ content: 'Hi' }) })
    const sources = { 'signalbox-changing': CHANGING }
    const environment = { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'x' }
    const plugins = { add: [{ use: 'signalbox-changing', after: 'routing' }] }
    gateway = await startWithPlugins(sources, plugins, '', environment)
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  const body = { model: 'gpt-4o', messages: [{ role: 'user', content: LONG }] }

  it('is sent as the dialect of the package has left it', async () => {
    expect((await gateway.call('POST', '/v1/changed', body)).status).to.equal(200)
    expect(provider.last()?.body.messages[0].content).to.equal('changed')
  })

  it('is frozen in the last look at what is sent', async () => {
    const authorization = `Bearer ${gateway.demoKey}`
    const headers = { authorization, 'x-change': 'confirm' }
    const answer = await gateway.call('POST', '/v1/chat/completions', body, headers)
    expect(answer).to.have.property('status', 500)
    expect(gateway.stderr()).to.contain('read only property')
  })
})
