import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { ROOT } from '../support/root.ts'
import { withSettings } from '../support/settings.ts'
import { parseYaml } from '../support/yaml.ts'

/** The settings for another provider that docs/providers.md shows. */
async function readShownSettings(): Promise<string> {
  const page = await readFile(new URL('docs/providers.md', ROOT), 'utf8')
  return page.split('## Another provider')[1]?.match(/```yaml\n(.*?)```/s)?.[1] ?? ''
}

describe('another provider with an OpenAI-compatible API, configured by a settings file', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 50 })
    gateway = await startGateway({
      ...(await withSettings(await readShownSettings())),
      ACME_TOKEN: 'key-at-acme',
      ACME_BASE_URL: `${sandbox.url}/openai/v1`,
    })
  })
  after(async () => {
    await gateway?.stop()
    await sandbox.close()
  })

  const ask = (model: string, more: object = {}) =>
    gateway.call('POST', '/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: 'Weather?' }],
      ...more,
    })

  it('is documented with the settings of one provider and one model', async () => {
    const { providers, models } = parseYaml(await readShownSettings())
    expect(providers.acme).to.include({ format: 'openai', key_variable: 'ACME_TOKEN' })
    expect(models).to.have.length(1)
  })

  it('is called with its own key, by provider prefix and by model name', async () => {
    for (const model of ['acme:loco-1', 'loco-1']) {
      const { status, body } = await ask(model)
      expect(status).to.equal(200)
      expect(body).to.include({ provider: 'acme', model: 'loco-1' })
      expect(sandbox.requests.at(-1)?.headers.authorization).to.equal('Bearer key-at-acme')
      expect(sandbox.requests.at(-1)?.body).to.include({ model: 'loco-1' })
    }
  })

  it('receives model names that are not in the catalogue unchanged', async () => {
    const { body } = await ask('acme:loco-2:preview')
    expect(body).to.include({ provider: 'acme', model: 'loco-2:preview' })
  })

  it('streams replies', async () => {
    const stream = await gateway
      .openai()
      .chat.completions.stream({ model: 'loco-1', messages: [{ role: 'user', content: 'Hi' }] })
    const { choices } = await stream.finalChatCompletion()
    expect(choices[0]?.message.content).to.contain('loco-1')
  })

  it('is chosen automatically when no other provider has a key', async () => {
    const { body } = await ask('auto:cost')
    expect(body).to.include({ provider: 'acme', model: 'loco-1', routing_mode: 'cost' })
  })

  it('can be set by a routing rule, unlike a provider that is not configured', async () => {
    const rule = { name: 'To Acme', is_enabled: true, priority: 0, match_json: { task: 'acme' } }
    const create = (set_provider: string) =>
      gateway.call('POST', '/v1/routing-rules', { ...rule, action_json: { set_provider } })
    expect((await create('acme')).status).to.equal(201)
    expect((await create('nobody')).status).to.equal(422)
    const { body } = await ask('gpt-4o', { metadata: { task: 'acme' } })
    expect(body.provider).to.equal('acme')
  })

  it('receives only parameters that its capabilities include', async () => {
    const object = await ask('loco-1', { response_format: { type: 'json_object' }, seed: 7 })
    expect(object.status).to.equal(200)
    expect(object.body.metadata.warnings).to.deep.equal([
      { code: 'parameter', message: 'seed was omitted because loco-1 does not support it.' },
    ])
    expect(sandbox.requests.at(-1)?.body).to.not.have.property('seed')
    const schema = { name: 'weather', schema: { type: 'object', properties: {} } }
    const refused = await ask('loco-1', { response_format: { type: 'json_schema', json_schema: schema } })
    expect(refused.status).to.equal(400)
    expect(refused.body.error).to.include({ code: 'unsupported_parameter', param: 'response_format' })
  })

  it('is listed with its model in /v1/models', async () => {
    const { body } = await gateway.call('GET', '/v1/models/loco-1')
    expect(body).to.include({ id: 'loco-1', owned_by: 'acme', provider: 'acme' })
  })

  it('does not make providers without a key available', async () => {
    expect((await ask('gpt-4o')).status).to.equal(503)
  })
})
