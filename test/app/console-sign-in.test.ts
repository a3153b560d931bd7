import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { createJarBrowser, type JarBrowser } from '../support/browser-jar.ts'
import { stopClock } from '../support/clock.ts'
import { isPage, startSigningIn, useSignIn } from '../support/console-sign-in.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { type ScriptedOidc, startScriptedOidc } from '../support/scripted-oidc.ts'
import { withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const MINUTE_MS = 60_000

describe('signing in to the console at an identity provider', () => {
  const suite = useSignIn()
  const { asAdmin, asBrowser, login, signIn, findOperator } = suite
  let provider: ScriptedOidc
  let gateway: RunningGateway
  before(() => {
    provider = suite.provider
    gateway = suite.gateway
  })

  const auditOf = async (actor: string) =>
    (await asAdmin('GET', `/admin/audit?actor=${encodeURIComponent(actor)}&limit=100`)).body.data

  it('creates an operator with the role of the claim, by an event of the subject', async () => {
    const browser = await signIn('ada', ['gateway-editors', 'everybody'])
    const session = (await asBrowser(browser, 'GET', '/console/session')).body
    expect(session.data).to.include({ type: 'operator', name: 'ada@example.com', role: 'editor' })
    expect(session.data.external).to.deep.equal({ issuer: provider.issuer, subject: 'ada' })
    expect(session.sign_in).to.deep.equal({ provider: new URL(provider.issuer).host, keys: true })

    const operator = await findOperator('ada')
    expect(operator).to.deep.include({
      role: 'editor',
      external: { issuer: provider.issuer, subject: 'ada' },
    })
    expect(operator).not.to.have.property('key')
    const entries = await auditOf(`${provider.issuer}#ada`)
    expect(entries[0].actor).to.deep.equal({
      ...{ type: 'identity', id: `${provider.issuer}#ada`, name: 'ada@example.com', issuer: provider.issuer },
    })
    expect((await asBrowser(browser, 'GET', '/admin/users')).status).to.equal(200)
    const { csrf_token: csrf } = session.data
    const cookie = browser.cookies(gateway.url)
    const headers = { authorization: '', cookie, 'x-csrf-token': csrf }
    const user = { name: 'By Ada', plan: 'paid' }
    const refused = await gateway.call('POST', '/admin/users', user, headers)
    expect(refused.headers.get('x-error-code')).to.equal('role_required')
    expect((await auditOf(operator.id)).map(({ event }: { event: string }) => event)).to.include('signed_in')
  })

  it('has the keys fetched when the first person leaves for the provider', async () => {
    const fetches = provider.fetches()
    const other = await startSigningIn(provider.issuer)
    await fetch(`${other.url}/console/login`, { redirect: 'manual' })
    await waitUntil(() => provider.fetches() > fetches)
    await other.stop()
  })

  it('asks with PKCE, state and nonce, and a cookie that scripts and other sites cannot use', async () => {
    const response = await fetch(`${gateway.url}/console/login`, { redirect: 'manual' })
    expect(response.status).to.equal(303)
    const { searchParams } = new URL(response.headers.get('location') ?? '')
    expect(Object.fromEntries(searchParams)).to.deep.include({
      ...{ client_id: 'signalbox', response_type: 'code', code_challenge_method: 'S256' },
      redirect_uri: `${gateway.url}/console/callback`,
      scope: 'openid profile email',
    })
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(searchParams.get(name)).to.have.lengthOf.above(40)
    const cookie = response.headers.get('set-cookie') ?? ''
    expect(cookie).to.match(/^signalbox_sign_in=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/)
    expect(cookie).not.to.contain(searchParams.get('state') ?? '-')
  })

  it('confines operators to the groups of a claim, and to none without one', async () => {
    const scope = ", scope: { claim: teams, map: { platform: '*', support: Support, law: Legal } }"
    const scoped = await startSigningIn(provider.issuer, scope)
    const call = (method: string, path: string, body?: unknown) => scoped.call(method, path, body, AS_ADMIN)
    const { id } = (await call('POST', '/admin/groups', { name: 'Support' })).body.data
    const scopeFor = async (sub: string, teams: readonly string[]) => {
      provider.person = { sub, email: sub, groups: ['gateway-editors'], teams }
      await createJarBrowser().open(`${scoped.url}/console/login`, isPage)
      const { data } = (await call('GET', '/admin/operators')).body
      return data.find(({ name }: { name: string }) => name === sub).scope
    }
    expect(await scopeFor('a', ['support', 'law', 'other'])).to.deep.equal({ groups: [id] })
    expect(await scopeFor('b', ['support', 'platform'])).to.equal(null)
    expect(await scopeFor('c', [])).to.deep.equal({ groups: [] })
    expect(await scopeFor('b', ['support'])).to.deep.equal({ groups: [id] })
    await scoped.stop()
  })

  it('changes the role when the claim does, which ends the sessions of the former role', async () => {
    const before = await signIn('grace', ['everybody'])
    const { id } = await findOperator('grace')
    await signIn('grace', ['gateway-admins'])
    expect(await findOperator('grace')).to.deep.include({ id, role: 'admin' })
    expect((await asBrowser(before, 'GET', '/admin/users')).status).to.equal(401)
    const events = (await auditOf(`${provider.issuer}#grace`)).map(({ event }: { event: string }) => event)
    expect(events).to.deep.equal(['updated', 'created'])
    for (const body of [{ role: 'auditor' }, { name: 'Another' }]) {
      const refused = await asAdmin('PATCH', `/admin/operators/${id}`, body)
      expect(refused.status).to.equal(409)
      expect(refused.body.error.message).to.contain('identity provider')
    }
  })

  it('removes the operator who comes back without a role', async () => {
    const browser = await signIn('leaver', ['gateway-admins'])
    provider.person = { ...provider.person, groups: [] }
    expect((await login()).status).to.equal(403)
    expect(await findOperator('leaver')).to.equal(undefined)
    expect((await asBrowser(browser, 'GET', '/admin/users')).status).to.equal(401)
  })

  it('finds the claim in the user info if the ID token has none', async () => {
    provider.userInfo = { groups: ['gateway-admins'] }
    provider.person = { sub: 'informed', email: 'informed@example.com' }
    expect((await login()).next).to.equal(`${gateway.url}/console/`)
    provider.userInfo = { sub: 'somebody-else', groups: ['gateway-admins'] }
    expect((await login()).status).to.equal(400)
    provider.userInfo = undefined
  })

  it('is checked at the provider after ten minutes, with a refresh token that is used once', async () => {
    const clock = stopClock()
    try {
      const browser = await signIn('checked', ['everybody'])
      const use = () => asBrowser(browser, 'GET', '/admin/users')
      const refreshes = () => provider.grants.filter((grant) => grant === 'refresh_token').length
      const before = refreshes()
      clock.pass(9 * MINUTE_MS)
      expect((await use()).status).to.equal(200)
      expect(refreshes()).to.equal(before)
      for (let count = 1; count <= 3; count++) {
        clock.pass(11 * MINUTE_MS)
        const answers = await Promise.all(Array.from({ length: 10 }, use))
        expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]))
        expect(refreshes()).to.equal(before + count)
      }
      clock.pass(12 * 60 * MINUTE_MS)
      expect((await use()).status).to.equal(401)
    } finally {
      clock.restore()
    }
  })

  it('ends when the provider refuses, or gives no role or another one', async () => {
    const clock = stopClock()
    try {
      const use = (browser: JarBrowser) => asBrowser(browser, 'GET', '/admin/users')
      const disabled = await signIn('disabled', ['everybody'])
      provider.answerToken = (res) => res.writeHead(400).end('{"error":"invalid_grant"}')
      clock.pass(11 * MINUTE_MS)
      const ended = await use(disabled)
      expect(ended.headers.get('x-error-code')).to.equal('session_ended')
      provider.answerToken = undefined
      expect((await use(disabled)).status).to.equal(401)
      expect((await asBrowser(disabled, 'GET', '/console/session')).body.data).to.equal(null)
      expect((await findOperator('disabled')).role).to.equal('auditor')

      const expelled = await signIn('expelled', ['everybody'])
      provider.person = { ...provider.person, groups: ['guests'] }
      clock.pass(11 * MINUTE_MS)
      expect((await use(expelled)).status).to.equal(401)
      expect(await findOperator('expelled')).to.equal(undefined)

      const demoted = await signIn('demoted', ['gateway-admins'])
      provider.person = { ...provider.person, groups: ['everybody'] }
      clock.pass(11 * MINUTE_MS)
      expect((await use(demoted)).status).to.equal(401)
      expect((await findOperator('demoted')).role).to.equal('auditor')
    } finally {
      provider.answerToken = undefined
      clock.restore()
    }
  })

  it('lives on for 15 minutes while the provider is down, and again once it is back', async () => {
    const clock = stopClock()
    try {
      const browser = await signIn('patient', ['everybody'])
      const use = () => asBrowser(browser, 'GET', '/admin/users')
      provider.answerToken = (res) => res.writeHead(502).end('<html>')
      clock.pass(11 * MINUTE_MS)
      expect((await use()).status).to.equal(200)
      clock.pass(4 * MINUTE_MS + 1000)
      const refused = await use()
      expect(refused.status).to.equal(503)
      expect(refused.headers.get('x-error-code')).to.equal('identity_unavailable')
      expect((await asBrowser(browser, 'GET', '/console/session')).body.data).to.equal(null)
      const root = await gateway.call('POST', '/console/session', undefined, AS_ADMIN)
      expect(root.status).to.equal(201)
      provider.answerToken = undefined
      clock.pass(11_000)
      expect((await use()).status).to.equal(200)
    } finally {
      provider.answerToken = undefined
      clock.restore()
    }
  })

  it('lasts for 15 minutes if the provider issues no refresh tokens', async () => {
    const clock = stopClock()
    provider.issuesRefreshTokens = false
    try {
      const browser = await signIn('short', ['everybody'])
      clock.pass(14 * MINUTE_MS)
      expect((await asBrowser(browser, 'GET', '/admin/users')).status).to.equal(200)
      clock.pass(MINUTE_MS)
      expect((await asBrowser(browser, 'GET', '/admin/users')).status).to.equal(401)
    } finally {
      provider.issuesRefreshTokens = true
      clock.restore()
    }
  })

  it('ends the watching of requests with the session', async () => {
    const browser = await signIn('watcher', ['everybody'])
    const clock = stopClock()
    try {
      const response = await fetch(`${gateway.url}/admin/live`, {
        headers: { cookie: browser.cookies(gateway.url) },
      })
      expect(response.status).to.equal(200)
      clock.pass(16 * MINUTE_MS)
      await gateway.call('POST', '/v1/chat/completions', chatBody('Hello'))
      await response.text()
    } finally {
      clock.restore()
    }
  })

  it('is signed out of here and at the provider, but not by other sites', async () => {
    const browser = await signIn('signs-out', ['everybody'])
    const cookie = browser.cookies(gateway.url)
    const crossSite = await fetch(`${gateway.url}/console/logout`, {
      redirect: 'manual',
      headers: { cookie, 'sec-fetch-site': 'same-site' },
    })
    expect(crossSite.headers.get('set-cookie')).to.equal(null)
    expect((await asBrowser(browser, 'GET', '/admin/users')).status).to.equal(200)

    await browser.open(`${gateway.url}/console/logout`, isPage)
    const { pathname, searchParams } = provider.ended.at(-1) as URL
    expect(pathname).to.equal('/end')
    expect(searchParams.get('post_logout_redirect_uri')).to.equal(`${gateway.url}/console/`)
    expect(searchParams.get('client_id')).to.equal('signalbox')
    expect(provider.issued).to.include(searchParams.get('id_token_hint'))
    expect(browser.cookies(gateway.url)).not.to.contain('signalbox_session')
    const again = await gateway.call('GET', '/admin/users', undefined, { authorization: '', cookie })
    expect(again.headers.get('x-error-code')).to.equal('session_ended')
  })
})

describe('a console without keys', () => {
  let provider: ScriptedOidc
  let gateway: RunningGateway

  before(async () => {
    provider = await startScriptedOidc()
    gateway = await startSigningIn(provider.issuer, ', only: true')
  })
  after(async () => {
    await gateway.stop()
    await provider.stop()
  })

  it('refuses the keys of operators and users, but not the ADMIN_KEY', async () => {
    const operator = await newOperator(gateway, 'admin')
    const user = await newUser(gateway, 'paid')
    for (const [path, authorization] of [
      ['/console/session', operator.headers.authorization],
      ['/console/user-session', `Bearer ${user.key}`],
    ] as const) {
      const { status, headers, body } = await gateway.call('POST', path, undefined, { authorization })
      expect(status).to.equal(403)
      expect(headers.get('x-error-code')).to.equal('keys_refused')
      expect(headers.get('set-cookie')).to.equal(null)
      expect(body.error.message).to.contain(new URL(provider.issuer).host)
    }
    const { body, status } = await gateway.call('POST', '/console/session', undefined, AS_ADMIN)
    expect(status).to.equal(201)
    expect(body.data.type).to.equal('root')
    const { sign_in } = (await gateway.call('GET', '/console/session')).body
    expect(sign_in).to.deep.equal({ provider: new URL(provider.issuer).host, keys: false })
    // Keys serve programs as before.
    expect((await operator.call('GET', '/admin/users')).status).to.equal(200)
  })

  it('ends the sessions of keys that began before', async () => {
    const { dataDir, stop, ...before } = await startGateway()
    const operator = await newOperator({ dataDir, stop, ...before }, 'admin')
    const { headers } = await before.call('POST', '/console/session', undefined, operator.headers)
    const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';')
    const use = (to: RunningGateway) =>
      to.call('GET', '/admin/users', undefined, { authorization: '', cookie })
    expect((await use({ dataDir, stop, ...before })).status).to.equal(200)
    await stop()
    const after = await startSigningIn(provider.issuer, ', only: true', { dataDir })
    expect((await use(after)).status).to.equal(401)
    await after.stop()
  })
})

describe('a console whose identity provider does not answer', () => {
  it('says so, and is signed in to with the ADMIN_KEY', async function () {
    this.timeout(30_000)
    const silent = createServer(() => undefined)
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const gateway = await startSigningIn(`http://127.0.0.1:${port}`)
    const [login, root] = await Promise.all([
      fetch(`${gateway.url}/console/login`, { redirect: 'manual' }),
      gateway.call('POST', '/console/session', undefined, AS_ADMIN),
    ])
    expect(login.status).to.equal(503)
    expect(login.headers.get('x-error-code')).to.equal('identity_unavailable')
    expect(login.headers.get('content-type')).to.match(/^text\/html/)
    expect(await login.text())
      .to.contain('cannot be reached')
      .and.contain('href="./"')
    expect(root.status).to.equal(201)
    await gateway.stop()
    silent.closeAllConnections()
    silent.close()
  })

  it('must have an address for browsers unless the gateway listens on this machine only', async () => {
    const fields = "issuer: 'https://idp.example', client_id: x, roles: { claim: g, map: { a: admin } }"
    const settings = await withSettings(`identity: { console: { ${fields} } }`)
    const { readSettings } = await import('../../config/settings/settings.ts')
    expect(() => readSettings({ ...settings, HOST: '0.0.0.0' })).to.throw('identity.console.url is required')
    expect(() => readSettings({ ...settings, HOST: '127.0.0.1' })).not.to.throw()
  })
})
