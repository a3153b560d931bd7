import { expect } from 'chai'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { scrape } from '../support/metrics.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { startSignedWebhook } from '../support/signed-webhook.ts'
import { waitUntil } from '../support/wait.ts'

/** Claims approvals as the gateway for tools does. */
const CLAIMS = `import { endpoint, Type, user } from 'signalbox'
const Any = Type.Record(Type.String(), Type.Unknown(), { description: 'Anything.' })
export default {
  name: 'claims',
  contract: 3,
  after: ['auth'],
  uses: { approvals: { name: 'approvals' } },
  setup: (_, { use: { approvals } }) => ({
    endpoints: [endpoint({
      method: 'POST', path: '/v1/claim', access: user(), operationId: 'claim', summary: 'Claims.', tags: ['claims'],
      body: Any, responses: { 200: { description: 'The approval.', body: Any } },
      handle: async ({ account, requestId, body }) => ({
        status: 200,
        body: await approvals.claim({
          account, requestId, server: 'files', tool: 'write', argumentsDigest: 'a'.repeat(64), rulesPosition: 3,
          rule: { id: 9, name: 'Writes' }, ...body,
        }),
      }),
    })],
  }),
}`

const APPROVAL_SECRET = 'a-secret-for-approvals'

describe('approvals of tool calls', () => {
  let hook: Awaited<ReturnType<typeof startSignedWebhook<{ data: { id: string } }>>>
  let gateway: RunningGateway
  before(async () => {
    hook = await startSignedWebhook(APPROVAL_SECRET)
    const options = { webhook_url: hook.url, max_pending_per_user: 3 }
    const add = [{ use: 'approvals', after: 'plan', options }, 'claims']
    const plugins = { remove: ['approvals'], add }
    gateway = await startWithPlugins({ claims: CLAIMS }, plugins, '', { APPROVAL_SECRET })
  })
  after(async () => {
    await gateway.stop()
    hook.close()
  })

  const claim = async (user: TestUser, call: object = {}) =>
    (await user.call('POST', '/v1/claim', call)).body as { id: string; status: string; expiresAt: string }
  const decide = (id: string, verb: 'grant' | 'deny', headers = {}) =>
    gateway.call('POST', `/admin/approvals/${id}/${verb}`, undefined, { ...AS_ADMIN, ...headers })
  const read = async (id: string) =>
    (await gateway.call('GET', `/admin/approvals/${id}`, undefined, AS_ADMIN)).body.data

  it('are granted for one call, and used by it', async () => {
    const user = await newUser(gateway)
    const asked = await claim(user, { arguments: { path: '/etc/motd' }, sessionId: 'run-1' })
    expect(asked.status).to.equal('pending')
    expect(await claim(user)).to.deep.equal(asked)
    expect(await read(asked.id)).to.deep.include({
      status: 'pending',
      user_id: user.id,
      user_name: 'someone',
      server: 'files',
      tool: 'write',
      session_id: 'run-1',
      rule_id: 9,
      rule_name: 'Writes',
      arguments: { path: '/etc/motd' },
      used_by: null,
    })
    const pending = async () => (await scrape(gateway)).sum('signalbox_approvals_pending')
    const waiting = await pending()
    expect(waiting).to.be.at.least(1)

    const granted = await decide(asked.id, 'grant', { 'x-change-reason': 'Ticket 7' })
    expect(granted.body.data.status).to.equal('granted')
    expect(granted.body.data.decided_by).to.deep.equal({ type: 'root', id: 'root', name: 'root' })
    expect(await pending()).to.equal(waiting - 1)
    expect(await claim(user)).to.include({ id: asked.id, status: 'granted' })
    const used = await read(asked.id)
    expect(used.status).to.equal('used')
    expect(used.used_by).to.match(/^req_/)

    const next = await claim(user)
    expect(next.status).to.equal('pending')
    expect(next.id).to.not.equal(asked.id)
    expect((await decide(asked.id, 'grant')).status).to.equal(409)

    const { body } = await gateway.call('GET', '/admin/audit?kind=approval', undefined, AS_ADMIN)
    const entries = body.data.filter(({ id }: { id: string }) => id === asked.id)
    expect(entries.map(({ event }: { event: string }) => event)).to.deep.equal([
      'used',
      'granted',
      'requested',
    ])
    expect(entries[1].reason).to.equal('Ticket 7')
    expect(JSON.stringify(body)).to.not.contain('/etc/motd')

    const other = await claim(await newUser(gateway))
    const path = `/admin/audit?kind=approval&user=${user.id}`
    const ofUser = (await gateway.call('GET', path, undefined, AS_ADMIN)).body.data
    const ids = ofUser.map(({ id }: { id: string }) => id)
    expect(ids).to.deep.equal([next.id, asked.id, asked.id, asked.id]).and.not.include(other.id)
  })

  it('do not count for other arguments, rules, tools or users', async () => {
    const user = await newUser(gateway)
    const { id } = await claim(user)
    await decide(id, 'grant')
    expect(await claim(user, { argumentsDigest: 'b'.repeat(64) })).to.include({ status: 'pending' })
    expect(await claim(user, { rulesPosition: 4 })).to.include({ status: 'pending' })
    expect(await claim(user, { tool: 'read' })).to.include({ status: 'pending' })
    expect(await claim(await newUser(gateway))).to.include({ status: 'pending' })
    expect(await claim(user)).to.include({ id, status: 'granted' })
  })

  it('are used by one of many calls at the same time', async () => {
    const user = await newUser(gateway)
    const { id } = await claim(user)
    await decide(id, 'grant')
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim(user)))
    expect(claims.filter(({ status }) => status === 'granted')).to.have.length(1)
    expect(
      new Set(claims.filter(({ status }) => status === 'pending').map((claimed) => claimed.id)).size,
    ).to.equal(1)
  })

  it('are denied, also after they were granted', async () => {
    const user = await newUser(gateway)
    const { id } = await claim(user)
    expect((await decide(id, 'grant')).body.data.status).to.equal('granted')
    expect((await decide(id, 'deny')).body.data.status).to.equal('denied')
    expect(await claim(user)).to.include({ id, status: 'denied' })
    const again = await decide(id, 'grant')
    expect([again.status, again.body.error.code]).to.deep.equal([409, 'conflict'])
  })

  it('of one user do not pile up', async () => {
    const user = await newUser(gateway)
    for (const tool of ['a', 'b', 'c']) await claim(user, { tool })
    const { status, headers } = await user.call('POST', '/v1/claim', { tool: 'd' })
    expect([status, headers.get('x-error-code')]).to.deep.equal([429, 'too_many_approvals'])
    expect(headers.get('retry-after')).to.equal('60')
  })

  it('are listed for their user and for operators, by status and in pages', async () => {
    const user = await newUser(gateway)
    const ids = []
    for (const tool of ['a', 'b', 'c']) ids.unshift((await claim(user, { tool })).id)
    await decide(ids[1] as string, 'deny')
    const own = await user.call('GET', '/v1/approvals')
    expect(own.body.data.map(({ id }: { id: string }) => id)).to.deep.equal(ids)
    const first = await user.call('GET', '/v1/approvals?status=pending&limit=1')
    expect(first.body.data).to.have.length(1)
    expect(first.body.data[0].id).to.equal(ids[0])
    const second = await user.call(
      'GET',
      `/v1/approvals?status=pending&limit=1&cursor=${first.body.next_cursor}`,
    )
    expect(second.body.data[0].id).to.equal(ids[2])
    const other = await newUser(gateway)
    expect((await other.call('GET', '/v1/approvals')).body.data).to.deep.equal([])
    expect((await other.call('GET', `/v1/approvals/${ids[0]}`)).status).to.equal(404)
    expect((await user.call('GET', `/v1/approvals/${ids[0]}`)).body.data.tool).to.equal('c')
    const unknown = `/admin/approvals/apr_${'0'.repeat(24)}`
    expect((await gateway.call('GET', unknown, undefined, AS_ADMIN)).status).to.equal(404)
  })

  it('are announced by a signed webhook, which is tried again', async () => {
    const user = await newUser(gateway)
    hook.state.status = 500
    const before = hook.state.calls
    const { id } = await claim(user)
    await waitUntil(() => hook.state.calls > before)
    hook.state.status = 200
    await waitUntil(() => hook.bodies.some(({ data }) => data.id === id))
    expect(hook.state.unsigned).to.equal(0)
  })

  it('need a secret for a webhook', async () => {
    const plugins = {
      remove: ['approvals'],
      add: [{ use: 'approvals', after: 'plan', options: { webhook_url: hook.url } }],
    }
    const error = await startWithPlugins({}, plugins).catch((thrown: Error) => thrown)
    expect(String(error)).to.contain('set APPROVAL_SECRET')
  })
})
