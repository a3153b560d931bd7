import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import {
  ADMIN_KEY,
  AS_ADMIN,
  type RunningGateway,
  startGateway,
  startGatewayOnFiles,
} from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy, routingRule } from '../support/policies.ts'
import { withSettings } from '../support/settings.ts'

const start = async (mode: string) =>
  startGateway({
    ...(await withSettings(`ledger: { record_prompts: ${mode} }\n`)),
    RECORD_KEY: randomBytes(32).toString('base64'),
  })

const ask = (user: TestUser, content: string, more = {}) =>
  user.call('POST', '/v1/chat/completions', {
    model: 'gpt-4o',
    messages: [{ role: 'user', content }],
    ...more,
  })

/** Evaluates a rules file on the recorded requests of a user. */
async function whatIf(gateway: RunningGateway, file: object, query: string, more = {}) {
  const { status, body } = await asAdmin(gateway, 'POST', `/admin/what-if?${query}`, { file, ...more })
  expect(status, JSON.stringify(body)).to.equal(200)
  return body.data
}

const NO_EFFECTS = {
  blocked: 0,
  unblocked: 0,
  blocked_otherwise: 0,
  masked: 0,
  unmasked: 0,
  masked_otherwise: 0,
  warned: 0,
  unwarned: 0,
  routed: 0,
  over_limit: 0,
  within_limit: 0,
  reply_blocked: 0,
  reply_unblocked: 0,
  reply_masked: 0,
  reply_unmasked: 0,
  reply_warned: 0,
  reply_unwarned: 0,
}

// biome-ignore lint/suspicious/noExplicitAny: drafts of any answer
const rulesOf = ({ rules }: any) =>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  rules.map(({ action, name, before, after }: any) => [action, name, before, after])

const DRAFT_POLICY = { name: 'Draft', is_enabled: true, priority: 5, applies_to: { everyone: true } }

describe('what-if on recorded requests', function () {
  this.timeout(180_000)
  let gateway: RunningGateway

  before(async () => {
    gateway = await start('full')
  })
  after(() => gateway.stop())

  it('says what drafts of a new policy would have done, side by side', async () => {
    const user = await newUser(gateway)
    const blocked = await ask(user, 'the merger is near')
    await ask(user, 'my number is 4711')
    await ask(user, 'hello', { model: 'gpt-4o' })
    const file = {
      policies: [
        {
          ...DRAFT_POLICY,
          firewall_rules: [
            firewallRule({ name: 'Merger', pattern: 'merger' }),
            firewallRule({ name: 'Number', pattern: '4711', action: 'mask', replacement: '#' }),
          ],
          routing_rules: [routingRule({ set_model: 'gpt-4o-mini' }, { match_json: { contains: 'hello' } })],
        },
      ],
    }
    const result = await whatIf(gateway, file, `user=${user.id}`)
    expect(result).to.include({ requests: 3, evaluated: 3, is_truncated: false })
    expect(result.not_evaluated).to.deep.equal([])
    expect(result.effects).to.deep.equal({ ...NO_EFFECTS, blocked: 1, masked: 1, routed: 1, unchanged: 0 })
    expect(result.outcomes).to.deep.equal({
      before: { allowed: 3, refused: 0, masked: 0, warned: 0 },
      after: { allowed: 2, refused: 1, masked: 1, warned: 0 },
    })
    expect(result.reproduced).to.deep.equal({ same: 3, different: 0, explained: [] })
    const [draft] = result.drafts
    expect(draft).to.include({ type: 'policy', id: -1, name: 'Draft', action: 'add' })
    expect(draft).to.include({ requests: 3, changed: 3, blocked: 1, masked: 1, warned: 0, routed: 1 })
    expect(rulesOf(draft)).to.deep.equal([
      ['add', 'A rule', 0, 1],
      ['add', 'Merger', 0, 1],
      ['add', 'Number', 0, 1],
    ])
    const [routed, masked, refused] = result.examples
    expect(routed.before).to.include({ model: 'gpt-4o', text: 'hello' })
    expect(routed.after).to.include({ model: 'gpt-4o-mini', provider: 'openai' })
    expect([masked.before.text, masked.after.text]).to.deep.equal(['my number is 4711', 'my number is #'])
    expect(refused).to.include({ x_request_id: blocked.headers.get('x-request-id'), user_id: user.id })
    expect(refused.effects).to.deep.equal(['blocked'])
    expect(refused.after).to.include({ outcome: 'refused', text: null })
    expect(refused.after.error.code).to.equal('firewall_blocked')
    expect(refused.after.rule_trace[0]).to.include({ rule_id: -1 - 1, name: 'Merger', action: 'block' })
  })

  it('evaluates changed and removed rules, and rules of users', async () => {
    const user = await newUser(gateway)
    const block = firewallRule({ name: 'B', pattern: 'alpha' })
    const mask = firewallRule({ name: 'M', pattern: 'beta', action: 'mask', replacement: '1' })
    for (const rule of [block, mask]) await user.call('POST', '/v1/firewall-rules', rule)
    const policy = await newPolicy(gateway, {
      name: 'W',
      applies_to: { users: [user.id] },
      firewall: [firewallRule({ name: 'W', pattern: 'gamma', action: 'warn' })],
    })
    for (const text of ['alpha', 'beta', 'gamma', 'delta']) await ask(user, text)
    const file = {
      users: [{ user: user.id, firewall_rules: [{ ...mask, replacement: '22' }] }],
      policies: [{ id: policy.id, name: 'W', absent: true }],
    }
    const result = await whatIf(gateway, file, `user=${user.id}`)
    const { unblocked, masked_otherwise, unwarned, unchanged } = result.effects
    expect({ unblocked, masked_otherwise, unwarned, unchanged }).to.deep.equal({
      unblocked: 1,
      masked_otherwise: 1,
      unwarned: 1,
      unchanged: 1,
    })
    const [removed, changed] = result.drafts
    expect(removed).to.include({ type: 'policy', id: policy.id, action: 'remove', changed: 1 })
    expect(rulesOf(removed)).to.deep.equal([['remove', 'W', 1, 0]])
    expect(changed).to.include({ type: 'user', id: user.id, action: 'change', requests: 1, changed: 2 })
    expect(rulesOf(changed)).to.deep.equal([
      ['change', 'M', 1, 1],
      ['remove', 'B', 1, 0],
    ])
    expect(result.reproduced).to.deep.equal({ same: 4, different: 0, explained: [] })
    await policy.remove()
  })

  it('evaluates memberships and the settings of policies', async () => {
    const [user, other] = [await newUser(gateway), await newUser(gateway)]
    const group = (await asAdmin(gateway, 'POST', '/admin/groups', { name: `G ${user.id}` })).body.data.id
    const policy = await newPolicy(gateway, {
      name: 'For the group',
      applies_to: { groups: [group] },
      firewall: [firewallRule()],
    })
    await ask(user, 'a secret')
    await ask(other, 'a secret')
    const joined = await whatIf(gateway, { groups: [{ id: group, members: [user.id] }] }, `user=${user.id}`)
    expect(joined.effects).to.deep.equal({ ...NO_EFFECTS, blocked: 1, unchanged: 0 })
    expect(joined.drafts[0]).to.include({ type: 'group', id: group, changed: 1, blocked: 1 })
    const everyone = {
      id: policy.id,
      name: 'For the group',
      is_enabled: true,
      priority: 0,
      applies_to: { everyone: true },
      firewall_rules: [{ ...firewallRule(), id: policy.ruleIds[0] }],
    }
    const widened = await whatIf(gateway, { policies: [everyone] }, `user=${other.id}`)
    expect(widened.effects).to.include({ blocked: 1 })
    expect(widened.drafts[0]).to.include({ type: 'policy', id: policy.id, changed: 1, blocked: 1 })
    await policy.remove()
  })

  it("sums up what the requests would have cost, at today's prices", async () => {
    const user = await newUser(gateway)
    const answer = await ask(user, 'hello')
    const id = answer.headers.get('x-request-id')
    const { cost_usd: recorded } = (await user.call('GET', `/v1/requests/${id}`)).body.data
    const rule = routingRule({ set_model: 'gpt-4o-mini' })
    const file = { users: [{ user: user.id, routing_rules: [rule] }] }
    const { before, after, change, unknown } = (await whatIf(gateway, file, `user=${user.id}`)).cost_usd
    expect(before).to.equal(recorded)
    expect(after).to.be.below(before).and.above(0)
    expect([change, unknown]).to.deep.equal([Number((after - before).toFixed(9)), 0])
  })

  it('does not count refused requests as masked or warned', async () => {
    const user = await newUser(gateway)
    for (const text of ['alpha beta gamma', 'alpha gamma']) await ask(user, text)
    const firewall_rules = [
      firewallRule({ name: 'Mask', pattern: 'alpha', action: 'mask', replacement: '#', priority: 0 }),
      firewallRule({ name: 'Warn', pattern: 'gamma', action: 'warn', priority: 1 }),
      firewallRule({ name: 'Block', pattern: 'beta', priority: 2 }),
    ]
    const file = { policies: [{ ...DRAFT_POLICY, firewall_rules }] }
    const { outcomes } = await whatIf(gateway, file, `user=${user.id}`)
    expect(outcomes.after).to.deep.equal({ allowed: 1, refused: 1, masked: 1, warned: 1 })
  })

  it('limits and filters the requests', async () => {
    const user = await newUser(gateway)
    for (const text of ['one', 'two', 'three']) await ask(user, text)
    const file = { policies: [{ ...DRAFT_POLICY, firewall_rules: [firewallRule({ pattern: 'o' })] }] }
    const limited = await whatIf(gateway, file, `user=${user.id}&limit=2`, { examples: 1 })
    expect(limited).to.include({ requests: 2, matching: 3, is_truncated: true })
    expect(limited.limitations[0]).to.deep.equal({
      code: 'limit',
      message: 'Only the newest 2 of 3 requests were evaluated. Raise the limit for more.',
    })
    const all = await whatIf(gateway, file, `user=${user.id}&limit=3`)
    expect(all).to.include({ requests: 3, matching: 3, is_truncated: false })
    expect(all.limitations.map(({ code }: { code: string }) => code)).not.to.include('limit')
    expect(limited.examples).to.have.length(1)
    const until = new Date(Date.now() - 3_600_000).toISOString()
    expect(await whatIf(gateway, file, `user=${user.id}&until=${until}`)).to.include({ requests: 0 })
    expect(await whatIf(gateway, file, `user=${user.id}&status=403`)).to.include({ requests: 0 })
  })

  it('names what it could not evaluate, and what the result does not tell', async () => {
    const user = await newUser(gateway)
    await ask(user, 'hello', { model: 'no-such-model' })
    await user.call('POST', '/v1/chat/completions', { model: 'gpt-4o' })
    await ask(user, 'a secret')
    await user.call('POST', '/v1/firewall-rules', firewallRule())
    const result = await whatIf(gateway, {}, `user=${user.id}`)
    expect(result).to.include({ requests: 3, evaluated: 2 })
    const message = '1 request is not evaluated: nothing is recorded to evaluate.'
    expect(result.not_evaluated).to.deep.equal([{ reason: 'not_recorded', requests: 1, message }])
    expect(result.effects).to.deep.equal({ ...NO_EFFECTS, unchanged: 2 })
    expect(result.reproduced).to.deep.equal({
      same: 1,
      different: 0,
      explained: [{ reason: 'rules_changed', requests: 1 }],
    })
    const codes = result.limitations.map(({ code }: { code: string }) => code)
    expect(codes).to.include.members(['automatic_choice', 'response_rules', 'plugin'])
    await asAdmin(gateway, 'DELETE', `/admin/users/${user.id}`)
    const gone = await whatIf(gateway, {}, `user=${user.id}`)
    expect(gone).to.include({ requests: 3, evaluated: 0 })
  })

  it('names the issues of a file by their paths', async () => {
    const file = { policies: [{ ...DRAFT_POLICY, firewall_rules: [{ name: 'No pattern' }] }] }
    const { status, body } = await asAdmin(gateway, 'POST', '/admin/what-if', { file })
    expect(status).to.equal(422)
    const place = 'policies[0].firewall_rules[0]'
    expect(Object.keys(body.error.errors)).to.deep.equal(
      ['is_enabled', 'scope', 'type', 'pattern', 'action', 'priority'].map((name) => `${place}.${name}`),
    )
  })

  it('streams its progress, and then the result', async () => {
    const user = await newUser(gateway)
    await ask(user, 'hello')
    const answer = await fetch(`${gateway.url}/admin/what-if?user=${user.id}`, {
      method: 'POST',
      headers: { ...AS_ADMIN, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ file: {} }),
    })
    expect(answer.headers.get('content-type')).to.contain('text/event-stream')
    const records = (await answer.text()).trim().split('\n\n')
    expect(records[0]).to.equal('event: progress\ndata: {"evaluated":1,"requests":1}')
    const [event, data] = records.at(-1)?.split('\n') ?? []
    expect(event).to.equal('event: result')
    expect(JSON.parse(data?.slice('data: '.length) ?? '')).to.include({ requests: 1, evaluated: 1 })
  })

  it('is an entry in the audit trail, with the filters', async () => {
    const user = await newUser(gateway)
    await whatIf(gateway, {}, `user=${user.id}`)
    const { body } = await asAdmin(gateway, 'GET', '/admin/audit?kind=access&limit=1')
    expect(body.data[0].data).to.deep.include({
      read: 'prompts',
      operation: 'evaluateDrafts',
      path: '/admin/what-if',
      query: `user=${user.id}`,
    })
  })

  it('ends when its client disconnects, and the next one is evaluated', async () => {
    const user = await newUser(gateway)
    await ask(user, 'hello')
    const leave = new AbortController()
    const left = fetch(`${gateway.url}/admin/what-if`, {
      method: 'POST',
      headers: { ...AS_ADMIN, 'content-type': 'application/json' },
      body: JSON.stringify({ file: {} }),
      signal: leave.signal,
    }).catch(() => 'left')
    const next = whatIf(gateway, {}, `user=${user.id}`)
    leave.abort()
    expect(await left).to.equal('left')
    expect(await next).to.include({ requests: 1, evaluated: 1 })
  })

  it('is a command, for a gateway with an address', async () => {
    const user = await newUser(gateway)
    await ask(user, 'the merger is near')
    const file = path.join(await makeFolder(), 'drafts.yaml')
    const draft = { ...DRAFT_POLICY, firewall_rules: [firewallRule({ name: 'Merger', pattern: 'merger' })] }
    await writeFile(file, JSON.stringify({ policies: [draft] }))
    const environment = { SIGNALBOX_URL: gateway.url, SIGNALBOX_KEY: ADMIN_KEY }
    const run = (...args: readonly string[]) =>
      runCommand(['what-if', file, '--user', `${user.id}`, ...args], environment)
    const { code, stdout, stderr } = await run('--since', '1h')
    expect([code, stderr]).to.deep.equal([0, ''])
    const lines = stdout.split('\n')
    expect(lines[0]).to.match(/^1 request from .*; 1 evaluated\.$/)
    expect(lines[1]).to.equal("Today's rules decide about 1 as recorded.")
    expect(lines.slice(3, 6)).to.deep.equal(['EFFECT     REQUESTS', 'blocked    1', 'unchanged  0'])
    expect(lines.slice(7, 10)).to.deep.equal([
      'DRAFT                       BEFORE  AFTER  CHANGED  BLOCKED  MASKED  WARNED  ROUTED',
      '+ policy "Draft"                    1      1        1        0       0       0',
      '  + firewall rule "Merger"  0       1      1',
    ])
    expect(lines.join('\n')).to.match(/\nCost: 0\.\d+ USD -> 0 USD \(-0\.\d+ USD\)\.\n/)
    await ask(user, 'one more')
    expect((await run('--limit', '1')).stdout).to.match(
      /^The newest 1 of 2 requests from .*; 1 evaluated\.\n/,
    )
    expect((await run('--since', 'yesterday')).stderr).to.contain('SINCE must be a duration such as 7d')
  })

  it('fails as a command where nothing could be evaluated', async () => {
    const unrecorded = await startGateway({ LOG_LEVEL: 'fatal' })
    try {
      const file = path.join(await makeFolder(), 'drafts.yaml')
      await writeFile(file, '{}')
      const environment = { SIGNALBOX_URL: unrecorded.url, SIGNALBOX_KEY: ADMIN_KEY }
      const run = (...args: readonly string[]) => runCommand(['what-if', file, ...args], environment)
      const none = await run()
      expect(none.code).to.equal(1)
      expect(none.stderr).to.contain('No request is recorded that passes the filters.')
      await unrecorded.call('POST', '/v1/chat/completions', chatBody('Hello'))
      for (const args of [[], ['--json']]) {
        const { code, stdout, stderr } = await run(...args)
        expect(code).to.equal(1)
        expect(stdout).to.match(/^1 request from .*; 0 evaluated\.|"evaluated":0/)
        expect(stderr).to.contain('No request could be evaluated').and.contain('ledger.record_prompts')
      }
      const result = await whatIf(unrecorded, {}, '')
      expect(result.limitations[0].code).to.equal('nothing_evaluated')
    } finally {
      await unrecorded.stop()
    }
  })

  it('evaluates prompts that were recorded after masking, and says so, also as a command', async () => {
    const settings = await withSettings('ledger: { record_prompts: masked }\n')
    const environment = { ...settings, RECORD_KEY: randomBytes(32).toString('base64'), LOG_LEVEL: 'fatal' }
    const masking = await startGatewayOnFiles(environment)
    try {
      const user = await newUser(masking)
      const mask = firewallRule({ pattern: '4711', action: 'mask', replacement: '#' })
      await user.call('POST', '/v1/firewall-rules', mask)
      await user.call('POST', '/v1/firewall-rules', firewallRule({ pattern: 'forbidden' }))
      await ask(user, 'my number is 4711')
      await ask(user, 'forbidden')
      await ask(user, 'hello')
      const result = await whatIf(masking, {}, `user=${user.id}`)
      const message = '1 request is not evaluated: refused before all of the text was masked.'
      expect(result.not_evaluated).to.deep.equal([{ reason: 'refused', requests: 1, message }])
      expect(result.reproduced).to.deep.equal({
        same: 1,
        different: 0,
        explained: [{ reason: 'recorded_masked', requests: 1 }],
      })
      const file = path.join(await makeFolder(), 'drafts.yaml')
      await writeFile(file, '{}')
      const here = { ...environment, DATA_DIR: masking.dataDir }
      const { code, stdout } = await runCommand(['what-if', file, '--json'], here)
      expect(code).to.equal(0)
      const { evaluated, reproduced } = JSON.parse(stdout)
      expect({ evaluated, reproduced }).to.deep.equal({ evaluated: 2, reproduced: result.reproduced })
      // A new hour begins with a sign-in of the operator.
      const { body } = await asAdmin(masking, 'GET', '/admin/audit?kind=access&limit=2')
      const [newest] = body.data.filter(({ event }: { event: string }) => event === 'read')
      expect(newest.data).to.include({ read: 'prompts', operation: 'what-if' })
    } finally {
      await masking.stop()
    }
  })
})
