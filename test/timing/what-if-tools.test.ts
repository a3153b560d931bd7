import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { parseEncryptionKeys } from '../../core/secrets/encryption-keys.ts'
import { digestOf } from '../../core/util/canonical-json.ts'
import { createPromptCipher } from '../../plugins/ledger/store/prompt-cipher.ts'
import { openLedgerStore } from '../../plugins/ledger/store/store.ts'
import { toolRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy } from '../support/policies.ts'
import { withSettings } from '../support/settings.ts'

const CALLS = 10_000
const USERS = 100
const RULES = 30

const rules = (name: string) =>
  Array.from({ length: RULES }, (_, index) =>
    toolRuleBody({
      name: `${name} ${index}`,
      match: {
        tool: index % 2 === 0 ? `${name}-*` : `*-${index}`,
        ...(index % 3 === 0 && { arguments: { '/path': { matches: `^/${name}/\\d{${index + 1}}$` } } }),
        ...(index % 5 === 0 && { after_reading: ['web'] }),
      },
      action: index % 4 === 0 ? 'require_approval' : 'deny',
    }),
  )

describe('what-if on 10,000 calls of tools', function () {
  this.timeout(120_000)
  let gateway: RunningGateway
  const RECORD_KEY = randomBytes(32).toString('base64')

  before(async () => {
    const settings = await withSettings('ledger: { record_prompts: full }\n')
    gateway = await startGateway({ ...settings, RECORD_KEY })
    const firewall = [firewallRule({ scope: 'tool_call', type: 'preset', pattern: 'email', action: 'mask' })]
    await newPolicy(gateway, { tool: rules('policy'), firewall })
    const server = { name: 'files', url: 'http://127.0.0.1:9/mcp', new_tools: 'approved' }
    await asAdmin(gateway, 'POST', '/admin/tool-servers', server)
    const users: number[] = []
    for (let index = 0; index < USERS; index++) users.push((await newUser(gateway)).id)
    await asAdmin(gateway, 'GET', '/admin/usage')
    await fillLedger(path.join(gateway.dataDir, 'ledger.db'), users)
  })
  after(() => gateway.stop())

  async function fillLedger(file: string, users: readonly number[]) {
    const database = new SqliteDatabase(file, { readonly: true })
    const { log_id } = database.prepare('select log_id from ledger').get() as { log_id: string }
    database.close()
    const cipher = createPromptCipher(parseEncryptionKeys(RECORD_KEY))
    const store = await openLedgerStore({ engine: 'sqlite', file }, log_id, { cipher })
    for (let start = 0; start < CALLS; start += 500)
      await store.saveToolCalls(
        Array.from({ length: 500 }, (_, offset) => {
          const index = start + offset
          const args = { path: `/case/${index}`, text: 'A line of text to write. '.repeat(1 + (index % 40)) }
          return {
            id: `req_${randomBytes(12).toString('hex')}`,
            time: new Date(Date.now() - index).toISOString(),
            userId: users[index % USERS]!,
            keyId: '',
            groups: [],
            server: 'files',
            tool: `tool-${index % 60}`,
            revision: 1,
            argumentsDigest: digestOf(args),
            argumentsText: JSON.stringify(args),
            verdict: 'allowed' as const,
            ...{ rules: [], warnings: [], requestBytes: 0, resultBytes: 0, durationMs: 1, upstreamMs: 1 },
            ...{ rulesPosition: 1, read: index % 2 === 0 ? ['web'] : [] },
          }
        }),
      )
    await store.close()
  }

  it('takes at most five seconds', async () => {
    const draft = { name: 'Draft', is_enabled: true, priority: 5, applies_to: { everyone: true } }
    const file = { policies: [{ ...draft, tool_rules: rules('draft') }] }
    const ask = async () => {
      const { body } = await asAdmin(gateway, 'POST', `/admin/what-if?limit=${CALLS}`, { file })
      return body.data
    }
    const first = await ask()
    expect(first.tool_calls).to.deep.include({ calls: CALLS, evaluated: CALLS })
    expect(first.tool_calls.effects.unchanged).to.be.below(CALLS)
    // The first evaluation starts the thread.
    const { elapsed_ms: elapsed } = await ask()
    expect(elapsed, `first ${first.elapsed_ms} ms`).to.be.below(5000)
  })
})
