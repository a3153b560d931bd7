import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { openWindow, releaseBrowser, requireBrowser, type Window } from '../support/browser.ts'
import { buildConsole } from '../support/console.ts'
import { ADMIN_KEY, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { CLIENT_SECRET, type OidcServer, startOidcServer } from '../support/oidc-server.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

async function startSigningIn(provider: OidcServer, more = ''): Promise<RunningGateway> {
  const settings = await withSettings(`${UNLIMITED}identity:
  console:
    issuer: '${provider.issuer}'
    client_id: signalbox
    scopes: [openid, email, groups]
    roles: { claim: groups, map: { gateway-admins: admin } }
    ${more}\n`)
  const gateway = await startGateway({ ...settings, OIDC_CLIENT_SECRET: CLIENT_SECRET })
  await provider.register(gateway.url)
  return gateway
}

describe('signing in at an identity provider in a browser', () => {
  let browser: Browser
  let provider: OidcServer
  let gateway: RunningGateway
  let window: Window

  before(async function () {
    browser = await requireBrowser(this)
    await buildConsole()
    provider = await startOidcServer()
  })
  beforeEach(() => {
    provider.people.clear()
    provider.people.set('ada', ['gateway-admins']).set('guest', ['guests'])
  })
  afterEach(async () => {
    expect(window.problems).to.deep.equal([])
    await window.context.close()
    await gateway.stop()
  })
  after(async () => {
    await releaseBrowser()
    await provider?.stop()
  })

  async function open(more?: string): Promise<void> {
    gateway = await startSigningIn(provider, more)
    window = await openWindow(browser, gateway.url)
  }

  async function logIn(name: string): Promise<void> {
    const { page } = window
    await page.getByRole('link', { name: `Sign in with ${new URL(provider.issuer).host}` }).click()
    await page.getByLabel('Name').fill(name)
    await page.getByRole('button', { name: 'Log in' }).click()
  }

  it('leads to the page that was asked for, and out again on both sides', async () => {
    await open()
    const { page, context } = window
    await page.goto(`${gateway.url}/console/#/operators`)
    await page.getByLabel('Key').waitFor()
    await window.checkAccessibility('the sign-in')
    await window.shoot('sign-in')
    await logIn('ada')
    await page.getByRole('heading', { name: 'Operators' }).waitFor()
    expect(page.url()).to.equal(`${gateway.url}/console/#/operators`)
    await page.getByText(`ada of ${provider.issuer}`).waitFor()
    await page.getByText('ada@example.com').first().waitFor()

    const own = (await context.cookies()).filter(({ name }) => name.startsWith('signalbox'))
    expect(own.map(({ name, httpOnly }) => [name, httpOnly]).toSorted()).to.deep.equal([
      ['signalbox_session', true],
      ['signalbox_sign_in', true],
    ])
    expect(
      await page.evaluate('document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })'),
    ).not.to.contain('eyJ')

    await page.reload()
    await page.getByRole('heading', { name: 'Operators' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('link', { name: /^Sign in with/ }).waitFor()
    expect(page.url()).to.equal(`${gateway.url}/console/`)
    await page.getByRole('link', { name: /^Sign in with/ }).click()
    // The provider has forgotten the person as well.
    await page.getByLabel('Name').waitFor()
  })

  it('signs in again in another window, over a page whose session has ended', async () => {
    await open()
    const { page, context } = window
    await page.goto(`${gateway.url}/console/#/groups`)
    await logIn('ada')
    await page.getByRole('button', { name: 'New group' }).click()
    await page.getByLabel('Name').fill('Half')
    await page.getByLabel('Reason').fill('A team')
    await context.clearCookies({ name: 'signalbox_session' })
    await page.getByRole('button', { name: 'Create' }).click()
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    const opened = context.waitForEvent('page')
    await dialog.getByRole('link', { name: /^Sign in with/ }).click()
    // The provider knows the person.
    await (await opened).getByRole('navigation').first().waitFor()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Half' }).waitFor()
  })

  it('shows whoever has no role a page, and the way back', async () => {
    await open()
    const { page } = window
    await page.goto(`${gateway.url}/console/`)
    await logIn('guest')
    await page.getByText('the claim groups has no value that gives a role here').waitFor()
    await window.checkAccessibility('the refusal')
    await page.getByRole('link', { name: 'Go to the console' }).click()
    await page.getByRole('link', { name: /^Sign in with/ }).waitFor()
    const { body } = await gateway.call('GET', '/admin/operators', undefined, AS_ADMIN)
    expect(body.data).to.deep.equal([])
  })

  it('offers no keys where they are refused, but the ADMIN_KEY', async () => {
    await open('only: true')
    const { page } = window
    await page.goto(`${gateway.url}/console/`)
    await page.getByRole('link', { name: /^Sign in with/ }).waitFor()
    expect(await page.getByLabel('Key').count()).to.equal(0)
    await page.getByRole('button', { name: 'Use the ADMIN_KEY' }).click()
    await page.getByLabel('Key').fill(ADMIN_KEY)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('navigation').waitFor()
  })
})
