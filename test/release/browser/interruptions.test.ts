import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import {
  checkScreensOf,
  openWindow,
  releaseBrowser,
  requireBrowser,
  type Window,
} from '../../support/browser.ts'
import { buildConsole } from '../../support/console.ts'
import { ADMIN_KEY, AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../../support/gateway.ts'
import { newOperator } from '../../support/operators.ts'
import { asAdmin, firewallRule, newPolicy } from '../../support/policies.ts'

describe('the console, interrupted', () => {
  let browser: Browser
  let gateway: RunningGateway
  let window: Window

  before(async function () {
    browser = await requireBrowser(this)
    await buildConsole()
    gateway = await startGatewayOnFiles()
  })
  beforeEach(async () => {
    window = await openWindow(browser, gateway.url)
  })
  afterEach(async () => {
    expect(window.problems).to.deep.equal([])
    await window.context.close()
  })
  after(async () => {
    await releaseBrowser()
    await gateway?.stop()
  })

  const signInAgain = (page: Page) => page.getByRole('dialog', { name: 'Your session has ended' })

  async function enterKey(page: Page, key: string): Promise<void> {
    await signInAgain(page).getByLabel('Key').fill(key)
    await signInAgain(page).getByRole('button', { name: 'Sign in' }).click()
    await signInAgain(page).waitFor({ state: 'detached' })
  }

  /** Ends the session of the operator, whose key changes. */
  async function rotateKey(id: string): Promise<string> {
    const { body } = await gateway.call(
      'POST',
      `/admin/operators/${id}/rotate`,
      { overlap_seconds: 0 },
      AS_ADMIN,
    )
    return body.data.key
  }

  it('asks for a sign-in over a form that is half filled in, and saves what was being saved', async () => {
    const { page } = window
    const policy = await newPolicy(gateway, { name: 'Half' })
    const operator = await newOperator(gateway, 'editor', 'Ada')
    await window.signIn(operator.key)
    await window.open(`/policies/${policy.id}`)
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Whole')
    await page.getByLabel('Reason').fill('Half is not enough')

    const key = await rotateKey(operator.id)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await signInAgain(page).getByText('Sign in again as Ada').waitFor()
    await checkScreensOf(window, 'sign-in-again')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    expect(await page.getByLabel('Reason').inputValue()).to.equal('Half is not enough')
    await enterKey(page, key)
    await page.getByRole('heading', { name: 'Whole' }).waitFor()
    const { body } = await asAdmin(gateway, 'GET', policy.path)
    expect(body.data.name).to.equal('Whole')
    await policy.remove()
  })

  it('gives nothing of an ended session to somebody else', async () => {
    const { page } = window
    const policy = await newPolicy(gateway, { name: 'Half', firewall: [firewallRule({ name: 'First' })] })
    const operator = await newOperator(gateway, 'editor', 'Ada')
    await window.signIn(operator.key)
    await window.open(`/policies/${policy.id}`)
    await page.getByRole('button', { name: 'Delete First' }).click()
    await page.getByRole('button', { name: 'Review and save' }).click()
    await page.getByLabel('Reason').fill('Not mine')
    await rotateKey(operator.id)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await enterKey(page, ADMIN_KEY)
    await page.getByRole('heading', { name: 'Half' }).waitFor()
    await page.getByRole('cell', { name: 'block First' }).waitFor()
    expect(await page.getByRole('dialog').count()).to.equal(0)
    expect(await page.getByRole('button', { name: 'Review and save' }).count()).to.equal(0)
    const { body } = await asAdmin(gateway, 'GET', `${policy.path}/firewall-rules`)
    expect(body.data).to.have.length(1)
    await policy.remove()
  })

  it('goes on in each window once one has signed in', async () => {
    const { page, context } = window
    const operator = await newOperator(gateway, 'editor', 'Ada')
    await window.signIn(operator.key)
    const key = await rotateKey(operator.id)
    await page.evaluate(`location.hash = '/groups'`)
    await signInAgain(page).waitFor()
    const other = await context.newPage()
    await other.goto(`${gateway.url}/console/`)
    await other.getByLabel('Key').fill(key)
    await other.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('There are no groups').waitFor()
    expect(await signInAgain(page).count()).to.equal(0)
  })

  it('goes on by itself after a restart of the gateway', async () => {
    const { page } = window
    const policy = await newPolicy(gateway, { name: 'Half' })
    await window.signIn(ADMIN_KEY)
    await window.open(`/policies/${policy.id}`)
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Whole')

    const { url, dataDir } = gateway
    await gateway.stop()
    await page.getByLabel('Reason').fill('Half is not enough')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('status').getByText('The gateway does not respond').waitFor()
    await window.checkAccessibility('a gateway that does not respond')
    await window.shoot('disconnected')
    gateway = await startGatewayOnFiles({ PORT: new URL(url).port }, { dataDir })
    await page.getByRole('status').getByText('The gateway does not respond').waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('heading', { name: 'Whole' }).waitFor()
    await policy.remove()
  })

  it('reads again what a restart has kept from it', async () => {
    const { page } = window
    await window.signIn(ADMIN_KEY)
    const { url, dataDir } = gateway
    await gateway.stop()
    await page.getByRole('link', { name: 'Groups' }).click()
    await page.getByRole('alert').getByText('The gateway does not respond').first().waitFor()
    gateway = await startGatewayOnFiles({ PORT: new URL(url).port }, { dataDir })
    await page.getByText('There are no groups').waitFor()
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })
})
