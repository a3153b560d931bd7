import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { checkScreensOf } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import { newUser, type TestUser } from '../../support/new-user.ts'
import { firewallRule, newPolicy } from '../../support/policies.ts'

describe('finding things in the console', () => {
  const console = useConsole()
  let ada: TestUser
  let requestId: string

  before(async () => {
    ada = await newUser(console.gateway, 'paid', 'Ada Lovelace')
    await newUser(console.gateway, 'paid', 'Grace Hopper')
    const firewall = [firewallRule({ name: 'No addresses', pattern: 'secret' })]
    await newPolicy(console.gateway, { name: 'House rules', firewall })
    const messages = [{ role: 'user', content: 'Hello' }]
    const { headers } = await ada.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })
    requestId = headers.get('x-request-id') ?? ''
  })

  const field = (page: Page) => page.getByRole('combobox', { name: /^Find/ })
  const options = (page: Page) => page.getByRole('listbox', { name: 'Found' }).getByRole('option')

  async function find(page: Page, text: string, option: string | RegExp): Promise<void> {
    await page.keyboard.press('Control+k')
    await field(page).fill(text)
    await options(page).filter({ hasText: option }).waitFor()
    await page.getByRole('status').filter({ hasText: 'Searching' }).waitFor({ state: 'detached' })
    await page.keyboard.press('Enter')
    await field(page).waitFor({ state: 'detached' })
  }

  it('is done with the keyboard only: pages, users, policies, rules, models and requests', async () => {
    const { page, open } = console.window
    await open('/overview')
    await find(page, 'lovel', /Ada Lovelace.*User/)
    await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
    await find(page, 'house', /House rules.*Policy/)
    await page.getByRole('heading', { name: 'House rules' }).waitFor()
    await find(page, 'no addr', /No addresses.*House rules.*Rule/)
    await page.locator('[aria-current="true"]').filter({ hasText: 'No addresses' }).waitFor()
    await find(page, requestId, /Request/)
    await page.getByRole('heading', { name: `Request ${requestId}` }).waitFor()
    // No request named it.
    await find(page, 'gpt-4o-mini', /gpt-4o-mini openai.*Model/)
    await page.getByRole('heading', { name: 'gpt-4o-mini' }).waitFor()
    expect(page.url()).to.contain('/models/openai/gpt-4o-mini')
    await find(page, 'tool serv', /Tool servers.*Page/)
    await page.getByRole('heading', { name: 'Tool servers' }).waitFor()
  })

  it('offers pages first, says what is not found, and closes with Escape and with another address', async () => {
    const { page, open } = console.window
    await open('/users')
    await page.getByRole('button', { name: /^Find/ }).click()
    await options(page).filter({ hasText: 'Overview' }).waitFor()
    await page.keyboard.press('ArrowDown')
    expect(await options(page).nth(1).getAttribute('aria-selected')).to.equal('true')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowUp')
    expect(await options(page).last().getAttribute('aria-selected')).to.equal('true')
    await checkScreensOf(console.window, 'palette')
    await field(page).fill('zzz')
    await page.getByText('Nothing is called “zzz”.').waitFor()
    await page.keyboard.press('Escape')
    await field(page).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Groups' }).click()
    await page.keyboard.press('Control+k')
    await field(page).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Users' }).waitFor()
    await field(page).waitFor({ state: 'detached' })
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keyboard' })
    await help.getByText('Next and previous row').waitFor()
    await checkScreensOf(console.window, 'keyboard')
    await page.keyboard.press('Escape')
    await help.waitFor({ state: 'detached' })
  })

  it('shows users what they may open only', async () => {
    const { page, signIn } = console.window
    await signIn(ada.key)
    await page.keyboard.press('Control+k')
    await options(page).filter({ hasText: 'My rules' }).waitFor()
    expect(await options(page).filter({ hasText: 'Operators' }).count()).to.equal(0)
    await field(page).fill('grace')
    await page.getByText('Nothing is called “grace”.').waitFor()
    await field(page).fill(requestId)
    await options(page).filter({ hasText: 'Request' }).waitFor()
    await page.keyboard.press('Escape')
    await find(page, 'gpt-4o-mini', /gpt-4o-mini openai.*Model/)
    await page.getByRole('heading', { name: 'Playground' }).waitFor()
    expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).to.equal('openai/gpt-4o-mini')
  })

  it('searches as somebody types, and opens rows, by keyboard', async () => {
    const { page, open } = console.window
    await open('/users')
    await page.getByRole('link', { name: 'Grace Hopper' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('hopp')
    await page.getByRole('link', { name: 'Ada Lovelace' }).waitFor({ state: 'detached' })
    expect(page.url()).to.contain('q=hopp')
    await page.getByLabel('Name').fill('')
    await page.getByRole('link', { name: 'Ada Lovelace' }).waitFor()
    expect(page.url()).not.to.contain('q=')
    await page.getByLabel('Name').blur()

    const current = page.locator('tr:focus')
    await page.keyboard.press('j')
    const first = await current.textContent()
    await page.keyboard.press('j')
    expect(await current.textContent()).not.to.equal(first)
    await page.keyboard.press('k')
    expect(await current.textContent()).to.equal(first)
    await console.window.checkAccessibility('a row with the focus')
    const name = await current.getByRole('link').textContent()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: name ?? '' }).waitFor()
  })

  it('returns to views that were saved, with their filters, order and columns', async () => {
    const { page, open } = console.window
    await open('/requests?model=gpt-4o&from=7d&sort=-Cost')
    await page.getByText('1 row', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByLabel('Latency').uncheck()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Views' }).click()
    const views = page.getByRole('dialog', { name: 'Views' })
    await views.getByLabel('Save this view as').fill('Expensive')
    await console.window.checkAccessibility('the views of a page')
    await views.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'View: Expensive' }).waitFor()

    await open('/requests?model=none')
    await page.getByText('No requests match.').waitFor()
    await find(page, 'expens', /Expensive.*View/)
    await page.getByText('1 row', { exact: true }).waitFor()
    expect(page.url()).to.match(/model=gpt-4o.*sort=-Cost/)
    expect(await page.getByRole('columnheader', { name: 'Latency' }).count()).to.equal(0)

    await page.getByRole('button', { name: 'View: Expensive' }).click()
    await page.getByRole('button', { name: 'Remove the view Expensive' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Views', exact: true }).waitFor()
  })
})
