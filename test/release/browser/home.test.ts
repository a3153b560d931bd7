import { expect } from 'chai'
import { chatBody, firewallRuleBody, routingRuleBody } from '../../support/bodies.ts'
import { checkScreensOf } from '../../support/browser.ts'
import { setBudget } from '../../support/budgets.ts'
import { useConsole } from '../../support/console-suite.ts'
import { AS_ADMIN } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { newPolicy } from '../../support/policies.ts'

describe("the users' home in a browser", () => {
  const suite = useConsole()

  it('shows what the user used and has left, keys, models, rules and a quick start', async () => {
    const { gateway, window } = suite
    const { page } = window
    const user = await newUser(gateway, 'paid', 'Ada')
    const terms = { name: 'Batch job', models: ['gpt-4o'], expires_at: '2099-12-31T00:00:00Z' }
    await gateway.call('POST', `/admin/users/${user.id}/keys`, terms, AS_ADMIN)
    await setBudget(gateway, `/admin/users/${user.id}/budget`, { limit_usd: 50, period: 'month' })
    const confidential = await newPolicy(gateway, {
      name: 'Secrets',
      visibility: 'name',
      firewall: [firewallRuleBody({ name: 'Plans', pattern: 'plan 9', action: 'block' })],
    })
    const open = await newPolicy(gateway, {
      name: 'Personal data',
      visibility: 'full',
      firewall: [firewallRuleBody({ name: 'Addresses', type: 'preset', pattern: 'email' })],
    })
    const route = { name: 'Code', match_json: { contains: 'code' }, action_json: { set_model: 'gpt-4o' } }
    await user.call('POST', '/v1/routing-rules', routingRuleBody(route))
    for (let n = 0; n < 3; n++)
      await user.call('POST', '/v1/chat/completions', chatBody('Hello', { model: 'gpt-4o' }))

    await window.signIn(user.key)
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    const stat = (label: string) => page.locator('.stat', { hasText: new RegExp(`^${label}`) })
    await stat('Requests').getByText('3', { exact: true }).waitFor()
    await page.getByRole('img', { name: /^Requests: / }).waitFor()
    const budget = page.getByRole('region', { name: 'Budgets' })
    await budget.getByText('Yours: $50.00 left of $50.00 per month').waitFor()

    const keys = page.getByRole('region', { name: 'API keys' })
    const row = (text: string) => keys.getByRole('row').filter({ hasText: text })
    await row('Batch job').getByText('gpt-4o').waitFor()
    await row(user.keyId).getByText('signed in').waitFor()
    expect(await keys.getByRole('row').count()).to.equal(3)

    const rules = page.getByRole('region', { name: 'What applies to your requests' })
    await rules.getByText('Blocks some requests. What it looks for is not shown.').waitFor()
    await rules.getByText('Plans, of the policy Secrets').waitFor()
    await rules.getByText('Masks what the preset email finds in requests.').waitFor()
    await rules.getByText('Requests with “code”: answered by gpt-4o.').waitFor()
    await rules.getByText('Code, your own rule').waitFor()

    const models = page.getByRole('region', { name: 'Models you may use' })
    await models.getByLabel('Model or provider').fill('GPT-4o-mini')
    await models.getByRole('row').filter({ hasText: 'gpt-4o-mini' }).first().waitFor()
    await models.getByRole('row').filter({ hasText: 'claude' }).first().waitFor({ state: 'detached' })
    await models.getByLabel('Model or provider').fill('no-such-model')
    await models.getByText('No model has “no-such-model” in its name.').waitFor()
    await models.getByLabel('Model or provider').fill('')

    const code = page.getByRole('region', { name: 'Quick start' })
    expect(await code.locator('pre').innerText()).to.contain(`${gateway.url}/v1/chat/completions`)
    await checkScreensOf(window, 'home')
    const content = await page.content()
    expect(content).not.to.contain('plan 9')
    expect(content).not.to.contain(user.key)
    await models.getByRole('link', { name: 'gpt-4o-mini', exact: true }).click()
    await page.getByRole('heading', { name: 'Playground' }).waitFor()
    expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).to.equal('openai/gpt-4o-mini')
    await confidential.remove()
    await open.remove()
  })

  it('says what to do where there is nothing yet', async () => {
    const { gateway, window } = suite
    const { page } = window
    const user = await newUser(gateway, 'free', 'Grace')
    await window.signIn(user.key)
    await page.getByText('You sent no requests in this range.').waitFor()
    await page.getByText('No limit on what you spend.').waitFor()
    await page.getByText('No rule applies to your requests.').waitFor()
    await checkScreensOf(window, 'home-empty')
    await page.getByRole('link', { name: 'playground', exact: true }).click()
    await page.getByRole('heading', { name: 'Playground' }).waitFor()
  })

  it('is for users only', async () => {
    const { window } = suite
    expect(await window.page.getByRole('link', { name: 'Home' }).count()).to.equal(0)
    await window.open('/home')
    await window.page.getByText('There is no such page for you.').waitFor()
  })
})
