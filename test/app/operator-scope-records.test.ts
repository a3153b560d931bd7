import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type StoppedClock, stopClock } from '../support/clock.ts'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { recordIn, watchLive } from '../support/live.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator, type TestOperator } from '../support/operators.ts'
import { asAdmin, firewallRule, newPolicy } from '../support/policies.ts'
import { providersAt } from '../support/providers.ts'
import { withSettings } from '../support/settings.ts'

describe('the records that operators with a scope see', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let inside: number
  let outside: number
  let member: TestUser
  let stranger: TestUser
  let editor: TestOperator

  const asRoot = (method: string, path: string, body?: unknown) => asAdmin(gateway, method, path, body)
  const code = ({ status, headers }: Answer) => [status, headers.get('x-error-code')]
  const move = (method: 'PUT' | 'DELETE', group: number, user: TestUser) =>
    asRoot(method, `/admin/groups/${group}/members/${user.id}`)

  async function ask(user: TestUser, content = 'Hello'): Promise<string> {
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content }], max_tokens: 5 }
    return (await user.call('POST', '/v1/chat/completions', body)).headers.get('x-request-id') ?? ''
  }

  before(async () => {
    sandbox = await startSandbox({ record: 1 })
    const settings = await withSettings('ledger: { record_prompts: full }\n')
    const RECORD_KEY = randomBytes(32).toString('base64')
    gateway = await startGateway({ ...providersAt(sandbox), ...settings, RECORD_KEY })
    const newGroup = async (name: string) => (await asRoot('POST', '/admin/groups', { name })).body.data.id
    inside = await newGroup('Support')
    outside = await newGroup('Secret project')
    member = await newUser(gateway, 'paid', 'Mia Member')
    stranger = await newUser(gateway, 'paid', 'Stan Stranger')
    await move('PUT', inside, member)
    await move('PUT', outside, member)
    await move('PUT', outside, stranger)
    editor = await newOperator(gateway, 'editor', 'Sue', { scope: { groups: [inside] } })
  })
  after(async () => {
    await gateway.stop()
    await sandbox.close()
  })

  it('are explained, with the rules of their users and own policies only', async () => {
    const own = await newPolicy(gateway, {
      applies_to: { groups: [inside] },
      firewall: [firewallRule({ name: 'own', pattern: 'beacon', action: 'warn' })],
    })
    const everyone = await newPolicy(gateway, {
      firewall: [firewallRule({ name: 'of all', pattern: 'beacon', action: 'warn' })],
    })
    const path = `/admin/requests/${await ask(member, 'a beacon')}`
    const { data } = (await editor.call('GET', path)).body
    expect(data.group_ids).to.deep.equal([inside])
    expect(data.rules.map(({ origin }: { origin: { id: number } }) => origin.id)).to.deep.equal([own.id])
    expect((await asRoot('GET', path)).body.data.rules).to.have.length(2)
    const hidden = await editor.call('GET', `/admin/requests/${await ask(stranger)}`)
    expect(code(hidden)).to.deep.equal([404, 'not_found'])
    await Promise.all([own.remove(), everyone.remove()])
  })

  it('are those of the time in the group: what came before and after is of others', async () => {
    const user = await newUser(gateway, 'paid', 'Wanda')
    await move('PUT', outside, user)
    const before = await ask(user)
    await move('PUT', inside, user)
    await move('DELETE', outside, user)
    const during = await ask(user)
    const list = async () => {
      const { data } = (await editor.call('GET', `/admin/requests?user=${user.id}`)).body
      return data.map((record: { x_request_id: string }) => record.x_request_id)
    }
    expect(await list()).to.deep.equal([during])
    expect(code(await editor.call('GET', `/admin/requests/${before}`))).to.deep.equal([404, 'not_found'])
    expect(code(await editor.call('GET', `/admin/requests/${before}/prompt`))).to.deep.equal([
      404,
      'not_found',
    ])
    expect((await editor.call('GET', `/admin/requests/${during}/prompt`)).status).to.equal(200)
    expect((await editor.call('GET', `/admin/requests?group=${outside}`)).body.data).to.deep.equal([])
    await move('DELETE', inside, user)
    const { data } = (await editor.call('GET', '/admin/usage?group_by=user&names=true')).body
    const former = data.find((usage: { user: number }) => usage.user === user.id)
    expect(former, 'the requests stay those of the group, without the name').to.include({
      requests: 1,
      name: null,
    })
  })

  it('are streamed live, without those of others and their number', async () => {
    const watching = await watchLive(gateway, '', editor.headers)
    await ask(stranger)
    const own = await ask(member)
    const seen = recordIn(await watching.next())
    expect(seen).to.deep.include({ x_request_id: own, group_ids: [inside] })
    await asRoot('PATCH', `/admin/operators/${editor.id}`, { scope: { groups: [inside, outside] } })
    await ask(member)
    expect(await watching.next(), 'ends with the scope').to.equal('')
    await asRoot('PATCH', `/admin/operators/${editor.id}`, { scope: { groups: [inside] } })
  })

  describe('with a key that expires', () => {
    let clock: StoppedClock
    beforeEach(() => {
      clock = stopClock()
    })
    afterEach(() => clock.restore())

    it('are no longer streamed then', async () => {
      const expires_at = new Date(Date.now() + 60_000).toISOString()
      const { headers } = await newOperator(gateway, 'auditor', 'Tim', { expires_at })
      const watching = await watchLive(gateway, '', headers)
      clock.pass(60_000)
      await ask(member)
      expect(await watching.next()).to.equal('')
    })
  })

  it('are rated if they are theirs', async () => {
    const rate = (request_id: string) => editor.call('POST', '/admin/feedback', { request_id, value: true })
    expect((await rate(await ask(member))).status).to.equal(201)
    expect(code(await rate(await ask(stranger)))).to.deep.equal([404, 'not_found'])
    const response = await fetch(`${gateway.url}/admin/feedback?format=jsonl`, {
      method: 'POST',
      headers: { ...editor.headers, 'content-type': 'application/jsonl' },
      body: '{}\n',
    })
    expect([response.status, response.headers.get('x-error-code')]).to.deep.equal([
      403,
      'endpoint_not_allowed',
    ])
    await response.body?.cancel()
  })

  it('are simulated for their users and with drafts of own policies only', async () => {
    const policy = await newPolicy(gateway, {})
    const request = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }
    const simulate = (body: object) => editor.call('POST', '/admin/simulate', { request, ...body })
    expect((await simulate({ user_id: member.id })).status).to.equal(200)
    expect(code(await simulate({ user_id: stranger.id }))).to.deep.equal([404, 'not_found'])
    const drafts = { policies: [{ policy_id: policy.id, firewall: [firewallRule()] }] }
    expect(code(await simulate({ user_id: member.id, drafts }))).to.deep.equal([404, 'not_found'])
    const past = await simulate({ user_id: member.id, as_of: new Date().toISOString() })
    expect(code(past)).to.deep.equal([403, 'scope_exceeded'])
    await policy.remove()
  })

  it('are not evaluated by what-if, which is about everything', async () => {
    const answer = await editor.call('POST', '/admin/what-if', { file: {} })
    expect(code(answer)).to.deep.equal([403, 'endpoint_not_allowed'])
  })

  it('are in the audit trail, which an export filters as well', async () => {
    await asRoot('PATCH', `/admin/users/${stranger.id}`, { name: 'Stan S.' })
    await asRoot('PATCH', `/admin/users/${member.id}`, { name: 'Mia M.' })
    for (const query of ['', '?user=', '?q=Stan', '?objects=true', '?format=jsonl', '?format=csv']) {
      const path = `/admin/audit${query === '?user=' ? `?user=${stranger.id}` : query}`
      const response = await fetch(gateway.url + path, { headers: editor.headers })
      const text = await response.text()
      expect(response.status, path).to.equal(200)
      expect(text, path).not.to.match(/Stan|Secret project|op_/)
      if (query === '') expect(text).to.contain('Mia M.')
    }
  })
})
