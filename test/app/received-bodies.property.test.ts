import { expect } from 'chai'
import fc from 'fast-check'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { inRounds } from '../support/property.ts'
import { REQUESTS } from '../support/request-arbitraries.ts'
import { ROUNDS } from '../support/rounds.ts'
import { completion, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'

/** Longer than the bodies that are always written anew. */
const LONG = 'a long conversation '.repeat(150)

/** A body with a byte order mark is always written anew. */
const BYTE_ORDER_MARK = '\ufeff'

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
    const model = fc.constantFrom(
      ...['gpt-4o', 'o3', 'mistral:mistral-large-latest', 'deepseek:deepseek-chat', 'openai:unknown'],
    )
    const isSame = fc.asyncProperty(
      REQUESTS.chat,
      model,
      fc.constantFrom(0, 2),
      async (request: object, model, indent) => {
        const { messages } = request as { messages: object[] }
        const body = { ...request, model, messages: [{ role: 'user', content: LONG }, ...messages] }
        const json = JSON.stringify(body, null, indent)
        const answer = await send(json)
        expect(answer).to.deep.equal(await send(BYTE_ORDER_MARK + json))
        expect(answer).to.have.property('status', 200)
      },
    )
    await fc.assert(isSame, inRounds(ROUNDS.forwardedBodies))
  })
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
