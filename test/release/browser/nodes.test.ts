import { expect } from 'chai'
import { checkScreensOf } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import { startGatewayProcess } from '../../support/gateway-process.ts'
import { newUser } from '../../support/new-user.ts'
import { workerPids } from '../../support/workers.ts'

describe('the page of nodes in a browser', () => {
  const suite = useConsole(() => startGatewayProcess({ WORKERS: '2' }))

  it('shows the processes of the node that answers, and says that others are not known', async () => {
    const { gateway, window } = suite
    const { page } = window
    const pids = await workerPids(gateway, 2)
    await page.getByRole('link', { name: 'Nodes', exact: true }).click()
    const rows = page.locator('tbody').getByRole('row')
    await rows.nth(2).waitFor()
    const first = await rows.nth(1).innerText()
    expect(first).to.include('worker 1').and.include('serving').and.include('leader').and.include(pids.get(1))
    expect(await rows.nth(0).innerText())
      .to.include('primary')
      .and.include('watching')
    expect(await rows.nth(2).innerText())
      .to.include('worker 2')
      .and.not.include('leader')
    await page.getByText('The event log is a file of this node, so there are no other nodes.').waitFor()
    await checkScreensOf(window, 'nodes')
    await window.signIn((await newUser(gateway)).key)
    expect(await page.getByRole('link', { name: 'Nodes', exact: true }).count()).to.equal(0)
  })
})
