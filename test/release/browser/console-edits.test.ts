import { expect } from 'chai'
import type { Locator, Page } from 'playwright-core'
import { resolveRange } from '../../../plugins/console/app/lib/time-range.ts'
import { openWindow } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import { AS_ADMIN } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { newOperator } from '../../support/operators.ts'
import { asAdmin, firewallRule, newPolicy } from '../../support/policies.ts'
import { waitUntil } from '../../support/wait.ts'

const saveButton = (page: Page): Locator => page.getByRole('button', { name: 'Review and save' })

/** Edits the only rule of the page that is shown. */
async function setPriority(page: Page, priority: string): Promise<void> {
  await page.getByRole('button', { name: /^Edit / }).click()
  await page.getByLabel('Priority').fill(priority)
  await page.getByRole('button', { name: 'Apply' }).click()
  await saveButton(page).waitFor()
}

describe('changes in the console', function () {
  this.timeout(120_000)
  const console = useConsole()

  const onePolicy = () =>
    newPolicy(console.gateway, {
      name: 'Shared',
      firewall: [firewallRule({ name: 'First', pattern: 'one' })],
    })

  it('of two operators to the same rule are shown to both before one replaces the other', async () => {
    const { gateway, browser } = console
    const policy = await onePolicy()
    const path = `${policy.path}/firewall-rules/${policy.ruleIds[0]}`
    const windows = []
    for (const name of ['Ann', 'Ben']) {
      const { key } = await newOperator(gateway, 'editor', name)
      const window = await openWindow(browser, gateway.url)
      await window.signIn(key)
      await window.open(`/policies/${policy.id}`)
      windows.push(window)
    }
    const [ann, ben] = windows.map(({ page }) => page) as [Page, Page]
    const readRule = async () => (await asAdmin(gateway, 'GET', path)).body.data
    const review = async (page: Page) => {
      await saveButton(page).click()
      await page.getByLabel('Reason').fill('mine')
    }
    const confirm = (page: Page) => page.getByRole('button', { name: 'Save', exact: true }).click()
    const done = (page: Page) => saveButton(page).waitFor({ state: 'detached' })

    // Ben saves while Ann reviews.
    await setPriority(ann, '7')
    await setPriority(ben, '3')
    await review(ann)
    expect(await ann.locator('dialog del').allTextContents()).to.deep.equal(['0'])
    await review(ben)
    await confirm(ben)
    await done(ben)
    await confirm(ann)
    await ann.getByRole('alert').getByText('Somebody else has changed these rules').waitFor()
    await ann.getByText('Somebody else has changed this meanwhile: priority').waitFor()
    expect(await ann.locator('dialog del').allTextContents()).to.deep.equal(['3'])
    expect((await readRule()).priority).to.equal(3)
    await confirm(ann)
    await done(ann)
    expect((await readRule()).priority).to.equal(7)

    // Ann has saved before Ben reviews: he sees it at once, and takes his change back.
    await setPriority(ben, '4')
    await review(ben)
    await ben.getByText('Somebody else has changed this meanwhile: priority').waitFor()
    expect(await ben.locator('dialog del').allTextContents()).to.deep.equal(['7'])
    await ben.getByRole('button', { name: 'Cancel' }).click()
    await ben.getByRole('button', { name: 'Discard' }).click()
    await done(ben)
    expect((await readRule()).priority).to.equal(7)

    // What only one of them has changed, stays.
    await setPriority(ben, '5')
    await asAdmin(gateway, 'PATCH', path, { pattern: 'two' })
    await review(ben)
    await confirm(ben)
    await done(ben)
    const { priority, pattern } = await readRule()
    expect([priority, pattern]).to.deep.equal([5, 'two'])
    for (const { problems, context } of windows) {
      expect(problems).to.deep.equal([])
      await context.close()
    }
    await policy.remove()
  })

  it('of settings of a policy are refused if somebody else was faster, and kept in the form', async () => {
    const { page, open } = console.window
    const policy = await onePolicy()
    await open(`/policies/${policy.id}`)
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Renamed')
    await asAdmin(console.gateway, 'PATCH', policy.path, { name: 'Faster' })
    await page.getByLabel('Reason').fill('mine')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('meanwhile: name is now Faster. Save again').waitFor()
    expect((await asAdmin(console.gateway, 'GET', policy.path)).body.data.name).to.equal('Faster')
    await asAdmin(console.gateway, 'PATCH', policy.path, { priority: 8 })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').getByText('Save again').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('heading', { name: 'Renamed' }).waitFor()
    const { data } = (await asAdmin(console.gateway, 'GET', policy.path)).body
    expect([data.name, data.priority]).to.deep.equal(['Renamed', 8])
    await policy.remove()
  })

  const save = async (page: Page) => {
    await page.getByLabel('Reason').fill('mine')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
  }

  it('of users, operators and budgets are refused if somebody else was faster, and not otherwise', async () => {
    const { page, open } = console.window
    const { gateway } = console
    const user = await newUser(gateway, 'paid')
    const operator = await newOperator(gateway, 'auditor', 'Linus')
    const userPath = `/admin/users/${user.id}`
    const budgetPath = `${userPath}/budget`
    const terms = { limit_usd: 5, period: 'month', warn_ratio: 0.5, on_exceed: 'refuse' }
    const refusesStale = async (label: string, change: () => Promise<unknown>) => {
      await change()
      await save(page)
      await page
        .getByRole('alert')
        .filter({ hasText: /ETag|has changed/ })
        .waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: label }).first().click()
    }
    const done = () => page.getByRole('dialog').waitFor({ state: 'detached' })

    await open(`/users/${user.id}`)
    await page.getByRole('button', { name: 'Set a budget' }).click()
    await page.getByLabel('US dollars').fill('7')
    await refusesStale('Set a budget', () => asAdmin(gateway, 'PUT', budgetPath, terms))
    expect(await page.getByLabel('US dollars').inputValue()).to.equal('5')
    await page.getByLabel('US dollars').fill('8')
    await save(page)
    await done()
    const { data: budget } = (await asAdmin(gateway, 'GET', budgetPath)).body
    expect([budget.limit_usd, budget.warn_ratio]).to.deep.equal([8, 0.5])

    // The page still shows the user of before the budget.
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByLabel('Requests per minute').fill('9')
    await refusesStale('Settings', () =>
      asAdmin(gateway, 'PATCH', userPath, { requests_per_minute: 3, tokens_per_minute: 5000 }),
    )
    expect(await page.getByLabel('Requests per minute').inputValue()).to.equal('3')
    await page.getByLabel('Requests per minute').fill('9')
    await save(page)
    await done()
    const { data: saved } = (await asAdmin(gateway, 'GET', userPath)).body
    expect([saved.requests_per_minute, saved.tokens_per_minute]).to.deep.equal([9, 5000])

    const operatorPath = `/admin/operators/${operator.id}`
    await open(`/operators`)
    await page
      .getByRole('listitem')
      .filter({ hasText: 'Linus' })
      .getByRole('button', { name: 'Settings' })
      .click()
    await page.getByLabel('Role', { exact: true }).selectOption('editor')
    await asAdmin(gateway, 'PATCH', operatorPath, { role: 'admin' })
    await save(page)
    await page
      .getByRole('alert')
      .filter({ hasText: /ETag|has changed/ })
      .waitFor()
    expect((await asAdmin(gateway, 'GET', operatorPath)).body.data.role).to.equal('admin')
  })

  it('stay until they are saved: on other pages, when the page is loaded again, and for nobody else', async () => {
    const { page, open } = console.window
    const policy = await onePolicy()
    await open(`/policies/${policy.id}`)
    await setPriority(page, '9')
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    await page.goBack()
    await saveButton(page).waitFor()
    page.once('dialog', (dialog) => dialog.accept())
    await page.reload()
    await saveButton(page).click()
    expect(await page.locator('dialog ins').allTextContents()).to.deep.equal(['9'])
    await page.getByRole('button', { name: 'Cancel' }).click()

    const other = await newOperator(console.gateway, 'editor', 'Grace')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Key').fill(other.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('First').first().waitFor()
    expect(await saveButton(page).count()).to.equal(0)
    await policy.remove()
  })

  it('are in the audit trail with what was there before, in names', async () => {
    const { page, open } = console.window
    const user = await newUser(console.gateway, 'paid')
    const policy = await onePolicy()
    await asAdmin(console.gateway, 'PATCH', policy.path, { applies_to: { users: [user.id] } })
    await open('/audit?kind=policy')
    const entry = page.locator('.timeline li').first()
    await entry.locator('del', { hasText: 'everyone' }).waitFor()
    await entry.locator('ins', { hasText: 'users: someone' }).waitFor()
    await policy.remove()
  })
})

describe('figures of the console', function () {
  this.timeout(120_000)
  const console = useConsole()

  it('name rules and keys, and are the same on the overview and in the usage', async () => {
    const { page, open } = console.window
    const { gateway } = console
    const user = await newUser(gateway, 'paid')
    const policy = await newPolicy(gateway, {
      name: 'House',
      firewall: [firewallRule({ name: 'No secrets', pattern: 'secret', action: 'warn' })],
    })
    const messages = [{ role: 'user', content: 'a secret' }]
    await user.call('POST', '/v1/chat/completions', { model: 'auto', messages })
    await open('/usage?by=rule')
    await page.getByRole('link', { name: 'No secrets (House)' }).waitFor()
    await open('/usage?by=key')
    await page.getByRole('link', { name: '(someone)' }).waitFor()

    const read = async (path: string) => (await gateway.call('GET', path, undefined, AS_ADMIN)).body
    for (const range of ['24h', '7d']) {
      const usage = await read(`/admin/usage?since=${resolveRange({ from: range }, true).since}`)
      // Answers are shared for some seconds: the page that the sign-in leads to has asked for one.
      await waitUntil(async () => {
        const { data } = await read(`/admin/overview?range=${range}`)
        expect(Date.parse(usage.since), range).to.equal(Date.parse(data.series[0].time))
        return usage.data[0].requests === data.totals.requests
      })
    }
    await policy.remove()
  })

  it('of time travel begin with now, for users without changes of their own, too', async () => {
    const { page, open, signIn } = console.window
    const user = await newUser(console.gateway, 'paid')
    const policy = await newPolicy(console.gateway, {
      name: 'House',
      firewall: [firewallRule({ name: 'No secrets' })],
    })
    await signIn(user.key)
    await open('/time')
    await page.getByText('No secrets').first().waitFor()
    await page.getByText('Now. Move back').waitFor()
    await page.getByRole('slider').press('Home')
    await page.getByText('No rules applied then.').first().waitFor()
    await policy.remove()
  })
})
