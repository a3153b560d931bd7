import { expect } from 'chai'
import fc from 'fast-check'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
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
})
