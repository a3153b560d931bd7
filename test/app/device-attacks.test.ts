import { createHmac } from 'node:crypto'
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
const HOUR_MS = 3_600_000

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('attacks on the sign-in of programs', () => {
  let gateway: RunningGateway
  let user: TestUser

  beforeEach(async () => {
    const settings = `${UNLIMITED}identity: { claude_code: { enabled: true } }\n`
    gateway = await startGateway(await withSettings(settings))
    user = await newUser(gateway)
  })
  afterEach(() => gateway.stop())

  const chat = (token: string, headers = {}) =>
    gateway.call('POST', '/v1/chat/completions', chatBody('Hello'), {
      authorization: `Bearer ${token}`,
      ...headers,
    })
  const readUsers = (token: string) =>
    gateway.call('GET', '/admin/users', undefined, { authorization: `Bearer ${token}` })
  const position = async () =>
    (await gateway.call('GET', '/admin/audit?limit=1', undefined, AS_ADMIN)).body.data[0].position

  it('guess codes: ten wrong ones per address, then not even the right one', async () => {
    const { user_code } = await startDevice(gateway)
    for (let tries = 0; tries < 10; tries++)
      expect((await openPage(gateway, `BBBB-BBB${'BCDFGHJKLM'[tries]}`)).html).to.contain('not known')
    const { html, status } = await openPage(gateway, user_code)
    expect([status, html]).to.satisfy(
      ([code, text]: [number, string]) => code === 400 && text.includes('Too many'),
    )
    const posted = await approveDevice(gateway, user_code, { key: user.key })
    expect(posted.text).not.to.contain('Signed in')
  })

  it('start many sign-ins: thirty per address, and no event for any of them', async () => {
    const before = await position()
    const answers = []
    for (let starts = 0; starts < 31; starts++)
      answers.push(await postForm(gateway, '/oauth/device_authorization', {}))
    expect(answers.map(({ status }) => status)).to.deep.equal([...Array(30).fill(200), 429])
    expect(answers[30]?.body).to.deep.equal({ error: 'slow_down' })
    await pollDevice(gateway, answers[0]?.body.device_code)
    await openPage(gateway, 'BBBB-BBBB')
    await refreshTokens(gateway, 'grant_x.y')
    await postForm(gateway, '/oauth/revoke', { token: 'grant_x.y' })
    expect(await position()).to.equal(before)
  })

  it('use a device code twice, at once, or as another client', async () => {
    const started = await startDevice(gateway)
    await approveDevice(gateway, started.user_code, { key: user.key })
    const other = await pollDevice(gateway, started.device_code, { client_id: CLI })
    expect(other.body).to.deep.equal({ error: 'invalid_grant' })
    const again = await startDevice(gateway)
    await approveDevice(gateway, again.user_code, { key: user.key })
    const polls = await Promise.all([1, 2, 3].map(() => pollDevice(gateway, again.device_code)))
    expect(polls.filter(({ status }) => status === 200)).to.have.lengthOf(1)
    expect((await pollDevice(gateway, again.device_code)).body).to.deep.equal({ error: 'expired_token' })
    expect((await pollDevice(gateway, again.user_code)).body).to.deep.equal({ error: 'expired_token' })
  })

  it('approve for somebody else: from another site, or with the form of another code or browser', async () => {
    const [own, other] = [await startDevice(gateway), await startDevice(gateway)]
    const page = await openPage(gateway, own.user_code)
    const fields = {
      user_code: own.user_code,
      csrf_token: page.csrf,
      action: 'approve-with-key',
      key: user.key,
    }
    const post = (change: object, headers: Record<string, string> = {}) =>
      postForm(gateway, '/console/device', { ...fields, ...change }, { cookie: page.cookie, ...headers })
    const blocked = [
      await post({}, { 'sec-fetch-site': 'cross-site' }),
      await post({}, { 'sec-fetch-site': 'same-site' }),
      await post({}, { origin: 'https://evil.example.com' }),
      await post({ csrf_token: '' }),
      await post({ csrf_token: (await openPage(gateway, own.user_code)).csrf }),
      await post({ user_code: other.user_code }),
      await post({}, { cookie: '' }),
      await post({}, { 'content-type': 'text/plain' }),
    ]
    expect(blocked.map(({ status }) => status)).to.deep.equal(blocked.map(() => 403))
    for (const { device_code } of [own, other])
      expect((await pollDevice(gateway, device_code)).body).to.deep.equal({ error: 'authorization_pending' })
    expect((await post({})).text).to.contain('Signed in')
    expect((await post({})).text).to.contain('not known')
  })

  it('guess keys on the page: counted as anywhere else', async () => {
    const strict = await startGateway(
      await withSettings(
        `limits: { auth_failures_per_minute: 3 }\nidentity: { claude_code: { enabled: true } }\n`,
      ),
    )
    const { user_code } = await startDevice(strict, CLI)
    for (let tries = 0; tries < 3; tries++)
      expect((await approveDevice(strict, user_code, { key: 'op_wrong' })).text).to.contain('not valid here')
    expect((await approveDevice(strict, user_code, { key: ADMIN_KEY })).text).to.contain('Too many failed')
    await strict.stop()
  })

  it('forge access tokens', async () => {
    const { access_token } = await signInDevice(gateway, user.key)
    const root = (await signInDevice(gateway, ADMIN_KEY, CLI)).access_token
    const [header = '', payload = '', signature = ''] = access_token.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const rootClaims = JSON.parse(Buffer.from(root.split('.')[1] ?? '', 'base64url').toString())
    const sign = (text: string, key: string) =>
      `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
    const forged = {
      'another grant': `${header}.${base64({ ...claims, grant: rootClaims.grant })}.${signature}`,
      'a later end': `${header}.${base64({ ...claims, exp: claims.exp + 1 })}.${signature}`,
      'no signature': `${header}.${payload}.`,
      none: `${base64({ alg: 'none', typ: 'JWT' })}.${base64(rootClaims)}.`,
      'none with the header': `${header}.${base64(rootClaims)}.`,
      'the admin key as the secret': sign(`${header}.${base64(rootClaims)}`, ADMIN_KEY),
      'no secret': sign(`${header}.${base64(rootClaims)}`, ''),
      'no grant': `${header}.${base64({ ...claims, grant: undefined })}.${signature}`,
      'a grant like a field of objects': `${header}.${base64({ ...claims, grant: '__proto__' })}.${signature}`,
      'no JSON': `${header}.AAAA.${signature}`,
      'null as payload': `${header}.${Buffer.from('null').toString('base64url')}.${signature}`,
      'four parts': `${access_token}.${signature}`,
    }
    for (const [name, token] of Object.entries(forged)) {
      for (const { status, body } of [await chat(token), await readUsers(token)]) {
        expect([status, body.error.code], name).to.deep.equal([401, 'invalid_api_key'])
        expect(JSON.stringify(body), name).not.to.contain(signature)
      }
    }
    expect((await readUsers(root)).status).to.equal(200)
    const inQuery = await fetch(`${gateway.url}/v1/models?access_token=${access_token}`)
    expect(inQuery.status).to.equal(401)
  })

  it('forge, mix up and keep refresh tokens', async () => {
    const first = await signInDevice(gateway, user.key)
    const other = await signInDevice(gateway, (await newUser(gateway)).key)
    const [grant] = first.refresh_token.split('.')
    const [, sealed = ''] = other.refresh_token.split('.')
    for (const token of [
      `${grant}.${sealed}`,
      `${grant}.`,
      first.access_token,
      grant ?? '',
      '.',
      '__proto__.x',
    ])
      expect((await refreshTokens(gateway, token)).body, token).to.deep.equal({ error: 'invalid_grant' })
    expect((await chat(first.refresh_token)).status).to.equal(401)
    expect((await refreshTokens(gateway, first.refresh_token)).status).to.equal(200)
  })

  it('use tokens after the end of an hour, of 12 hours for operators, and of 30 days for users', async () => {
    const clock = stopClock()
    try {
      const program = await signInDevice(gateway, user.key)
      const cli = await signInDevice(gateway, ADMIN_KEY, CLI)
      expect((await chat(program.access_token)).status).to.equal(200)
      clock.pass(HOUR_MS + 1000)
      expect((await chat(program.access_token)).status).to.equal(401)
      expect((await readUsers(cli.access_token)).status).to.equal(401)
      const second = (await refreshTokens(gateway, program.refresh_token)).body
      expect((await chat(second.access_token)).status).to.equal(200)
      clock.pass(11 * HOUR_MS)
      expect((await refreshTokens(gateway, cli.refresh_token)).body).to.deep.equal({ error: 'invalid_grant' })
      const third = (await refreshTokens(gateway, second.refresh_token)).body
      clock.pass(30 * 24 * HOUR_MS - 12 * HOUR_MS - 120_000)
      const last = (await refreshTokens(gateway, third.refresh_token)).body
      expect(last.expires_in).to.be.within(1, 120)
      expect((await chat(last.access_token)).status).to.equal(200)
      clock.pass(120_000)
      expect((await chat(last.access_token)).status).to.equal(401)
      expect((await refreshTokens(gateway, last.refresh_token)).body).to.deep.equal({
        error: 'invalid_grant',
      })
    } finally {
      clock.restore()
    }
  })

  it('be a member of a group, or have a name, like those of operators', async () => {
    const root = await newUser(gateway, 'paid', 'root')
    const { id } = (await gateway.call('POST', '/admin/groups', { name: 'admin' }, AS_ADMIN)).body.data
    await gateway.call('PUT', `/admin/groups/${id}/members/${root.id}`, undefined, AS_ADMIN)
    const { access_token } = await signInDevice(gateway, root.key)
    const { status, body } = await readUsers(access_token)
    expect([status, body.error.code]).to.deep.equal([403, 'endpoint_not_allowed'])
    const refused = await approveDevice(gateway, (await startDevice(gateway, CLI)).user_code, {
      key: root.key,
    })
    expect(refused.text).to.contain('acts as an operator')
  })

  it('keep what the key that approved may not do', async () => {
    const path = `/admin/users/${user.id}/keys`
    const { body } = await gateway.call('POST', path, { endpoints: ['/v1/models'] }, AS_ADMIN)
    const { access_token } = await signInDevice(gateway, body.data.key)
    const { status, body: error } = await chat(access_token)
    expect([status, error.error.code]).to.deep.equal([403, 'endpoint_not_allowed'])
  })

  it('approve with a key that was replaced and still serves for a while', async () => {
    const operator = await newOperator(gateway, 'editor')
    const { access_token } = await signInDevice(gateway, operator.key, CLI)
    expect((await readUsers(access_token)).status).to.equal(200)
    const path = `/admin/operators/${operator.id}/rotate`
    const rotated = await gateway.call('POST', path, { overlap_seconds: 3600 }, AS_ADMIN)
    expect((await operator.call('GET', '/admin/users')).status).to.equal(200)
    expect((await readUsers(access_token)).status).to.equal(401)
    const { user_code } = await startDevice(gateway, CLI)
    expect((await approveDevice(gateway, user_code, { key: operator.key })).text).to.contain('not valid here')
    const approved = await approveDevice(gateway, user_code, { key: rotated.body.data.key })
    expect(approved.text).to.contain('is signed in')
  })

  it('inject markup or another host', async () => {
    const { html } = await openPage(gateway, encodeURIComponent('"><script>alert(1)</script>'))
    expect(html).not.to.contain('<script')
    const named = await newUser(gateway, 'paid', '<img src=x onerror=alert(1)>')
    const session = await gateway.call('POST', '/console/user-session', undefined, {
      authorization: `Bearer ${named.key}`,
    })
    const cookie = session.headers.get('set-cookie')?.split(';')[0] ?? ''
    const page = await openPage(gateway, (await startDevice(gateway)).user_code, cookie)
    expect(page.html).to.contain('Approve as &#60;img').and.not.contain('<img')
    expect(page.headers.get('content-security-policy')).to.match(/^default-src 'none'; style-src 'sha256-/)
    expect(page.headers.get('set-cookie')).to.match(/; HttpOnly; SameSite=Strict$/)
    const hostile = await postForm(
      gateway,
      '/oauth/device_authorization',
      {},
      {
        'x-forwarded-host': 'evil.example.com/"><script>',
        'x-forwarded-proto': 'javascript',
      },
    )
    expect(hostile.body.verification_uri).to.equal('http://localhost/console/device')
  })
})
