import { expect } from 'chai'
import { useConsole } from '../support/console-suite.ts'
import { startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { asAdmin } from '../support/policies.ts'
import { goodAt, trainedData, writeVersions } from '../support/routers.ts'
import { withSettings } from '../support/settings.ts'

describe('the page "Routing" of the console', () => {
  const console = useConsole(async () => startGateway(await withSettings('routing: { learned: "on" }\n')))

  it('shows versions with their figures, activates one with a reason, and rolls back', async () => {
    const { gateway, window } = console
    const { dataDir } = gateway
    const models = { 'gpt-4o': goodAt('haiku', dataDir) }
    const curve = [0.5, 0.8].map((quality, cost) => [cost, quality])
    const strategies = { version: { apgr: 0.68, curve } }
    const figures = { better: true, strategies }
    await writeVersions(dataDir, [trainedData(1, dataDir, { models, figures })])
    // This change waits until the node has applied the events before it.
    await newUser(gateway)

    await window.open('/routing')
    const { page } = window
    await page.getByText('Version 1 is better than all baselines').waitFor()
    await page.getByRole('img', { name: 'Quality 0.500 to 0.800 at costs 0 to 1' }).waitFor()
    await page.getByText('gpt-4o (200)').waitFor()

    await page.getByRole('link', { name: 'Address' }).click()
    await page.locator('[aria-current=true]').getByText('Version 1').waitFor()

    await page.getByRole('button', { name: 'Activate' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('Better on haikus')
    await window.checkAccessibility('the activation of a version')
    await dialog.getByRole('button', { name: 'Activate' }).click()
    await page.getByText('active', { exact: true }).waitFor()
    const [entry] = (await asAdmin(gateway, 'GET', '/admin/audit?kind=router&limit=1')).body.data
    expect(entry).to.include({ event: 'activated', reason: 'Better on haikus' })

    await page.getByRole('button', { name: 'Roll back' }).click()
    await dialog.getByLabel('Reason').fill('Worse on theorems')
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await page.getByRole('button', { name: 'Activate' }).waitFor()
    const [rolledBack] = (await asAdmin(gateway, 'GET', '/admin/audit?kind=router&limit=1')).body.data
    expect(rolledBack.event).to.equal('rolled_back')
  })
})
