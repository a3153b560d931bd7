import { expect } from 'chai'
import { useConsole } from '../../support/console-suite.ts'
import { AS_ADMIN } from '../../support/gateway.ts'
import { newOperator } from '../../support/operators.ts'
import { asAdmin, firewallRule, newPolicy } from '../../support/policies.ts'

describe('pages of the console', () => {
  const console = useConsole()

  it('lead through the first steps, until there are a request and a policy', async () => {
    const { page, open, checkAccessibility, shoot } = console.window
    await open('/overview')
    const steps = page.getByRole('region', { name: 'First steps' })
    await steps.getByText('the built-in sandbox answers').waitFor()
    await steps.getByRole('button', { name: 'Create another user' }).click()
    await page.getByLabel('Name').fill('Ada')
    await page.getByLabel('Reason').fill('The first one')
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    const key = (await steps.locator('code.secret').textContent()) ?? ''
    const line = (await steps.locator('pre').textContent()) ?? ''
    expect(line).to.contain(`Bearer ${key}`).and.to.contain(`${console.gateway.url}/v1/chat/completions`)
    await steps.getByText('Waiting for the first request…').waitFor()
    await checkAccessibility('the first steps')
    await shoot('first-steps')

    const body = JSON.parse(/-d '(.*)'/.exec(line)?.[1] ?? '')
    const headers = { authorization: `Bearer ${key}` }
    const answer = await console.gateway.call('POST', '/v1/chat/completions', body, headers)
    expect(answer.status).to.equal(200)
    await steps.getByText('It is among the requests.').waitFor()
    await steps.getByRole('button', { name: 'Show its effect' }).click()
    await steps.getByText('The provider would get: Write to [redacted]').waitFor()
    await steps.getByRole('button', { name: 'Make the policy' }).click()
    await page.getByLabel('Reason').fill('Addresses stay here')
    await page.getByRole('dialog').getByRole('button', { name: 'Make', exact: true }).click()
    await steps.waitFor({ state: 'detached' })
    const policies = await asAdmin(console.gateway, 'GET', '/admin/policies')
    expect(policies.body.data[0]).to.deep.include({ name: 'Personal data', applies_to: { everyone: true } })
  })

  it('show the figures of the last minutes as requests end', async () => {
    const { page, open, checkAccessibility } = console.window
    await open('/overview?live=true')
    await page.getByText('live', { exact: true }).first().waitFor()
    const requests = page.locator('.stat', { hasText: /^Requests/ }).locator('dd')
    const before = Number(await requests.textContent())
    const body = { model: 'auto', messages: [{ role: 'user', content: 'Hello' }] }
    for (let n = 0; n < 3; n++) await console.gateway.call('POST', '/v1/chat/completions', body)
    await requests.filter({ hasText: new RegExp(`^${before + 3} ?$`) }).waitFor()
    await page.getByRole('img', { name: /^Requests: Answered at most [1-9]/ }).waitFor()
    await checkAccessibility('live figures')
  })

  it('filter the audit trail by actor and time', async () => {
    const { page, open } = console.window
    const operator = await newOperator(console.gateway, 'editor', 'Grace')
    await console.gateway.call('POST', '/admin/groups', { name: 'By Grace' }, operator.headers)
    await open('/audit')
    await page.getByLabel('Actor').selectOption('Grace')
    await page.getByText('added the group “By Grace”').waitFor()
    await page.getByRole('button', { name: /^Range: / }).click()
    const range = page.getByRole('form', { name: 'Custom range' })
    await range.getByRole('textbox', { name: 'From' }).fill('2020-02-29T12:00')
    await range.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('added the group “By Grace”').waitFor()
    expect(page.url()).to.match(/from=2020-0[23]-[0-9]{2}T/)
    await page.getByRole('button', { name: 'Earlier' }).click()
    await page.getByText('No changes match.').waitFor()
  })

  it('have an address for each key and each operator, which leads to it', async () => {
    const { page, open, checkAccessibility } = console.window
    const operator = await newOperator(console.gateway, 'auditor', 'Katherine')
    const { body } = await asAdmin(console.gateway, 'POST', '/admin/users/1/keys', { name: 'laptop' })
    const current = page.locator('[aria-current=true]')

    await open('/users/1')
    await page.getByRole('link', { name: body.data.id }).click()
    await current.getByText('laptop').waitFor()
    expect(page.url()).to.contain(`/users/1?key=${body.data.id}`)

    await open(`/operators?operator=${operator.id}`)
    await current.getByText('Katherine').waitFor()
    await checkAccessibility('an operator by its address')
  })

  it('travel back over more changes than are read at once, and to a time', async () => {
    const { page, open, checkAccessibility } = console.window
    const policy = await newPolicy(console.gateway, {
      name: 'Old',
      firewall: [firewallRule({ name: 'First' })],
    })
    const rule = `${policy.path}/firewall-rules/${policy.ruleIds[0]}`
    const first = await asAdmin(console.gateway, 'GET', '/admin/audit?kind=firewall&limit=1')
    for (let n = 0; n < 6; n++) await asAdmin(console.gateway, 'PATCH', rule, { pattern: `pattern ${n}` })
    await page.route('**/admin/audit?*', (route) => {
      const url = new URL(route.request().url())
      url.searchParams.set('limit', '2')
      return route.continue({ url: url.href })
    })
    await open('/time')
    const slider = page.getByRole('slider')
    expect(await slider.getAttribute('max')).to.equal('2')
    await page.getByRole('button', { name: 'Earlier changes' }).click()
    await page.locator('input[type=range][max="4"]').waitFor()
    await slider.press('Home')
    await page.locator('del', { hasText: 'pattern 2' }).waitFor()
    await checkAccessibility('time travel')

    await open(`/time?at=${first.body.data[0].position}`)
    await page.locator('del', { hasText: 'secret' }).waitFor()
    await page.getByLabel('Time, or empty for now').fill('2020-01-01T00:00')
    await page.getByRole('button', { name: 'Go' }).click()
    await page.getByText('No rule was changed before then.').waitFor()
    await page.getByLabel('Time, or empty for now').fill('')
    await page.getByRole('button', { name: 'Go' }).click()
    await page.getByText('changed since').waitFor({ state: 'detached' })
    await policy.remove()
  })

  it('reorder rules by dragging, and with the keyboard', async () => {
    const { page, open } = console.window
    const policy = await newPolicy(console.gateway, {
      name: 'Ordered',
      firewall: ['One', 'Two', 'Three'].map((name) => firewallRule({ name })),
    })
    await open(policy.path.replace('/admin', ''))
    const rules = page.getByRole('region', { name: 'Firewall rules' })
    const names = () => rules.locator('td:first-child b').allTextContents()
    expect(await names()).to.deep.equal(['One', 'Two', 'Three'])
    await page.getByRole('row', { name: /Three/ }).dragTo(page.getByRole('row', { name: /One/ }))
    await rules.getByRole('status').getByText('Three is number 1 of 3').waitFor({ state: 'attached' })
    expect(await names()).to.deep.equal(['Three', 'One', 'Two'])

    await page.getByRole('button', { name: 'Move Three down' }).focus()
    await page.keyboard.press('Enter')
    await rules.getByRole('status').getByText('Three is number 2 of 3').waitFor({ state: 'attached' })
    expect(await names()).to.deep.equal(['One', 'Three', 'Two'])
    await page.keyboard.press('Enter')
    await rules.getByRole('status').getByText('Three is number 3 of 3').waitFor({ state: 'attached' })
    expect(await page.evaluate('document.activeElement.ariaLabel')).to.equal('Move Three up')
    await page.keyboard.press('Enter')
    await rules.getByRole('status').getByText('Three is number 2 of 3').waitFor({ state: 'attached' })
    expect(await names()).to.deep.equal(['One', 'Three', 'Two'])

    await page.getByRole('button', { name: 'Review and save' }).click()
    await page.getByLabel('Reason').fill('Three before two')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { body } = await console.gateway.call('GET', `${policy.path}/firewall-rules`, undefined, AS_ADMIN)
    const byPriority = body.data.toSorted((a: { priority: number }, b: typeof a) => b.priority - a.priority)
    expect(byPriority.map(({ name }: { name: string }) => name)).to.deep.equal(['One', 'Three', 'Two'])
    await policy.remove()
  })

  const PAGES =
    '/overview /policies /audit /time /requests /usage /routing /simulator /users /groups /operators /users/1'

  it('has no violation of axe on any page, has enough contrast in the dark, and fits on a phone', async () => {
    const { window } = console
    const { page } = window
    await page.setViewportSize({ width: 1024, height: 700 })
    for (const address of PAGES.split(' ')) {
      const name = address.replaceAll('/', '-')
      await window.open(address)
      await window.checkAccessibility(address)
      await window.shoot(`light${name}`)

      await page.emulateMedia({ colorScheme: 'dark' })
      await window.checkAccessibility(`${address} in the dark`, ['color-contrast'])
      await window.shoot(`dark${name}`)
      await page.emulateMedia({ colorScheme: 'light' })

      await page.setViewportSize({ width: 390, height: 760 })
      await window.checkAccessibility(`${address} on a phone`)
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect(overflow, `${address} on a phone`).to.be.at.most(0)
      await page.setViewportSize({ width: 1024, height: 700 })
    }
  })
})
