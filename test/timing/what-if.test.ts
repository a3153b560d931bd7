import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { parseEncryptionKeys } from '../../core/secrets/encryption-keys.ts'
import { createPromptCipher } from '../../plugins/ledger/store/prompt-cipher.ts'
import { openLedgerStore } from '../../plugins/ledger/store/store.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { ledgerRecord } from '../support/ledger-records.ts'
import { newUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy, routingRule } from '../support/policies.ts'
import { withSettings } from '../support/settings.ts'

const REQUESTS = 10_000
const USERS = 100
const RULES = 50

const SENTENCE = 'Please summarise the following report for the board, in plain words and without figures. '

const text = (index: number) => `${SENTENCE.repeat(1 + (index % 20))} Case ${index}.`

const rules = (name: string) =>
  Array.from({ length: RULES }, (_, index) =>
    firewallRule({
      name: `${name} ${index}`,
      type: index % 2 === 0 ? 'substring' : 'regex',
      pattern: index % 2 === 0 ? `${name}-word-${index}` : `${name}[ -]?code:?\\s*\\d{${index + 2}}`,
      action: index % 3 === 0 ? 'block' : 'mask',
    }),
  )

describe('what-if on 10,000 requests', function () {
  this.timeout(120_000)
  let gateway: RunningGateway
  const RECORD_KEY = randomBytes(32).toString('base64')

  before(async () => {
    const settings = await withSettings('ledger: { record_prompts: full }\n')
    gateway = await startGateway({ ...settings, RECORD_KEY })
    await newPolicy(gateway, { firewall: rules('policy') })
    const users = []
    for (let index = 0; index < USERS; index++) users.push((await newUser(gateway)).id)
    const chat = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }
    await gateway.call('POST', '/v1/chat/completions', chat)
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
    for (let start = 0; start < REQUESTS; start += 500) {
      const batch = Array.from({ length: 500 }, (_, offset) => {
        const index = start + offset
        const messages = [{ role: 'user' as const, content: text(index) }]
        const content = {
          request: { model: 'gpt-4o', messages },
          preferences: [],
          defaulted: [],
          leftOut: [],
        }
        return ledgerRecord({
          time: Date.now() - index,
          userId: users[index % USERS]!,
          prompt: { mode: 'full', chars: 100, content, omission: null },
        })
      })
      await store.write(batch)
    }
    await store.close()
  }

  it('takes at most ten seconds, and holds up nobody', async () => {
    const draft = {
      name: 'Draft',
      is_enabled: true,
      priority: 9,
      applies_to: { everyone: true },
      firewall_rules: [...rules('draft'), firewallRule({ name: 'Some', pattern: 'Case 77' })],
      routing_rules: [routingRule({ set_mode: 'cost' }, { match_json: { contains: 'case 5' } })],
    }
    const body = { file: { policies: [draft] }, examples: 10 }
    const call = (limit: number) => asAdmin(gateway, 'POST', `/admin/what-if?limit=${limit}`, body)
    // The thread starts with the first call.
    await call(10)
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const { data } = (await call(REQUESTS)).body
    delay.disable()
    const longestMs = delay.max / 1e6
    expect(data).to.include({ requests: REQUESTS, is_truncated: true })
    expect(data.evaluated).to.be.at.least(REQUESTS - 1)
    expect(data.effects.blocked).to.be.above(100)
    expect(data.effects.routed).to.be.above(1000)
    expect(data.elapsed_ms).to.be.below(10_000)
    expect(longestMs).to.be.below(100)
  })
})
