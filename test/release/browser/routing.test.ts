import { expect } from 'chai'
import { useConsole } from '../../support/console-suite.ts'
import { startGateway } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { asAdmin } from '../../support/policies.ts'
import { goodAt, trainedData, writeVersions } from '../../support/routers.ts'
import { withSettings } from '../../support/settings.ts'

describe('the page "Routing" of the console', () => {
  const console = useConsole(async () => startGateway(await withSettings('routing: { learned: "on" }\n')))

  it('shows versions with their figures, activates one with a reason, and rolls back', async () => {
    const { gateway, window } = console
    const { dataDir } = gateway
    const models = { 'gpt-4o': goodAt('haiku', dataDir) }
    const curve = [0.5, 0.8].map((quality, cost) => [cost, quality])
    const interval = (value: number) => ({ value, low: value - 0.01, high: value + 0.01 })
    const strategies = {
      version: { quality: interval(0.7), apgr: 0.68, curve },
      length: { quality: interval(0.62), apgr: 0.5, gain: interval(0.08), curve },
    }
    const by_cluster = [{ name: '1 (median length 80)', prompts: 120, better: true, gain: interval(0.05) }]
    const figures = { better: true, better_on_known_kinds: true, new_kinds: {}, strategies, by_cluster }
    await writeVersions(dataDir, [trainedData(1, dataDir, { models, figures })])
    // This change waits until the node has applied the events before it.
    await newUser(gateway)

    await window.open('/routing')
    const { page } = window
    await page.getByText('Version 1 is better than all baselines').waitFor()
    await page.getByRole('img', { name: 'Quality 0.500 to 0.800 at costs 0 to 1' }).waitFor()
    await page.getByText('gpt-4o (200)').waitFor()
    await page
      .getByRole('row', { name: 'length 0.620 (0.610 to 0.630) 0.500 0.080 (0.070 to 0.090)' })
      .waitFor()
    await page.getByRole('row', { name: '1 (median length 80) 120 0.050 (0.040 to 0.060)' }).waitFor()

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
