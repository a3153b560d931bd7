import { expect } from 'chai'
import { useConsole } from '../support/console-suite.ts'
import { asAdmin, newPolicy } from '../support/policies.ts'

describe('the way from page to page in the console', () => {
  const console = useConsole()

  it('begins at the top of a page that is opened, and keeps the place when a filter changes', async () => {
    const { page, open } = console.window
    await page.setViewportSize({ width: 1200, height: 300 })
    await open('/settings')
    await page.getByRole('row').nth(5).waitFor()
    await page.evaluate('scrollTo(0, 200)')
    await page.getByLabel('From', { exact: true }).selectOption('default')
    await page.waitForFunction(`location.hash.includes('source=default')`)
    expect(await page.evaluate('scrollY')).to.be.greaterThan(0)
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await page.evaluate('scrollY')).to.equal(0)
  })

  it('leads from a group to the policies that apply to it, and to a new one for it', async () => {
    const { page, open } = console.window
    const newGroup = async (name: string): Promise<number> =>
      (await asAdmin(console.gateway, 'POST', '/admin/groups', { name })).body.data.id
    const [id, other] = [await newGroup('Pilots'), await newGroup('Others')]
    await newPolicy(console.gateway, { name: 'For pilots', applies_to: { groups: [id] } })
    await newPolicy(console.gateway, { name: 'For others', applies_to: { groups: [other] } })
    await open(`/groups/${id}`)
    const policies = page.getByRole('region', { name: 'Policies' })
    await policies.getByRole('link', { name: 'For pilots' }).waitFor()
    expect(await policies.getByRole('link').allTextContents()).to.deep.equal(['For pilots'])

    await policies.getByRole('button', { name: 'New policy' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('Trial')
    await dialog.getByLabel('Reason').fill('A trial')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'Trial' }).waitFor()
    await page.getByText('applies to Pilots').waitFor()
  })
})
