import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, routingRule } from '../support/policies.ts'
import { withSettings } from '../support/settings.ts'

const respond = (user: TestUser, input: string, more = {}) =>
  user.call('POST', '/v1/responses', { model: 'gpt-4o', input, ...more })

/** The sandbox repeats what it is asked. */
const ruleFor = (pattern: string, action: string) =>
  firewallRule({ name: action, pattern, action, scope: 'response', replacement: '#' })

describe('what-if with response rules', () => {
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    const settings = 'ledger: { record_prompts: full }\nfirewall: { evaluate_responses: true }\n'
    const RECORD_KEY = randomBytes(32).toString('base64')
    gateway = await startGateway({ ...(await withSettings(settings)), RECORD_KEY })
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(() => gateway.stop())

  const whatIf = async (draft: object) => {
    const file = { users: [{ user: user.id, ...draft }] }
    const { status, body } = await asAdmin(gateway, 'POST', `/admin/what-if?user=${user.id}`, { file })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }

  it('evaluates drafts on stored responses, and counts replies that are not stored', async () => {
    for (const text of ['alpha', 'gamma', 'delta', 'omega']) await respond(user, text)
    await respond(user, 'alpha', { store: false })
    await user.call('POST', '/v1/chat/completions', {
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'gamma' }],
    })
    const rules = [ruleFor('alpha', 'block'), ruleFor('gamma', 'mask'), ruleFor('delta', 'warn')]
    const { effects, replies, drafts, examples } = await whatIf({ firewall_rules: rules })
    expect(effects).to.include({ reply_blocked: 1, reply_masked: 1, reply_warned: 1, unchanged: 3 })
    expect(replies.evaluated).to.equal(4)
    expect(replies.not_evaluated.map(pick)).to.deep.equal([['not_recorded', 2]])
    const counts = drafts[0].rules.map((rule: { after: number }) => rule.after)
    expect(counts).to.deep.equal([1, 1, 1])
    const [, , blocked] = examples
    expect(blocked.effects).to.deep.equal(['reply_blocked'])
    expect(blocked.after.reply).to.include({ outcome: 'refused' })
    expect(blocked.before.reply).to.include({ outcome: 'allowed' })
  })

  it("reproduces today's rules, and names replies that were masked, or of another model", async () => {
    for (const rule of [ruleFor('gamma', 'mask'), ruleFor('delta', 'warn')])
      await user.call('POST', '/v1/firewall-rules', rule)
    for (const text of ['gamma', 'delta']) await respond(user, text)
    const result = await whatIf({
      routing_rules: [routingRule({ set_model: 'gpt-4o-mini' }, { match_json: { contains: 'delta' } })],
    })
    expect(result.reproduced).to.deep.equal({ same: 2, different: 0, explained: [] })
    expect(result.effects).to.include({ routed: 1, unchanged: 1, reply_unwarned: 0 })
    expect(result.replies.evaluated).to.equal(0)
    expect(result.replies.not_evaluated.map(pick)).to.have.deep.members([
      ['recorded_masked', 1],
      ['other_model', 1],
    ])
  })

  it('evaluates the removal of a rule that warned', async () => {
    await user.call('POST', '/v1/firewall-rules', ruleFor('delta', 'warn'))
    await respond(user, 'delta')
    const { effects, replies } = await whatIf({ firewall_rules: [] })
    expect(effects).to.include({ reply_unwarned: 1, unchanged: 0 })
    expect(replies).to.deep.equal({ evaluated: 1, not_evaluated: [] })
  })
})

const pick = ({ reason, requests }: { reason: string; requests: number }) => [reason, requests]
