import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { openWindow, releaseBrowser, requireBrowser, type Window } from '../../support/browser.ts'
import { pollDevice, startDevice } from '../../support/device-sign-in.ts'
import { type RunningGateway, startGateway } from '../../support/gateway.ts'
import { newUser, type TestUser } from '../../support/new-user.ts'
import { startPrefixProxy } from '../../support/prefix-proxy.ts'
import { withSettings } from '../../support/settings.ts'

describe('the page that approves a program, in a browser', () => {
  let browser: Browser
  let gateway: RunningGateway
  let user: TestUser
  let window: Window

  before(async function () {
    browser = await requireBrowser(this)
    gateway = await startGateway(await withSettings('identity: { claude_code: { enabled: true } }\n'))
  })
  beforeEach(async () => {
    user = await newUser(gateway, 'paid', 'Ada')
    window = await openWindow(browser, gateway.url)
  })
  after(async () => {
    await releaseBrowser()
    await gateway?.stop()
  })
  afterEach(async () => {
    expect(window.problems).to.deep.equal([])
    await window.context.close()
  })

  it('takes a typed code and a key, below the path of a proxy as well', async () => {
    const { page } = window
    const started = await startDevice(gateway)
    const proxy = await startPrefixProxy('/gateway', gateway.url)
    await page.goto(`${proxy.url}/gateway/console/device`)
    await window.checkAccessibility('the page that asks for a code')
    await page.getByLabel('The code').fill(started.user_code.toLowerCase().replace('-', ' '))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText(started.user_code).waitFor()
    await page.getByText('Claude Code', { exact: true }).waitFor()
    await window.checkAccessibility('the page that asks for approval')
    await page.getByLabel('API key').fill('tr_wrong')
    await page.getByRole('button', { name: 'Approve with this key' }).click()
    await page.getByRole('alert').getByText('not valid here').waitFor()
    await window.shoot('device')
    await page.getByLabel('API key').fill(user.key)
    await page.getByRole('button', { name: 'Approve with this key' }).click()
    await page.getByText('is signed in').waitFor()
    expect((await pollDevice(gateway, started.device_code)).status).to.equal(200)
    await proxy.stop()
  })

  it('takes a session of the console, and denies', async () => {
    const { page } = window
    const [approved, denied] = [await startDevice(gateway), await startDevice(gateway)]
    await window.signIn(user.key)
    await page.goto(approved.verification_uri_complete)
    await page.getByRole('button', { name: 'Approve as Ada' }).click()
    await page.getByText('is signed in').waitFor()
    expect((await pollDevice(gateway, approved.device_code)).status).to.equal(200)
    await page.goto(denied.verification_uri_complete)
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByText('was not signed in').waitFor()
    expect((await pollDevice(gateway, denied.device_code)).body).to.deep.equal({ error: 'access_denied' })
  })
})
