import { expect } from 'chai'
import OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { routingRuleBody } from '../support/bodies.ts'
import { type Body, DIALECTS } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { providersAt } from '../support/providers.ts'
import { sendRequest } from '../support/send-request.ts'
import { withSettings } from '../support/settings.ts'

const SETTINGS = `
rate_limits: { requests_per_minute: { free: null, paid: null } }
providers:
  acme: { format: openai, base_url: 'http://127.0.0.1:1', key_variable: ACME_TOKEN }
`

describe('a provider without an API key', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  before(async () => {
    sandbox = await startSandbox()
    gateway = await startGateway({
      ...(await withSettings(SETTINGS)),
      ...providersAt(sandbox, ['openai']),
    })
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  function expectFinal({ status, headers, body }: { status: number; headers: Headers; body: Body }) {
    expect(status, JSON.stringify(body)).to.be.oneOf([503, 529])
    expect(headers.get('x-error-code')).to.equal('no_providers_available')
    expect(headers.get('x-should-retry')).to.equal('false')
    expect(headers.has('retry-after')).to.equal(false)
    expect(body.error).not.to.have.property('retry_after')
    return body.error.message
  }

  for (const [name, { url, body }] of Object.entries(DIALECTS)) {
    if (name === 'route') continue
    it(`is final, and the message names the variable (${name})`, async () => {
      for (const [model, variable] of [
        ['mistral-large-4', 'MISTRAL_API_KEY'],
        ['acme:loco-1', 'ACME_TOKEN'],
      ] as const) {
        const { text, ...answer } = await sendRequest(url(gateway), {
          method: 'POST',
          headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
          body: JSON.stringify(body(model, 'Hello')),
        })
        expect(expectFinal({ ...answer, body: JSON.parse(text) })).to.contain(`its API key, ${variable}.`)
      }
    })
  }

  it('is final for embeddings, and if a rule sets the provider', async () => {
    const embeddings = { model: 'mistral-embed', input: 'Hello' }
    const { body, ...answer } = await gateway.call('POST', '/v1/embeddings', embeddings)
    expect(expectFinal({ ...answer, body })).to.contain('MISTRAL_API_KEY')
    const user = await newUser(gateway)
    const action_json = { set_provider: 'gemini' }
    await user.call('POST', '/v1/routing-rules', routingRuleBody({ match_json: {}, action_json }))
    const routed = await user.route({ prompt: 'Hello' })
    expect(expectFinal(routed)).to.contain('GEMINI_API_KEY')
  })

  it('is not asked for again by SDKs', async () => {
    let requests = 0
    const client = new OpenAI({
      baseURL: `${gateway.url}/v1`,
      apiKey: gateway.demoKey,
      fetch(...call) {
        requests++
        return fetch(...call)
      },
    })
    const messages = [{ role: 'user' as const, content: 'Hello' }]
    const error = await client.chat.completions
      .create({ model: 'mistral-large-4', messages })
      .catch((thrown) => thrown)
    expect(error).to.include({ status: 503, code: 'no_providers_available' })
    expect(requests).to.equal(1)
  })
})
