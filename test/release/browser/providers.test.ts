import { expect } from 'chai'
import { checkScreensOf, openWindow } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import {
  resetDeployments,
  startDeployments,
  type TwoDeployments,
  withDeployments,
} from '../../support/deployments.ts'
import { ADMIN_KEY, startGateway } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { newOperator } from '../../support/operators.ts'

describe('the page of providers in a browser', () => {
  let both: TwoDeployments
  const suite = useConsole(async () => {
    both = await startDeployments()
    const settings = {
      isSpareUsed: true,
      west: { weight: 3, region: 'eu', requests_per_minute: 600 },
      more: { breaker: { open_ms: 600_000 } },
    }
    return startGateway(await withDeployments(both, settings))
  })
  after(() => both?.close())

  it('shows how each provider does, and tests it', async () => {
    const { gateway, window } = suite
    const { page } = window
    const user = await newUser(gateway)
    const ask = (model: string) =>
      user.call('POST', '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] })
    resetDeployments(both)
    both.west.play({ status: 429, headers: { 'retry-after': '60' }, body: { error: { message: 'Later.' } } })
    await ask('openai/gpt-4o')
    both.spare.close()
    await ask('spare/some-model')

    await page.getByRole('link', { name: 'Providers', exact: true }).click()
    const row = (name: string) =>
      page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
    await row('spare').getByText('circuit open').waitFor()
    await row('spare').getByRole('link', { name: 'provider_unreachable' }).waitFor()
    await row('openai').getByText('50 %').waitFor()
    await row('openai').getByText('by deployment').waitFor()
    const unused = page.getByRole('region', { name: 'Not in use' })
    await unused.getByText('ANTHROPIC_API_KEY').waitFor()
    await checkScreensOf(window, 'providers')

    await row('openai').getByRole('link', { name: 'openai', exact: true }).click()
    const deployments = page.getByRole('region', { name: 'Deployments' })
    await deployments.getByRole('row').filter({ hasText: 'west' }).getByText('600', { exact: true }).waitFor()
    const models = page.getByRole('region', { name: 'Models that were called' })
    await models.getByText('at west').waitFor()
    await models.getByText(/^rate limit until in \d+ s$/).waitFor()
    both.east.play({ body: { data: [{ id: 'gpt-4o' }] } })
    both.west.play({ status: 401, body: { error: { message: 'Wrong.' } } })
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    const test = page.getByRole('region', { name: 'Test' })
    await test.getByText('The key was rejected (401). Check WEST_KEY.').waitFor()
    await test.getByText('1 models,').waitFor()
    await checkScreensOf(window, 'provider')
    expect(await page.content()).to.not.include('the-key-of')
  })

  it('tests all that have a key from the list, for editors', async () => {
    const { gateway, window } = suite
    const { page } = window
    resetDeployments(both)
    await window.open('/providers')
    await page.getByRole('button', { name: 'Test all' }).click()
    const test = page.getByRole('region', { name: 'Test' })
    for (const name of ['openai/east', 'openai/west', 'spare'])
      await test.getByRole('listitem').filter({ hasText: name }).waitFor()
    await window.signIn((await newOperator(gateway, 'auditor', 'Otto')).key)
    await window.open('/providers')
    await page.getByRole('table').waitFor()
    expect(await page.getByRole('button', { name: 'Test all' }).count()).to.equal(0)
    await window.open('/providers/unknown')
    await page.getByText('The settings have no provider unknown.').waitFor()
    await window.signIn((await newUser(gateway)).key)
    expect(await page.getByRole('link', { name: 'Providers', exact: true }).count()).to.equal(0)
  })

  it('says that the sandbox answers, and how to set a key', async () => {
    const gateway = await startGateway()
    const window = await openWindow(suite.browser, gateway.url)
    await window.signIn(ADMIN_KEY)
    await window.open('/providers')
    await window.page.getByText('No provider has a key, so the sandbox answers').waitFor()
    await checkScreensOf(window, 'no-providers')
    expect(window.problems).to.deep.equal([])
    await window.context.close()
    await gateway.stop()
  })
})
