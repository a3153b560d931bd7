import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ADMIN_KEY, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { withSettings } from '../support/settings.ts'

interface Setting {
  readonly name: string
  readonly value: unknown
  readonly is_set: boolean
}

/** None of these may be in the answer. */
const SECRETS = {
  OPENAI_API_KEY: 'sk-secret-of-openai-0001',
  APPROVAL_SECRET: 'a-secret-of-approvals-0002',
  ALERT_SECRET: 'a-secret-of-alerts-0010',
  LEDGER_EXPORT_SECRET: 'a-secret-of-exports-0012',
  GROQ_API_KEY: 'gsk-secret-of-groq-0003',
}

const OWN = `limits: { body_bytes: 2000000 }
providers:
  groq: { preset: groq, query: { version: secret-in-a-query-0004 } }
  mine: { format: openai, base_url: 'https://me:secret-in-a-url-0005@models.example.com/v1' }
alerts:
  - { when: log_contradiction, to: [{ webhook: 'https://hooks.example.com/secret-in-a-path-0007?id=secret-in-a-query-0006' }] }
ledger:
  export:
    - { to: webhook, url: 'https://hooks.example.com/secret-in-a-path-0011' }
    - { to: langfuse, public_key: pk, secret_key: 'env:LANGFUSE_KEY' }
mcp:
  servers:
    files: { command: [node, '--token=secret-in-an-argument-0008'], env: { TOKEN: secret-in-env-0009, B: 'env:MCP_B' } }
`

describe('GET /admin/settings', () => {
  let gateway: RunningGateway
  let config: { readonly CONFIG: string }
  let secretFile: string
  before(async () => {
    secretFile = path.join(await mkdtemp(path.join(tmpdir(), 'settings-')), 'groq')
    await writeFile(secretFile, `${SECRETS.GROQ_API_KEY}\n`)
    config = await withSettings(OWN)
    const { GROQ_API_KEY: _, ...others } = SECRETS
    gateway = await startGateway({ ...config, ...others, GROQ_API_KEY_FILE: secretFile })
  })
  after(() => gateway.stop())

  const read = async (headers: Readonly<Record<string, string>> = AS_ADMIN) =>
    gateway.call('GET', '/admin/settings', undefined, headers)

  async function readAll() {
    const { status, body } = await read()
    expect(status).to.equal(200)
    const settings: readonly Setting[] = body.data.settings
    return { file: body.data.file, byName: new Map(settings.map((setting) => [setting.name, setting])), body }
  }

  it('has the value of each setting and where it came from', async () => {
    const { file, byName } = await readAll()
    expect(file).to.equal(config.CONFIG)
    expect(byName.get('limits.body_bytes')).to.deep.include({
      value: 2_000_000,
      default: 20_971_520,
      source: { type: 'file', name: config.CONFIG },
      is_secret: false,
      is_set: true,
      description: 'Maximum size of a request body.',
    })
    expect(byName.get('ledger.record_prompts')).to.deep.include({ value: 'off', source: { type: 'default' } })
    expect(byName.get('port')).to.deep.include({
      value: 0,
      default: 8080,
      variable: 'PORT',
      source: { type: 'environment', name: 'PORT' },
    })
    expect(byName.get('providers.groq.base_url')).to.deep.include({ source: { type: 'preset' } })
    expect(byName.get('redis_url')).to.deep.include({ value: null, is_set: false, variable: 'REDIS_URL' })
    expect(byName.get('smtp')).to.deep.include({ value: null, is_set: false })
    expect(byName.get('plugins')?.value).to.deep.include({ use: 'auth', options: {} })
  })

  it('says of secrets only whether they are set, and by what', async () => {
    const { byName, body } = await readAll()
    const secret = { value: null, is_secret: true, is_set: true }
    const from = (name: string) => ({ ...secret, source: { type: 'environment', name } })
    expect(byName.get('admin_key')).to.deep.include(from('ADMIN_KEY'))
    expect(byName.get('approval_secret')).to.deep.include(from('APPROVAL_SECRET'))
    expect(byName.get('providers.openai.api_key')).to.deep.include(from('OPENAI_API_KEY'))
    expect(byName.get('providers.groq.api_key')).to.deep.include(from('GROQ_API_KEY_FILE'))
    expect(byName.get('providers.anthropic.api_key')).to.deep.include({ is_secret: true, is_set: false })
    expect(byName.get('guardrail_secret')).to.deep.include({ is_secret: true, is_set: false })

    const shownOf = (name: string) => byName.get(name)?.value
    expect(shownOf('providers.groq.query')).to.deep.equal({ version: '[hidden]' })
    expect(shownOf('providers.mine.base_url')).to.equal('https://[hidden]@models.example.com/v1')
    expect(JSON.stringify(shownOf('alerts'))).to.contain('"https://hooks.example.com/[hidden]?[hidden]"')
    expect(shownOf('ledger.export')).to.deep.equal([
      { to: 'webhook', url: 'https://hooks.example.com/[hidden]' },
      { to: 'langfuse', public_key: 'pk', secret_key: 'env:LANGFUSE_KEY' },
    ])
    expect(shownOf('mcp.servers')).to.deep.equal({
      files: { command: ['node', '[hidden]'], env: { TOKEN: '[hidden]', B: 'env:MCP_B' } },
    })
    const text = JSON.stringify(body)
    for (const value of [...Object.values(SECRETS), ADMIN_KEY]) expect(text).not.to.contain(value)
    expect(text).not.to.match(/secret-in-/)
  })

  it('is for operators of any role who see everything', async () => {
    const auditor = await newOperator(gateway, 'auditor', 'Otto')
    const as = ({ key }: { readonly key: string }) => ({ authorization: `Bearer ${key}` })
    expect((await read(as(auditor))).status).to.equal(200)
    const group = (await gateway.call('POST', '/admin/groups', { name: 'Service' }, AS_ADMIN)).body.data.id
    const scoped = await newOperator(gateway, 'admin', 'Sue', { scope: { groups: [group] } })
    const refused = await read(as(scoped))
    expect([refused.status, refused.headers.get('x-error-code')]).to.deep.equal([403, 'endpoint_not_allowed'])
    expect((await read(as(await newUser(gateway)))).status).to.equal(401)
    expect((await read({})).status).to.equal(401)
  })
})
