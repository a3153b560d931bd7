import { inspect } from 'node:util'
import { expect } from 'chai'
import { readSettings } from '../../config/settings/settings.ts'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { startGateway } from '../support/gateway.ts'
import { SECRET, writeSecret } from '../support/secrets.ts'
import { writeSettings } from '../support/settings-file.ts'

describe('secrets in files', () => {
  let sandbox: Sandbox
  before(async () => {
    sandbox = await startSandbox({ record: 10 })
  })
  after(() => sandbox.close())

  it('replace variables', async () => {
    const gateway = await startGateway({
      ADMIN_KEY: '',
      ADMIN_KEY_FILE: await writeSecret(`${SECRET}\n`),
      OPENAI_API_KEY_FILE: await writeSecret('  the-provider-key\r\n'),
      OPENAI_BASE_URL: `${sandbox.url}/openai/v1`,
    })
    const asAdmin = { authorization: `Bearer ${SECRET}` }
    expect((await gateway.call('GET', '/admin/users', undefined, asAdmin)).status).to.equal(200)
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await gateway.call('POST', '/v1/chat/completions', body)).status).to.equal(200)
    expect(sandbox.requests.at(-1)?.headers.authorization).to.equal('Bearer the-provider-key')
    await gateway.stop()
  })

  it('replace the key variable that a provider names', async () => {
    const CONFIG = await writeSettings(
      `providers: { own: { format: openai, base_url: '${sandbox.url}/openai/v1', key_variable: MY_OWN_KEY } }`,
    )
    const gateway = await startGateway({ CONFIG, MY_OWN_KEY_FILE: await writeSecret('my-own') })
    const body = { model: 'own:something', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await gateway.call('POST', '/v1/chat/completions', body)).status).to.equal(200)
    expect(sandbox.requests.at(-1)?.headers.authorization).to.equal('Bearer my-own')
    await gateway.stop()
  })
})

describe('invalid secrets in settings', () => {
  const settings: Readonly<Record<string, string>> = {
    'on a line that is not YAML': `admin_key: "${SECRET}\nport: 1`,
    'on a line behind a tab': `admin_key:\n\t${SECRET}`,
    'as an alias': `admin_key: *${SECRET}`,
    'as a tag': `admin_key: !${SECRET} x`,
    'that are too short': `admin_key: ${SECRET.slice(0, 15)}`,
    'of the wrong type': `admin_key: [${SECRET}]`,
    'in an address of Redis': `redis_url: http://:${SECRET}@host`,
    'in an address of an event log': `eventstore_url: http://user:${SECRET}@host`,
    'in an address of a provider': `providers: { openai: { base_url: 'ftp://user:${SECRET}@host' } }`,
  }
  for (const [place, yaml] of Object.entries(settings)) {
    it(`are not shown: ${place}`, async () => {
      const CONFIG = await writeSettings(yaml)
      expect(() => readSettings({ CONFIG }))
        .to.throw(/^The settings have/)
        .and.satisfy((error: Error) => !inspect(error, { depth: null }).includes(SECRET.slice(0, 15)))
    })
  }
})
