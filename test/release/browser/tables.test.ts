import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { checkScreensOf } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'

interface Shown {
  readonly id: number
  readonly name: string
  readonly plan: string
  readonly keys?: number
}

const USERS: readonly Shown[] = [
  { id: 1, name: 'user 10', plan: 'paid', keys: 1 },
  { id: 2, name: 'user 9', plan: 'free', keys: 3 },
  { id: 3, name: '=cmd', plan: 'paid', keys: 2 },
]

const toUser = ({ id, name, plan, keys = 0 }: Shown) => ({
  ...{ id, name, plan, groups: [], created_at: '2026-03-01T00:00:00.000Z' },
  keys: Array.from({ length: keys }, (_, index) => ({ id: `${index}`, revoked_at: null })),
})

/** The names of the users that the table shows, in order. */
const namesIn = (page: Page) => page.locator('tbody tr > td:first-child > a').allTextContents()

describe('tables of the console', () => {
  const console = useConsole()

  /** Two pages, as the gateway returns them. */
  async function openUsers(address = '/users') {
    const { page, open } = console.window
    await page.route('**/admin/users?*', (route) => {
      const isSecond = new URL(route.request().url()).searchParams.has('cursor')
      const users = isSecond ? USERS.slice(2) : USERS.slice(0, 2)
      return route.fulfill({ json: { data: users.map(toUser), next_cursor: isSecond ? null : '3' } })
    })
    await open(address)
    await page.getByText('3 rows', { exact: true }).waitFor()
    return page
  }

  const sortBy = (page: Page, name: string) =>
    page.getByRole('columnheader', { name }).getByRole('button').click()

  it('are sorted by their columns, by an address that can be shared', async () => {
    const page = await openUsers()
    await sortBy(page, 'User')
    expect(await namesIn(page)).to.deep.equal(['=cmd', 'user 9', 'user 10'])
    expect(await page.getByRole('columnheader', { name: 'User' }).getAttribute('aria-sort')).to.equal(
      'ascending',
    )
    await sortBy(page, 'Keys')
    expect(await namesIn(page)).to.deep.equal(['user 9', '=cmd', 'user 10'])
    expect(page.url()).to.contain('sort=-Keys')
    await checkScreensOf(console.window, 'table-sorted')
    await page.reload()
    await page.getByText('3 rows', { exact: true }).waitFor()
    expect(await namesIn(page)).to.deep.equal(['user 9', '=cmd', 'user 10'])
    await sortBy(page, 'Keys')
    await sortBy(page, 'Keys')
    expect(await namesIn(page)).to.deep.equal(['user 10', 'user 9', '=cmd'])
    expect(page.url()).not.to.contain('sort')
  })

  it('have totals, and show the columns that somebody chose, until they are reset', async () => {
    const page = await openUsers()
    const total = page.locator('tfoot tr')
    expect(await total.locator('td').allTextContents()).to.deep.equal(['Total', '', '', '6', ''])
    await page.getByRole('button', { name: 'Columns' }).press('Enter')
    const choice = page.getByRole('dialog', { name: 'Columns' })
    await choice.getByLabel('Plan').uncheck()
    await choice.getByLabel('Id').check()
    await console.window.checkAccessibility('the choice of columns')
    await page.keyboard.press('Escape')
    await choice.waitFor({ state: 'detached' })
    const titles = page.getByRole('columnheader')
    expect(await titles.allTextContents()).to.deep.equal(['User', 'Id', 'Groups', 'Keys', 'Created'])
    await page.reload()
    await page.getByText('3 rows', { exact: true }).waitFor()
    expect(await titles.allTextContents()).to.deep.equal(['User', 'Id', 'Groups', 'Keys', 'Created'])
    await page.getByRole('button', { name: 'Columns' }).click()
    await choice.getByRole('button', { name: 'Reset' }).click()
    expect(await titles.allTextContents()).to.deep.equal(['User', 'Plan', 'Groups', 'Keys', 'Created'])
  })

  it('are exported as they are shown', async () => {
    const page = await openUsers('/users?sort=-Keys')
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV' }).click()
    const file = await download
    expect(file.suggestedFilename()).to.equal('users.csv')
    const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\r\n')
    expect(lines[0]).to.equal('User,Plan,Groups,Keys,Created')
    expect(lines.slice(1).map((line) => line.split(',')[0])).to.deep.equal(['user 9', "'=cmd", 'user 10'])
  })
})
