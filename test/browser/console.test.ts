import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { openWindow, releaseBrowser, requireBrowser, type Window } from '../support/browser.ts'
import { buildConsole } from '../support/console.ts'
import { resetDeployments, startDeployments, withDeployments } from '../support/deployments.ts'
import { ADMIN_KEY, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { startPrefixProxy } from '../support/prefix-proxy.ts'
import { withSettings } from '../support/settings.ts'

const SECRET = 'Send it to ada@example.com'

describe('the console in a browser', () => {
  let browser: Browser
  let gateway: RunningGateway
  let user: TestUser
  let window: Window

  before(async function () {
    browser = await requireBrowser(this)
    await buildConsole()
    gateway = await startRecordingGateway()
  })
  beforeEach(async () => {
    user = await newUser(gateway, 'paid')
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

  /** A policy for the user with a rule that blocks addresses. Returns its id. */
  async function newPolicy(name: string): Promise<number> {
    const applies_to = { users: [user.id] }
    const policy = { name, is_enabled: true, priority: 0, applies_to }
    const { id } = (await gateway.call('POST', '/admin/policies', policy, AS_ADMIN)).body.data
    const rule = { name: 'No addresses', is_enabled: true, priority: 0, scope: 'prompt' }
    const content = { ...rule, type: 'preset', pattern: 'email', action: 'block' }
    await gateway.call('POST', `/admin/policies/${id}/firewall-rules`, content, AS_ADMIN)
    return id
  }

  const chat = (content: string) =>
    user.call('POST', '/v1/chat/completions', { model: 'auto', messages: [{ role: 'user', content }] })

  it('refuses a wrong key, and signs in with the right one', async () => {
    const { page } = window
    await page.goto(`${gateway.url}/console`)
    expect(page.url()).to.equal(`${gateway.url}/console/`)
    await page.getByLabel('Key').fill('op_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('Invalid operator key').waitFor()
    await window.checkAccessibility('the sign-in')
    await window.signIn(ADMIN_KEY)
    expect(await window.context.cookies()).to.have.length(1)
    expect(await page.evaluate('document.cookie')).to.equal('')
  })

  it('makes a tool rule of a policy', async () => {
    const { page } = window
    const id = await newPolicy('Tools')
    await window.signIn(ADMIN_KEY)
    await window.open(`/policies/${id}`)
    const rules = page.getByRole('region', { name: 'Tool rules' })
    await rules.getByRole('button', { name: 'Add a rule' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('No deletions')
    await dialog.getByLabel('Tool', { exact: true }).fill('delete_*')
    await dialog.getByLabel('Action').selectOption('hide')
    await window.checkAccessibility('the editor of a tool rule')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('button', { name: 'Review and save' }).click()
    await page.getByLabel('Reason').fill('Nothing is deleted')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await rules.getByText('No deletions').waitFor()
    const { data } = (await gateway.call('GET', `/admin/policies/${id}/tool-rules`, undefined, AS_ADMIN)).body
    expect(data[0]).to.deep.include({ match: { server: '*', tool: 'delete_*' }, action: 'hide' })
  })

  it('makes a policy with a rule, and shows the request that the rule blocks', async () => {
    const { page } = window
    await window.signIn(ADMIN_KEY)
    await window.open('/policies')
    await page.getByRole('button', { name: 'New policy' }).click()
    await page.getByLabel('Name').fill('Personal data')
    await page.getByLabel('Reason').fill('Ticket 4711')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'Personal data' }).waitFor()

    await page
      .getByRole('region', { name: 'Firewall rules' })
      .getByRole('button', { name: 'Add a rule' })
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('No addresses')
    await dialog.getByLabel('Type').selectOption('preset')
    await dialog.getByLabel('Preset').selectOption('email')
    await dialog.getByLabel('Try it on a text').fill(SECRET)
    await dialog.locator('mark', { hasText: 'ada@example.com' }).waitFor()
    await window.checkAccessibility('the editor of a rule')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('1 rule changed, not saved').waitFor()
    expect((await chat(SECRET)).status).to.equal(200)

    await page.getByRole('button', { name: 'Review and save' }).click()
    await page.getByLabel('Reason').fill('Addresses must not leave')
    await dialog.getByRole('button', { name: 'Last 24h' }).click()
    await dialog.getByText(/\d requests evaluated/).waitFor()
    await dialog
      .getByRole('listitem')
      .filter({ hasText: /^1 blocked$/ })
      .waitFor()
    await window.checkAccessibility('the changes before they are saved')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    const refused = await chat(SECRET)
    expect(refused.status).to.equal(403)

    const id = refused.headers.get('x-request-id') ?? ''
    await window.open('/requests?action=block')
    await page.getByRole('cell', { name: '403 firewall_blocked' }).waitFor()
    await page.locator(`a[href$="${id}"]`).click()
    await page.getByRole('heading', { name: `Request ${id}` }).waitFor()
    await page.getByText('The rule No addresses of the policy Personal data blocked it.').waitFor()
    await page.locator('code', { hasText: 'preset email' }).waitFor()
    await window.checkAccessibility('a request')
    await window.shoot('request')

    await page.getByRole('link', { name: 'Replay in the simulator' }).click()
    await page.getByText('The recorded prompt of').waitFor()
    expect(await page.getByLabel('Request', { exact: true }).inputValue()).to.contain(SECRET)
    await page.getByRole('button', { name: 'Simulate' }).click()
    await page.getByText('refused', { exact: true }).waitFor()
    await window.checkAccessibility('the simulator with a recorded prompt')
    await page.getByLabel('Request', { exact: true }).fill('{')
    await page.getByRole('button', { name: 'Simulate' }).click()
    await page.getByRole('alert').getByText('The request is no valid JSON').waitFor()

    await window.open('/policies')
    await page.getByRole('link', { name: 'Personal data' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByLabel('Reason').fill('The test ends')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Policies' }).waitFor()
    expect((await chat(SECRET)).status).to.equal(200)
  })

  it('shows what applied then, and reverts a change', async () => {
    const { page } = window
    const id = await newPolicy('Addresses')
    await window.signIn(ADMIN_KEY)
    await window.open(`/policies/${id}`)
    await page.getByRole('button', { name: 'Edit No addresses' }).click()
    await page.getByRole('dialog').getByLabel('Action').selectOption('mask')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('button', { name: 'Review and save' }).click()
    await page.getByLabel('Reason').fill('Mask is enough')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await chat(SECRET)).status).to.equal(200)

    await window.open(`/time?user=${user.id}`)
    const slider = page.getByRole('slider')
    await slider.press('ArrowLeft')
    await slider.press('ArrowLeft')
    await page.getByText('changed since').waitFor()
    await page.locator('del', { hasText: 'block' }).waitFor()
    await page.locator('ins', { hasText: 'mask' }).waitFor()

    await window.open(`/policies/${id}`)
    await page.getByRole('button', { name: 'History of No addresses' }).click()
    await page.getByText('Mask is enough').waitFor()
    await window.checkAccessibility('the history of a rule')
    await page.getByRole('button', { name: 'Revert to this' }).click()
    await page.getByLabel('Reason').fill('Mask was not enough')
    await page.getByRole('dialog').getByRole('button', { name: 'Revert' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await chat(SECRET)).status).to.equal(403)

    await window.open('/audit?kind=firewall')
    await page.getByText('Mask was not enough').waitFor()
    await window.checkAccessibility('the audit trail')
  })

  it('verifies an event in the browser', async () => {
    const { page } = window
    const users = await gateway.call('GET', '/admin/audit?kind=user&q=demo', undefined, AS_ADMIN)
    await window.signIn(ADMIN_KEY)
    await window.open(`/audit?position=${users.body.data.at(-1).position}`)
    await page.getByText('Signed up to event').waitFor()
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByRole('dialog').getByText('verified', { exact: true }).waitFor()
    await window.shoot('verified')

    // A proof whose event was changed on the way.
    await page.route('**/proof', async (route) => {
      const response = await route.fetch()
      const { data } = await response.json()
      await route.fulfill({ json: { data: { ...data, leaf: data.leaf.replace('demo', 'Demo') } } })
    })
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByRole('dialog').getByText('not in the tree').waitFor()
    await page.unroute('**/proof')
  })

  it('creates a key that is shown once, and works', async () => {
    const { page } = window
    await window.signIn(ADMIN_KEY)
    await window.open(`/users/${user.id}`)
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('Name').fill('laptop')
    await page.getByLabel('Reason').fill('A new laptop')
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    const key = (await page.locator('code.secret').textContent()) ?? ''
    expect(key).to.match(/^tr_/)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('listitem').filter({ hasText: 'laptop' }).waitFor()
    const headers = { authorization: `Bearer ${key}` }
    expect((await gateway.call('GET', '/v1/requests', undefined, headers)).status).to.equal(200)
  })

  it('shows requests as they come, and what they add up to', async () => {
    const { page } = window
    await window.signIn(ADMIN_KEY)
    await window.open('/requests')
    await page.getByLabel('Live').check()
    const live = page.getByRole('region', { name: 'Live requests' })
    await live.getByText('live', { exact: true }).waitFor()
    await chat('Hello')
    await live.getByRole('cell', { name: '200' }).waitFor()
    await window.open('/overview')
    await page.getByRole('region', { name: 'Health' }).getByText('following').waitFor()
    await page.getByRole('img', { name: /^Requests: / }).waitFor()
    expect(await page.getByRole('alert').count()).to.equal(0)
  })

  it('names the deployments that were called', async () => {
    const both = await startDeployments()
    resetDeployments(both)
    both.east.play({ status: 500, body: {} })
    const deployed = await startGateway(await withDeployments(both))
    const messages = [{ role: 'user', content: 'Hello' }]
    const { headers } = await deployed.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })
    expect(headers.get('x-deployment')).to.equal('west')
    const other = await openWindow(browser, deployed.url)
    await other.signIn(ADMIN_KEY)
    await other.open('/requests')
    await other.page.getByRole('cell', { name: 'gpt-4o west' }).waitFor()
    await other.open(`/requests/${headers.get('x-request-id')}`)
    const calls = other.page.getByRole('list', { name: 'Calls to providers' })
    await calls.getByText('openai/gpt-4o at east').waitFor()
    await calls.getByText('openai/gpt-4o at west').waitFor()
    await other.page.getByText('Deployment', { exact: true }).waitFor()
    expect(other.problems).to.deep.equal([])
    await other.context.close()
    await deployed.stop()
    both.close()
  })

  it('hides from an auditor what only editors may do', async () => {
    const auditor = await newOperator(gateway, 'auditor', 'Ada')
    const { page } = window
    await window.signIn(auditor.key)
    await window.open(`/policies/${await newPolicy('Not for auditors')}`)
    await page.getByRole('button', { name: 'History of No addresses' }).waitFor()
    for (const name of ['Settings', 'Delete', 'Add a rule', 'Edit No addresses'])
      expect(await page.getByRole('button', { name }).count(), name).to.equal(0)
    const refused = await page.evaluate(
      `fetch('../admin/groups', { method: 'POST', body: '{"name":"x"}' }).then(({ status }) => status)`,
    )
    expect(refused).to.equal(403)

    await gateway.call('DELETE', `/admin/operators/${auditor.id}`, undefined, AS_ADMIN)
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.getByLabel('Key').waitFor()
  })

  it('confines operators to groups, and shows when their keys expire and were used', async () => {
    const { body } = await gateway.call('POST', '/admin/groups', { name: 'Field service' }, AS_ADMIN)
    const scope = { groups: [body.data.id as number] }
    const expires_at = '2099-12-31T00:00:00Z'
    const scoped = await newOperator(gateway, 'admin', 'Sue Scoped', { scope, expires_at })
    const { page } = window
    await window.signIn(ADMIN_KEY)
    await window.open('/operators')
    const item = page.getByRole('listitem').filter({ hasText: 'Sue Scoped' })
    await item.getByText('only Field service').waitFor()
    await item.getByText('never used').waitFor()
    await item.getByText('expires').waitFor()
    expect(await item.getByRole('button', { name: 'Rotate' }).count()).to.equal(1)

    await window.signIn(scoped.key)
    await window.open('/users')
    await page.getByText('There are no users yet.').waitFor()
    for (const name of ['Operators', 'Routing'])
      expect(await page.getByRole('link', { name, exact: true }).count(), name).to.equal(0)
    for (const address of [
      '/overview',
      '/policies',
      '/audit',
      '/requests',
      '/usage',
      '/groups',
      '/simulator',
    ]) {
      await window.open(address)
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect(await page.getByRole('alert').allTextContents(), address).to.deep.equal([])
    }
  })

  it('shows users what is theirs', async () => {
    await newPolicy('Above users')
    const { page } = window
    await window.signIn(user.key)
    await window.open('/rules')
    await page.getByText('of Above users').waitFor()
    const pages = page.getByRole('navigation').getByRole('link')
    expect(await pages.allInnerTexts())
      .to.include('My rules')
      .and.not.include('Operators')
    const menu = page.getByRole('button', { name: 'Menu' })
    expect(await menu.isVisible()).to.equal(false)
    await page.setViewportSize({ width: 390, height: 760 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await menu.click()
    await window.checkAccessibility('menu on a phone')
    await pages.filter({ hasText: 'Requests' }).click()
    await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor()
    await page.getByRole('navigation').waitFor({ state: 'hidden' })
    for (const address of ['/rules', '/requests', '/audit', '/usage', '/simulator', '/time']) {
      await window.open(address)
      await window.checkAccessibility(address)
      await window.shoot(`user${address.replace('/', '-')}`)
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect(overflow, address).to.be.at.most(0)
    }
  })

  it('works below a path of a proxy', async () => {
    const proxy = await startPrefixProxy('/gateway', gateway.url)
    await window.page.goto(`${proxy.url}/gateway/console`)
    await window.page.getByLabel('Key').fill(ADMIN_KEY)
    await window.page.getByRole('button', { name: 'Sign in' }).click()
    await window.page.getByRole('link', { name: 'Users' }).click()
    await window.page.getByRole('link', { name: 'demo' }).waitFor()
    expect((await window.context.cookies()).map(({ path }) => path)).to.deep.equal(['/gateway/'])
    await proxy.stop()
  })

  it('stops scripts that are not its own', async () => {
    const second = await openWindow(browser, gateway.url)
    await second.page.goto(`${gateway.url}/console/`)
    await second.page.evaluate(
      `document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.hit = 1">')`,
    )
    await second.page.evaluate(
      `document.head.append(Object.assign(document.createElement('script'), { text: 'hit = 1' }))`,
    )
    expect(await second.page.evaluate('window.hit')).to.equal(undefined)
    expect(second.problems.join()).to.contain('Content Security Policy')
    await second.context.close()
  })
})

/**
 * Prompts are recorded, so that the effect of rules on them can be evaluated. The log has been closed once,
 * so that there is a checkpoint.
 */
async function startRecordingGateway(): Promise<RunningGateway> {
  const settings = await withSettings('ledger: { record_prompts: full }\n')
  const environment = { ...settings, RECORD_KEY: randomBytes(32).toString('base64') }
  const { dataDir, demoKey, stop } = await startGateway(environment)
  await stop()
  return startGateway(environment, { dataDir, demoKey })
}
