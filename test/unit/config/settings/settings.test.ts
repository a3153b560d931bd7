import { expect } from 'chai'
import { readSettings } from '../../../../config/settings/settings.ts'
import { SettingsError } from '../../../../config/settings/settings-error.ts'
import { writeSettings } from '../../../support/settings-file.ts'

describe('readSettings', () => {
  it('reports each invalid setting once, not each alternative that it does not match', async () => {
    const CONFIG = await writeSettings(`
plugins: [auth, 3, { use: plan, option: {} }]
providers: { Foo: { format: openai, base_url: https://foo.test } }
`)
    expect(() => readSettings({ CONFIG }))
      .to.throw(SettingsError)
      .with.property('issues')
      .that.deep.equals([
        'plugins[1] must be a string or an object',
        'plugins[2] has the unknown field "option" (did you mean "options"?)',
        'the field name "Foo" in providers must match the pattern ^[a-z][a-z0-9-]*$',
      ])
  })

  it('takes only hosts of OpenAI and Azure for ones that refuse reasoning', async () => {
    const CONFIG = await writeSettings(`
providers:
  own: { format: openai, base_url: https://api.openai.com/v1 }
  azure: { format: openai, base_url: https://acme.openai.azure.com/openai/v1 }
  kimi: { format: openai, base_url: https://api.moonshot.ai/v1, capabilities: { reasoning: required } }
  local: { format: openai, base_url: http://127.0.0.1:8000/v1 }
  other: { format: openai, base_url: https://notopenai.com/v1 }
`)
    const { providers } = readSettings({ CONFIG })
    const taken = Object.entries(providers).map(([id, { capabilities }]) => [id, capabilities.reasoning])
    expect(Object.fromEntries(taken)).to.include({
      ...{ openai: false, own: false, azure: false },
      ...{ kimi: 'required', local: true, other: true },
    })
  })

  it('reports rows of providers that cannot work', async () => {
    const CONFIG = await writeSettings(`
providers:
  one: { format: openai, base_url: 'https://one.test/v1?api-version=1' }
  two: { format: openai, base_url: https://two.test, auth: none, key_variable: TWO_KEY }
  three: { format: openai, base_url: https://three.test, auth: { header: Content-Type } }
  four: { format: openai, base_url: https://four.test, auth: bearer, query: { version: 1 } }
  five: { format: openai, base_url: https://five.test, auth: { header: 'api key' } }
`)
    expect(() => readSettings({ CONFIG }))
      .to.throw(SettingsError)
      .with.property('issues')
      .that.deep.equals([
        'providers.four.auth must be one of none, aws, google, entra',
        'providers.four.query.version must be a string',
        'providers.five.auth.header must match the pattern ^[A-Za-z][A-Za-z0-9-]*$',
        'providers.one.base_url must not contain "?" or "#"; set query parameters with providers.one.query',
        'providers.two has both auth: none and key_variable; remove one of them',
        'providers.three.auth.header must not be content-type, which the gateway sets itself',
      ])
  })

  it('names issuers whose entries have different keys', async () => {
    const entry = (issuer: string, more = '') => `{ issuer: 'https://${issuer}.test', audience: a${more} }`
    const CONFIG = await writeSettings(`identity:
  callers:
    - ${entry('one', ", jwks_uri: 'https://one.test/keys'")}
    - ${entry('one')}
    - ${entry('two')}
    - ${entry('two')}
`)
    expect(() => readSettings({ CONFIG }))
      .to.throw(SettingsError)
      .with.property('issues')
      .that.deep.equals([
        'identity.callers must have the same jwks_uri, or none, in all entries of https://one.test',
      ])
  })

  it('never reads a key for a provider with auth: none', async () => {
    const CONFIG = await writeSettings(
      'providers: { ollama: { format: openai, base_url: http://127.0.0.1:11434/v1, auth: none } }',
    )
    const { ollama } = readSettings({ CONFIG, OLLAMA_API_KEY: 'of-another-service' }).providers
    expect(ollama).to.include({ auth: 'none', api_key: undefined })
  })
})
