import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { stopClock } from '../support/clock.ts'
import {
  approveDevice,
  openPage,
  pollDevice,
  postForm,
  refreshTokens,
  signInDevice,
  startDevice,
} from '../support/device-sign-in.ts'
import { ADMIN_KEY, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const CLI = 'signalbox-cli'
const CHAT = '/v1/chat/completions'

const SETTINGS = `${UNLIMITED}identity: { claude_code: { enabled: true } }\n`

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Starts a gateway for each test: the limits count by address, and all tests have the same. */
function useGateway(settings = SETTINGS) {
  const used = {} as { gateway: RunningGateway; user: TestUser }
  beforeEach(async () => {
    used.gateway = await startGateway(await withSettings(settings))
    used.user = await newUser(used.gateway)
  })
  afterEach(() => used.gateway.stop())
  return used
}

describe('sign-in of programs', () => {
  const used = useGateway()
  const chat = (token: string) => used.gateway.call('POST', CHAT, chatBody('Hello'), bearer(token))

  it('gives a user who has approved the code a token for inference', async () => {
    const { gateway, user } = used
    const started = await startDevice(gateway)
    expect(started.user_code).to.match(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    expect(started).to.include({ expires_in: 600, interval: 5 })
    expect(started.verification_uri_complete).to.equal(
      `${gateway.url}/console/device?user_code=${started.user_code}`,
    )
    const approved = await approveDevice(gateway, started.user_code.toLowerCase(), { key: user.key })
    expect([approved.status, approved.text]).to.satisfy(
      ([status, text]: [number, string]) => status === 200 && text.includes('Signed in'),
    )
    const { status, body, headers } = await pollDevice(gateway, started.device_code)
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(Object.keys(body)).to.have.members(['access_token', 'refresh_token', 'token_type', 'expires_in'])
    expect(body).to.include({ token_type: 'Bearer', expires_in: 3600 })
    expect(headers.get('cache-control')).to.equal('no-store')
    const [, payload = ''] = body.access_token.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    expect(claims).to.include({ iss: 'signalbox', sub: `user-${user.id}` })
    expect(claims.exp - claims.iat).to.equal(3600)

    expect((await chat(body.access_token)).status).to.equal(200)
    expect((await chat(body.access_token)).status).to.equal(200)
    const { body: requests } = await gateway.call(
      'GET',
      `/admin/requests?user=${user.id}`,
      undefined,
      AS_ADMIN,
    )
    expect(requests.data).to.have.lengthOf(2)
    const refused = await gateway.call('GET', '/admin/users', undefined, bearer(body.access_token))
    expect([refused.status, refused.body.error.code]).to.deep.equal([403, 'endpoint_not_allowed'])
  })

  it('gives an operator a token for the endpoints of operators, with the role', async () => {
    const { gateway } = used
    const auditor = await newOperator(gateway, 'auditor', 'Grace')
    const { access_token } = await signInDevice(gateway, auditor.key, CLI)
    const read = await gateway.call('GET', '/admin/users', undefined, bearer(access_token))
    expect(read.status).to.equal(200)
    const change = { name: 'New', plan: 'free' }
    const refused = await gateway.call('POST', '/admin/users', change, bearer(access_token))
    expect([refused.status, refused.body.error.code]).to.deep.equal([403, 'role_required'])
    expect((await chat(access_token)).status).to.equal(401)

    const root = await signInDevice(gateway, ADMIN_KEY, CLI)
    const made = await gateway.call('POST', '/admin/users', change, bearer(root.access_token))
    expect(made.status).to.equal(201)
    const { body } = await gateway.call('GET', '/oauth/userinfo', undefined, bearer(access_token))
    expect(body).to.include({
      sub: auditor.id,
      type: 'operator',
      name: 'Grace',
      role: 'auditor',
      client: 'cli',
    })
  })

  it('is approved with a session of the console, and by nobody else', async () => {
    const { gateway, user } = used
    const session = await gateway.call('POST', '/console/user-session', undefined, bearer(user.key))
    const cookie = session.headers.get('set-cookie')?.split(';')[0] ?? ''
    const started = await startDevice(gateway)
    const page = await openPage(gateway, started.user_code, cookie)
    expect(page.html).to.contain('Claude Code').and.contain(started.user_code).and.contain('127.0.0.1')
    expect(page.html).to.contain(`Approve as someone`)
    const cli = await startDevice(gateway, CLI)
    const refused = await approveDevice(gateway, cli.user_code, { cookie })
    expect(refused.text).to.contain('acts as an operator')
    expect((await pollDevice(gateway, cli.device_code)).body).to.deep.equal({
      error: 'authorization_pending',
    })
    expect((await approveDevice(gateway, started.user_code, { cookie })).text).to.contain('Signed in')
    expect((await pollDevice(gateway, started.device_code)).status).to.equal(200)
    const wrong = await approveDevice(gateway, (await startDevice(gateway)).user_code, { key: ADMIN_KEY })
    expect(wrong.text).to.contain('acts as a user')
  })

  it('is recorded: who approved it, that it was completed, and its end', async () => {
    const { gateway, user } = used
    const { access_token, refresh_token } = await signInDevice(gateway, user.key)
    const revoked = await postForm(gateway, '/oauth/revoke', { token: refresh_token })
    expect(revoked.status).to.equal(200)
    const refused = await chat(access_token)
    expect([refused.status, refused.headers.get('x-should-retry')]).to.deep.equal([401, 'false'])
    const { status, body } = await refreshTokens(gateway, refresh_token)
    expect([status, body]).to.deep.equal([401, { error: 'invalid_grant' }])
    expect((await postForm(gateway, '/oauth/revoke', { token: refresh_token })).status).to.equal(200)

    const audit = await gateway.call('GET', '/admin/audit?kind=access', undefined, AS_ADMIN)
    const entries = audit.body.data.filter(({ event }: { event: string }) => event.startsWith('device_'))
    expect(entries.map(({ event }: { event: string }) => event)).to.deep.equal([
      'device_signed_out',
      'device_signed_in',
      'device_approved',
    ])
    for (const { actor } of entries) expect(actor).to.include({ type: 'key', id: user.keyId })
    for (const secret of [access_token, refresh_token, user.key]) {
      expect(JSON.stringify(audit.body)).not.to.contain(secret)
      expect(gateway.stderr()).not.to.contain(secret)
    }
  })

  it('refreshes, twice at once as well, and ends when a replaced token comes back later', async () => {
    const { gateway, user } = used
    const clock = stopClock()
    try {
      const first = await signInDevice(gateway, user.key)
      const both = await Promise.all([1, 2].map(() => refreshTokens(gateway, first.refresh_token)))
      expect(both.map(({ status }) => status)).to.deep.equal([200, 200])
      const [second, other] = both.map(({ body }) => body)
      for (const { access_token } of [first, second, other])
        expect((await chat(access_token)).status).to.equal(200)
      clock.pass(30_000)
      expect((await refreshTokens(gateway, first.refresh_token)).status).to.equal(200)
      const third = (await refreshTokens(gateway, second.refresh_token)).body
      expect((await refreshTokens(gateway, first.refresh_token)).body).to.deep.equal({
        error: 'invalid_grant',
      })
      expect((await refreshTokens(gateway, third.refresh_token)).body).to.deep.equal({
        error: 'invalid_grant',
      })
      expect((await chat(third.access_token)).status).to.equal(401)
    } finally {
      clock.restore()
    }
  })

  it('ends with the key that approved it', async () => {
    const { gateway, user } = used
    const { access_token, refresh_token } = await signInDevice(gateway, user.key)
    expect((await chat(access_token)).status).to.equal(200)
    await gateway.call('DELETE', `/admin/keys/${user.keyId}`, undefined, AS_ADMIN)
    expect((await chat(access_token)).status).to.equal(401)
    expect((await refreshTokens(gateway, refresh_token)).body).to.deep.equal({ error: 'invalid_grant' })
    const editor = await newOperator(gateway, 'editor', 'Eve')
    const cli = await signInDevice(gateway, editor.key, CLI)
    await gateway.call('DELETE', `/admin/operators/${editor.id}`, undefined, AS_ADMIN)
    expect((await gateway.call('GET', '/admin/users', undefined, bearer(cli.access_token))).status).to.equal(
      401,
    )
  })
})
