import { expect } from 'chai'
import { checkScreensOf } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import { ADMIN_KEY, AS_ADMIN, startGateway } from '../../support/gateway.ts'
import { newOperator } from '../../support/operators.ts'
import { withSettings } from '../../support/settings.ts'

describe('the page of settings in a browser', () => {
  const suite = useConsole(async () => startGateway(await withSettings('limits: { body_bytes: 2000000 }\n')))

  it('shows what is in force and where it came from, but no secret', async () => {
    const { page } = suite.window
    await page.getByRole('link', { name: 'Settings', exact: true }).click()
    const rows = page.getByRole('row')
    const rowOf = (name: string) => rows.filter({ has: page.getByText(name, { exact: true }) })
    await rowOf('host').getByText('127.0.0.1').waitFor()
    await rowOf('admin_key').getByText('set, not shown').waitFor()
    await rowOf('admin_key').getByText('ADMIN_KEY', { exact: true }).waitFor()
    await rowOf('eventstore_url').getByText('set EVENTSTORE_URL').waitFor()
    await checkScreensOf(suite.window, 'settings')

    await page.getByLabel('From').selectOption('file')
    const row = rowOf('limits.body_bytes')
    for (const text of ['2000000', '20971520', 'Maximum size of a request body.', '.yaml'])
      await row.getByText(text).waitFor()
    expect(await rows.count()).to.equal(2)
    await page.getByLabel('From').selectOption('')
    await page.getByLabel('Setting').fill('retention ledger')
    await page.getByLabel('Setting').press('Enter')
    await rowOf('ledger.retention_days').waitFor()
    expect(await rowOf('host').count()).to.equal(0)
    await suite.window.open('/settings?q=nothing-of-this')
    await page.getByText('No setting matches.').waitFor()
    await suite.window.open('/settings')
    expect(await page.content()).not.to.contain(ADMIN_KEY)
  })

  it('is for operators who see everything', async () => {
    const { gateway, window } = suite
    const auditor = await newOperator(gateway, 'auditor', 'Otto')
    await window.signIn(auditor.key)
    await window.open('/settings')
    await window.page.getByText('log_level', { exact: true }).waitFor()
    const group = (await gateway.call('POST', '/admin/groups', { name: 'Service' }, AS_ADMIN)).body.data.id
    const scoped = await newOperator(gateway, 'admin', 'Sue', { scope: { groups: [group] } })
    await window.signIn(scoped.key)
    expect(await window.page.getByRole('link', { name: 'Settings' }).count()).to.equal(0)
    await window.open('/settings')
    await window.page.getByText('There is no such page for you.').waitFor()
  })
})
