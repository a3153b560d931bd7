import { request } from 'node:http'
import { expect } from 'chai'
import { createJarBrowser, type JarBrowser } from '../support/browser-jar.ts'
import { CLIENT_SECRET, isPage, startSigningIn, useSignIn } from '../support/console-sign-in.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { createSigningKey } from '../support/identity-provider.ts'
import { newOperator } from '../support/operators.ts'
import { IS_FULL } from '../support/rounds.ts'
import type { ScriptedOidc } from '../support/scripted-oidc.ts'

/** Of whom 32 ask the provider at a time. */
const PEOPLE = IS_FULL ? 500 : 80

describe('attacks on the sign-in to the console', () => {
  const suite = useSignIn()
  const { asAdmin, asBrowser, login, signIn, findOperator } = suite
  let provider: ScriptedOidc
  let gateway: RunningGateway
  before(() => {
    provider = suite.provider
    gateway = suite.gateway
  })
  /** Stopped after the test. */
  let other: RunningGateway | undefined
  afterEach(async () => {
    await other?.stop()
    other = undefined
  })

  /** Goes to the provider and back, up to the callback, which is not requested. */
  async function beginSignIn(browser: JarBrowser): Promise<string> {
    const { next } = await browser.open(`${gateway.url}/console/login`, (url) =>
      url.includes('/console/callback'),
    )
    return next ?? ''
  }

  it('lets nobody in without a mapped role, and says which claim it looked at', async () => {
    for (const groups of [[], ['other-secret-group'], ['admin', 'auditor', '__proto__', 'constructor']]) {
      provider.person = { sub: 'nobody', email: 'nobody@example.com', groups }
      const { status, text, headers } = await login()
      expect(status).to.equal(403)
      expect(headers.get('x-error-code')).to.equal('role_missing')
      expect(headers.get('content-type')).to.match(/^text\/html/)
      expect(text).to.contain('groups').and.not.to.contain('other-secret-group')
      expect(headers.get('set-cookie')).to.equal(null)
    }
    expect(await findOperator('nobody')).to.equal(undefined)
  })

  it('takes subjects that look like operators for what they are', async () => {
    const grace = await newOperator(gateway, 'admin', 'Grace')
    for (const subject of ['root', grace.id, '../operators', 'system', "a'--"]) {
      const browser = await signIn(subject, ['everybody'])
      const { data } = (await asBrowser(browser, 'GET', '/console/session')).body
      expect(data).to.include({ type: 'operator', role: 'auditor' })
      expect(data.id)
        .to.match(/^operator_\w{24}$/)
        .and.not.to.equal(grace.id)
      const refused = await asBrowser(browser, 'DELETE', `/admin/operators/${grace.id}`)
      expect(refused.status).to.equal(403)
    }
    expect((await grace.call('GET', '/admin/operators')).status).to.equal(200)
  })

  it('returns to a page of the console, and to nothing else', async () => {
    provider.person = { sub: 'ada', email: 'ada@example.com', groups: ['gateway-editors', 'everybody'] }
    const page = encodeURIComponent('/console/#/policies?id=7')
    const { next } = await login(createJarBrowser(), `?return_to=${page}`)
    expect(next).to.equal(`${gateway.url}/console/#/policies?id=7`)
    for (const evil of [
      'https://evil.example/',
      '//evil.example/console/',
      '/console/../..//evil.example',
      '/\\evil',
    ])
      expect(
        (await login(createJarBrowser(), `?return_to=${encodeURIComponent(evil)}`)).status,
        evil,
      ).to.equal(400)
  })

  it('is completed once, by the browser that began it', async () => {
    provider.acceptsCodesAgain = true
    const [browser, victim, other] = [createJarBrowser(), createJarBrowser(), createJarBrowser()]
    const callback = await beginSignIn(browser)
    const expectFailure = async (by: JarBrowser, url = callback) => {
      const { status, headers, text } = await by.open(url, isPage)
      expect(status, text).to.equal(400)
      expect(headers.get('x-error-code')).to.equal('sign_in_failed')
      expect(headers.get('set-cookie')).to.equal(null)
    }
    // Login CSRF: a link with the code of somebody else.
    await expectFailure(victim)
    // Mixed up: the victim has begun a sign-in as well.
    const second = await beginSignIn(other)
    await expectFailure(other)
    const swapped = new URL(second)
    swapped.searchParams.set('state', new URL(callback).searchParams.get('state') ?? '')
    await expectFailure(other, swapped.href)
    await expectFailure(browser, callback.replace(/state=[^&]*/, 'state='))
    await expectFailure(browser, callback.replace(/&?state=[^&]*/, ''))
    expect((await browser.open(callback, isPage)).next).to.equal(`${gateway.url}/console/`)
    await expectFailure(browser)
    provider.acceptsCodesAgain = false
  })

  it('refuses a code of another sign-in, which PKCE and the nonce tell', async () => {
    const [browser, other] = [createJarBrowser(), createJarBrowser()]
    const callback = new URL(await beginSignIn(browser))
    const code = new URL(await beginSignIn(other)).searchParams.get('code') ?? ''
    callback.searchParams.set('code', code)
    const { status } = await browser.open(callback.href, isPage)
    expect(status).to.equal(403)
  })

  it('refuses ID tokens with wrong claims or signatures', async () => {
    const wrong: [string, ScriptedOidc['idToken']][] = [
      ['issuer', { claims: { iss: 'http://127.0.0.1:1' } }],
      ['audience', { claims: { aud: 'another-client' } }],
      ['party', { claims: { aud: ['signalbox', 'another'], azp: 'another' } }],
      ['nonce', { claims: { nonce: 'another' } }],
      ['expiry', { claims: { exp: Math.floor(Date.now() / 1000) - 61 } }],
      ['subject', { claims: { sub: '' } }],
      ['key', { key: await createSigningKey('first') }],
      ['kid', { key: await createSigningKey('../../etc/passwd') }],
    ]
    for (const [name, idToken] of wrong) {
      provider.idToken = idToken
      const { status, headers } = await login()
      expect(status, name).to.equal(400)
      expect(headers.get('set-cookie'), name).to.equal(null)
    }
    provider.idToken = {}
  })

  it('does not take the address of the gateway from headers', async () => {
    const { port } = new URL(gateway.url)
    const ask = (headers: Record<string, string>) =>
      new Promise<{ status: number | undefined; location: string }>((resolve, reject) => {
        const sent = request({ host: '127.0.0.1', port, path: '/console/login', headers }, (response) => {
          response.resume()
          resolve({ status: response.statusCode, location: response.headers.location ?? '' })
        })
        sent.on('error', reject).end()
      })
    expect((await ask({ host: 'evil.example' })).status).to.equal(400)
    const forwarded = {
      host: `localhost:${port}`,
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=evil.example',
    }
    expect((await ask(forwarded)).location)
      .to.contain(encodeURIComponent(`http://localhost:${port}/console/callback`))
      .and.not.to.contain('evil')

    const url = 'https://gateway.example.com/signalbox'
    other = await startSigningIn(provider.issuer, `, url: '${url}/'`)
    const proxied = other.url
    const response = await fetch(`${proxied}/console/login`, { redirect: 'manual' })
    const { searchParams } = new URL(response.headers.get('location') ?? '')
    expect(searchParams.get('redirect_uri')).to.equal(`${url}/console/callback`)
    expect(response.headers.get('set-cookie')).to.match(/^__Host-signalbox_sign_in=.*; Path=\/; .*; Secure$/)
    const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
    const back = await fetch(response.headers.get('location') ?? '', { redirect: 'manual' })
    const callback = new URL(back.headers.get('location') ?? '')
    const completed = await fetch(`${proxied}/console/callback${callback.search}`, {
      redirect: 'manual',
      headers: { cookie },
    })
    expect(completed.headers.get('location')).to.equal(`${url}/console/`)
    expect(completed.headers.get('set-cookie')).to.match(/; Path=\/signalbox\/; .*; SameSite=Strict; Secure$/)
  })

  it('starts a session of its own, whatever cookie the browser had', async () => {
    const attacker = await signIn('attacker', ['everybody'])
    const [, fixed = ''] = /signalbox_session=([^;]+)/.exec(attacker.cookies(gateway.url)) ?? []
    provider.person = { sub: 'ada', email: 'ada@example.com', groups: ['gateway-admins'] }
    expect((await login(attacker)).next).to.equal(`${gateway.url}/console/`)
    const [, own = ''] = /signalbox_session=([^;]+)/.exec(attacker.cookies(gateway.url)) ?? []
    expect(own).not.to.equal(fixed)
    const { data } = (
      await gateway.call('GET', '/console/session', undefined, {
        authorization: '',
        cookie: `signalbox_session=${fixed}`,
      })
    ).body
    expect(data.name).to.equal('attacker@example.com')
  })

  it('limits the failures of an address, which ask the provider', async () => {
    other = await startSigningIn(provider.issuer, '', { limit: 2 })
    const browser = createJarBrowser()
    const failWith = async (code: string) => {
      const back = (url: string) => url.includes('/console/callback')
      const { next = '' } = await browser.open(`${other?.url}/console/login`, back)
      const callback = new URL(next)
      callback.searchParams.set('code', code)
      return browser.open(callback.href, isPage)
    }
    for (const expected of [403, 403, 429, 429])
      expect((await failWith('a-guess')).status, String(expected)).to.equal(expected)
    expect(provider.grants.slice(-3)).to.deep.equal(Array(3).fill('authorization_code'))
    const asked = provider.grants.length
    expect((await failWith('another')).headers.get('retry-after')).to.match(/^\d+$/)
    expect(provider.grants.length).to.equal(asked)
  })

  it(`serves ${PEOPLE} people at once`, async function () {
    this.timeout(120_000)
    const fetches = provider.fetches()
    other = await startSigningIn(provider.issuer)
    const { url, call } = other
    provider.person = { sub: 'storm', email: 'storm@example.com', groups: ['everybody'] }
    const people = Array.from({ length: PEOPLE }, (_, index) => `storm-${index}`)
    const callbacks = await Promise.all(
      people.map(async (sub) => {
        const browser = createJarBrowser()
        const { next = '' } = await browser.open(`${url}/console/login`, (url) => url.includes('/authorize'))
        return { sub, browser, next }
      }),
    )
    const answers = await Promise.all(
      callbacks.map(({ sub, browser, next }) => {
        const url = new URL(next)
        url.searchParams.set('login_hint', sub)
        return browser.open(url.href, isPage)
      }),
    )
    for (const { next, text } of answers) expect(next, text).to.equal(`${url}/console/`)
    expect(provider.fetches() - fetches).to.equal(1)
    const { body } = await call('GET', '/admin/operators?limit=1000', undefined, AS_ADMIN)
    const subjects = body.data.map(({ external }: { external?: { subject: string } }) => external?.subject)
    expect(subjects.toSorted()).to.deep.equal(people.toSorted())
  })

  it('lets no token, code or secret reach a log, an event or an answer', async () => {
    const browser = await signIn('canary', ['gateway-admins'])
    const session = await asBrowser(browser, 'GET', '/console/session')
    const [audit, operators, metrics] = await Promise.all([
      asAdmin('GET', '/admin/audit?limit=1000'),
      asAdmin('GET', '/admin/operators?limit=1000'),
      fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN }).then((answer) => answer.text()),
    ])
    const seen = JSON.stringify([session.body, audit.body, operators.body]) + metrics + gateway.stderr()
    expect(gateway.stderr()).to.contain('sign-in refused')
    const cookies = browser.cookies(gateway.url)
    for (const secret of [...provider.issued, CLIENT_SECRET]) {
      expect(seen).not.to.contain(secret)
      expect(seen).not.to.contain(secret.slice(-30))
      expect(cookies).not.to.contain(secret)
    }
  })
})
