import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import type { Body } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { inspectReply, textEvents, textOf } from '../support/inspected-reply.ts'
import { providersAt } from '../support/providers.ts'
import { pairs } from '../support/rounds.ts'
import { firewallRule } from '../support/rules.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { GROUPED_NUMBERS, SPELLINGS, UNGROUPED_VALUES } from '../support/spellings.ts'

const VALUES = { ...GROUPED_NUMBERS, ...UNGROUPED_VALUES }

const CASES = pairs(Object.keys(VALUES), Object.entries(SPELLINGS))
const spellingsOf = (pattern: string) =>
  CASES.flatMap(([each, spelling]) => (each === pattern ? [spelling] : []))

const EMAILS = [
  'jörg.müller@example.com',
  'ada@müller.example',
  'jo\u0308rg@mu\u0308ller.de',
  'ada\uff20example.com',
  'ada\ufe6bexample\uff0ecom',
  'иван@пример.рф',
  '用户@例子.广告',
  'ada@xn--mller-kva.de',
]

describe('presets find other spellings', function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 2 })
    gateway = await startGateway({
      ...(await withSettings(UNLIMITED)),
      ...providersAt(sandbox, ['openai']),
    })
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  async function withRule(rule: object, use: () => Promise<void>): Promise<void> {
    const body = firewallRuleBody({ type: 'preset', action: 'mask', replacement: '[x]', ...rule })
    const { body: made } = await gateway.call('POST', '/v1/firewall-rules', body)
    expect(made.data, JSON.stringify(made)).to.include({ type: 'preset' })
    try {
      await use()
    } finally {
      await gateway.call('DELETE', `/v1/firewall-rules/${made.data.id}`)
    }
  }

  async function sentFor(content: string): Promise<string> {
    const { status, body } = await gateway.call('POST', '/v1/chat/completions', chatBody(content))
    expect(status, JSON.stringify(body)).to.equal(200)
    const sent = sandbox.requests.at(-1)?.body as Body
    return sent.messages[0].content
  }

  for (const [pattern, value] of Object.entries(VALUES)) {
    it(`of ${pattern}, and mask nothing around them`, () =>
      withRule({ pattern }, async () => {
        for (const [spelling, spell] of spellingsOf(pattern)) {
          const sent = await sentFor(`Grüße: ${spell(value)} und ${spell(value)} – end`)
          expect(sent, spelling).to.match(/^Grüße: \u202d?\[x\]\u202c? und \u202d?\[x\]\u202c? – end$/)
        }
      }))
  }

  it('of email, with international names', () =>
    withRule({ pattern: 'email' }, async () => {
      for (const email of EMAILS) expect(await sentFor(`to ${email}, now`), email).to.equal('to [x], now')
      expect(await sentFor('请发给ada@example.com吧，谢谢')).to.equal('请发给[x]吧，谢谢')
    }))

  it('and refuse them with a rule that blocks', () =>
    withRule({ pattern: 'card_number', action: 'block' }, async () => {
      for (const spell of Object.values(SPELLINGS)) {
        const content = chatBody(`card ${spell('4111 1111 1111 1111')}`)
        expect((await gateway.call('POST', '/v1/chat/completions', content)).status).to.equal(403)
      }
    }))
})

describe('presets find other spellings in replies', function () {
  this.timeout(180_000)

  for (const [pattern, value] of Object.entries(VALUES)) {
    it(`of ${pattern}, whole and streamed, wherever chunks end`, async () => {
      const rules = [firewallRule({ type: 'preset', pattern, action: 'mask', replacement: '[x]' })]
      for (const [spelling, spell] of spellingsOf(pattern)) {
        const text = `Grüße: ${spell(value)} – end`
        const whole = await inspectReply(rules, textEvents([text]), { type: 'whole' })
        expect(textOf(whole.parts), spelling).to.match(/^Grüße: .?\[x\].? – end$/)
        for (const step of [1, 5]) {
          const chunks = text.match(new RegExp(`[^]{1,${step}}`, 'g')) ?? []
          const streamed = await inspectReply(rules, textEvents(chunks))
          expect(textOf(streamed.parts), spelling).to.equal(textOf(whole.parts))
        }
      }
    })
  }
})
