import { expect } from 'chai'
import { useConsole } from '../../support/console-suite.ts'
import { asAdmin, newPolicy } from '../../support/policies.ts'

describe('the choice of users and groups in the console', () => {
  const console = useConsole()
  let ada: number
  let support: number

  before(async () => {
    const create = async (path: string, body: object) =>
      (await asAdmin(console.gateway, 'POST', path, body)).body.data.id as number
    ada = await create('/admin/users', { name: 'Ada Lovelace', plan: 'paid' })
    await create('/admin/users', { name: 'Adam Riese', plan: 'paid' })
    await create('/admin/users', { name: 'Grace Hopper', plan: 'paid' })
    support = await create('/admin/groups', { name: 'Support' })
    await create('/admin/groups', { name: 'Sales' })
  })

  it('is searched on the server, and made with the keyboard', async () => {
    const { page, open, checkAccessibility } = console.window
    const searches: string[] = []
    page.on('request', (request) => {
      const q = new URL(request.url()).searchParams.get('q')
      if (q !== null) searches.push(q)
    })
    await open('/simulator')
    const field = page.getByRole('combobox', { name: 'User' })
    await field.fill('ADA')
    const options = page.locator('[role=option]')
    await options.filter({ hasText: 'Adam Riese' }).waitFor()
    expect(await options.count()).to.equal(2)
    expect(searches).to.deep.equal(['ADA'])
    expect(await field.getAttribute('aria-expanded')).to.equal('true')
    await checkAccessibility('an open list of users')
    const selected = page.locator('[role=option][aria-selected=true]')
    expect(await selected.textContent()).to.contain('Ada Lovelace')
    await field.press('ArrowDown')
    expect(await field.getAttribute('aria-activedescendant')).to.equal(await selected.getAttribute('id'))
    expect(await selected.textContent()).to.contain('Adam Riese')
    await field.press('ArrowUp')
    await field.press('Enter')
    expect(await field.inputValue()).to.equal('Ada Lovelace')
    expect(await options.count()).to.equal(0)

    await field.fill('nobody')
    await page.getByText('No name contains “nobody”.').waitFor()
    await field.press('Escape')
    expect(await field.inputValue()).to.equal('Ada Lovelace')
    await page.getByLabel('Message of the user').fill('Hello')
    const [sent] = await Promise.all([
      page.waitForRequest('**/admin/simulate'),
      page.getByRole('button', { name: 'Simulate' }).click(),
    ])
    expect(sent.postDataJSON()).to.include({ user_id: ada })
  })

  it('sets whom a policy applies to, and stays open in its dialog', async () => {
    const { page, open } = console.window
    const policy = await newPolicy(console.gateway, { name: 'For some' })
    await open(policy.path.replace('/admin', ''))
    await page.getByRole('button', { name: 'Settings' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Everyone').uncheck()
    const users = dialog.getByRole('combobox', { name: 'Add a user' })
    await users.fill('lovel')
    await dialog.getByRole('option', { name: /Ada Lovelace/ }).click()
    await dialog.getByRole('button', { name: 'Remove Ada Lovelace' }).waitFor()
    const groups = dialog.getByRole('combobox', { name: 'Add a group' })
    await groups.fill('s')
    await dialog.getByRole('option', { name: /Sales/ }).waitFor()
    await groups.press('Escape')
    await groups.fill('supp')
    await dialog.getByRole('option', { name: /Support/ }).click()
    await dialog.getByLabel('Reason').fill('Only they')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    const { body } = await asAdmin(console.gateway, 'GET', policy.path)
    expect(body.data.applies_to).to.deep.equal({ groups: [support], users: [ada] })
    await policy.remove()
  })

  it('adds members to groups, and filters requests', async () => {
    const { page, open } = console.window
    await open(`/groups/${support}`)
    await page.getByRole('button', { name: 'Add a user' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox', { name: 'User' }).fill(String(ada))
    await dialog.getByRole('option', { name: /Ada Lovelace/ }).click()
    await dialog.getByLabel('Reason').fill('She helps')
    await dialog.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('link', { name: 'Ada Lovelace' }).waitFor()

    await open('/requests')
    const field = page.getByRole('combobox', { name: 'User' })
    await field.fill('grace')
    await field.press('Enter')
    await page.getByRole('option', { name: /Grace Hopper/ }).click()
    await page.waitForURL(/user=\d+/)
    await field.fill('')
    await page.waitForURL((url) => !url.hash.includes('user='))
  })
})
