import { expect } from 'chai'
import { chatBody } from '../../support/bodies.ts'
import { checkScreensOf } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import { AS_ADMIN } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { newOperator } from '../../support/operators.ts'

describe('the page of the access review in a browser', () => {
  const suite = useConsole()

  it('shows who can do what, and exports it', async () => {
    const { gateway, window } = suite
    const { page } = window
    const ada = await newUser(gateway, 'paid', 'Ada')
    await ada.call('POST', '/v1/chat/completions', chatBody('Hello'))
    const group = (await gateway.call('POST', '/admin/groups', { name: 'Legal' }, AS_ADMIN)).body.data.id
    await newOperator(gateway, 'editor', 'Otto', { scope: { groups: [group] } })
    const gone = await newUser(gateway, 'free', 'Gone')
    await gone.revokeKey(gone.keyId)

    await page.getByRole('link', { name: 'Access review' }).click()
    const rowOf = (name: string) => page.getByRole('row').filter({ hasText: name })
    for (const text of ['operator', 'editor', 'Legal', 'never', 'key without expiry'])
      await rowOf('Otto').getByText(text, { exact: true }).waitFor()
    for (const text of ['user', 'paid', 'key without expiry'])
      await rowOf('Ada').getByText(text, { exact: true }).waitFor()
    expect(await rowOf('Ada').locator('time').count()).to.equal(1)
    await rowOf('Gone').getByText('no valid key', { exact: true }).waitFor()
    await rowOf('ADMIN_KEY').getByText('everything', { exact: true }).waitFor()
    await checkScreensOf(window, 'access-review')

    await page.getByLabel('Kind').selectOption('operator')
    await rowOf('Ada').waitFor({ state: 'detached' })
    await rowOf('Otto').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export CSV' }).first().click(),
    ])
    expect(download.suggestedFilename()).to.equal('access-review.csv')
    await page.getByLabel('Only stale ones').check()
    await page.getByText('Nothing is stale.').waitFor()
  })

  it('is for operators who see everything', async () => {
    const { gateway, window } = suite
    const group = (await gateway.call('POST', '/admin/groups', { name: 'Service' }, AS_ADMIN)).body.data.id
    const scoped = await newOperator(gateway, 'admin', 'Sue', { scope: { groups: [group] } })
    await window.signIn(scoped.key)
    expect(await window.page.getByRole('link', { name: 'Access review' }).count()).to.equal(0)
    await window.open('/access')
    await window.page.getByText('There is no such page for you.').waitFor()
  })
})
