import { expect } from 'chai'
import type { Locator, Page } from 'playwright-core'
import { checkScreensOf } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import { newUser } from '../../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy, routingRule } from '../../support/policies.ts'

describe('the forms of rules in the console', () => {
  const console = useConsole()

  const dialogOf = (page: Page) => page.getByRole('dialog')

  async function saveChanges(page: Page): Promise<void> {
    await dialogOf(page).getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('button', { name: 'Review and save' }).click()
    await page.getByLabel('Reason').fill('By form')
    await dialogOf(page).getByRole('button', { name: 'Save' }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
  }

  async function chooseModel(dialog: Locator, label: string, model: string): Promise<void> {
    const field = dialog.getByLabel(label, { exact: true })
    await field.fill(model)
    await dialog
      .getByRole('listbox')
      .getByRole('option', { name: new RegExp(`^${model} openai · \\$`) })
      .click()
    expect(await field.inputValue()).to.equal(model)
  }

  it('write a routing rule with conditions and a split by prices, without JSON', async () => {
    const { page, open, signIn } = console.window
    const user = await newUser(console.gateway, 'paid')
    await signIn(user.key)
    await open('/rules')
    const rules = page.getByRole('region', { name: 'Routing rules' })
    await rules.getByRole('button', { name: 'Add a rule' }).click()
    const dialog = dialogOf(page)
    await dialog.getByLabel('Name', { exact: true }).fill('Half and half')
    await dialog.getByLabel('Add a condition').selectOption('The prompt contains')
    await page.keyboard.type('contract\ninvoice')
    await dialog.getByLabel('Add a condition').selectOption('Metadata')
    await dialog.getByLabel('Name', { exact: true }).last().fill('urgent')
    await dialog.getByLabel('Is', { exact: true }).fill('true')
    await dialog.getByLabel('Add an action').selectOption('Split between models')
    await chooseModel(dialog, 'Model 1', 'gpt-4o')
    await chooseModel(dialog, 'Model 2', 'gpt-4o-mini')
    await dialog.getByText(/^On average · \$[\d.]+ in, \$[\d.]+ out per million tokens$/).waitFor()
    await dialog.getByLabel('Weight of gpt-4o', { exact: true }).fill('75')
    await dialog.getByText('75 %').waitFor()
    // The other of two models gets the rest.
    await dialog.getByText('25 %').waitFor()
    await checkScreensOf(console.window, 'rule-form-routing')
    await saveChanges(page)
    await rules.getByText('split: gpt-4o (75 %), gpt-4o-mini (25 %)').waitFor()

    const { body } = await user.call('GET', '/v1/routing-rules')
    expect(body.data[0]).to.deep.include({
      match_json: { contains: ['contract', 'invoice'], metadata_equals: { urgent: true } },
      action_json: {
        split: [
          { model: 'gpt-4o', weight: 75 },
          { model: 'gpt-4o-mini', weight: 25 },
        ],
      },
    })
  })

  it('keep what plugins have added to rules, and what JSON says', async () => {
    const { page, open } = console.window
    const action = {
      set_mode: 'cost',
      require: { region: 'eu', zdr: true },
      add_warning: { message: 'Slow' },
    }
    const match = { metadata_equals: { size: '5', team: 'blue' }, task: 'summary' }
    const policy = await newPolicy(console.gateway, {
      name: 'Kept',
      routing: [routingRule(action, { name: 'Old', match_json: match })],
    })
    await open(`/policies/${policy.id}`)
    await page.getByRole('button', { name: 'Edit Old' }).click()
    const dialog = dialogOf(page)
    await dialog.getByLabel('Priority').fill('4')
    expect(await dialog.getByLabel('Is', { exact: true }).first().inputValue()).to.equal('"5"')
    await dialog.getByRole('button', { name: 'JSON' }).click()
    await dialog.getByLabel('Conditions (match_json)').fill('{')
    await dialog.getByRole('button', { name: 'Apply' }).click()
    await dialog.getByText('This is not valid JSON.').waitFor()
    await dialog.getByLabel('Conditions (match_json)').fill(JSON.stringify({ ...match, task: 'letter' }))
    await dialog.getByRole('button', { name: 'Form' }).click()
    expect(await dialog.getByRole('textbox', { name: 'Task' }).inputValue()).to.equal('letter')
    await dialog.getByLabel('Region').fill('eu-west-1')
    await saveChanges(page)
    const { body } = await asAdmin(console.gateway, 'GET', `${policy.path}/routing-rules`)
    expect(body.data[0]).to.deep.include({
      priority: 4,
      match_json: { ...match, task: 'letter' },
      action_json: { ...action, require: { region: 'eu-west-1', zdr: true } },
    })
    await policy.remove()
  })

  it('say that no request could be evaluated, and nothing about how it would have been', async () => {
    const { page, open } = console.window
    const user = await newUser(console.gateway, 'paid')
    const messages = [{ role: 'user', content: 'Hello' }]
    await user.call('POST', '/v1/chat/completions', { model: 'auto', messages })
    const policy = await newPolicy(console.gateway, {
      name: 'Tried',
      firewall: [firewallRule({ name: 'Tried' })],
    })
    await open(`/policies/${policy.id}`)
    await page.getByRole('button', { name: 'Edit Tried' }).click()
    await dialogOf(page).getByLabel('Priority').fill('4')
    await dialogOf(page).getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('button', { name: 'Review and save' }).click()
    const effect = dialogOf(page).getByRole('region', { name: 'Effect' })
    await effect.getByRole('button', { name: 'Last 24h' }).click()
    await effect.getByText(/^No request could be evaluated/).waitFor()
    expect(await effect.getByText('latencies of the catalogue').count()).to.equal(0)
    await policy.remove()
  })

  it('write tool rules with tests of arguments', async () => {
    const { page, open } = console.window
    const policy = await newPolicy(console.gateway, { name: 'Tools' })
    await open(`/policies/${policy.id}`)
    await page.getByRole('region', { name: 'Tool rules' }).getByRole('button', { name: 'Add a rule' }).click()
    const dialog = dialogOf(page)
    await dialog.getByLabel('Name', { exact: true }).fill('Ask before mails')
    await dialog.getByRole('button', { name: 'Remove the condition Server' }).click()
    await dialog.getByLabel('Tool', { exact: true }).fill('send_mail')
    await dialog.getByLabel('Add a condition').selectOption('Arguments')
    await dialog.getByLabel('Path').fill('/to')
    await dialog.getByLabel('Test', { exact: true }).selectOption('matches the pattern')
    await dialog.getByLabel('Text', { exact: true }).fill('@(?!example')
    await dialog.getByText('Never matches:').waitFor()
    await dialog.getByLabel('Text', { exact: true }).fill('@(?!example\\.com$)')
    await dialog.getByText('Never matches:').waitFor({ state: 'hidden' })
    await dialog.getByLabel('Action').selectOption('require_approval')
    await checkScreensOf(console.window, 'rule-form-tool')
    await saveChanges(page)
    const { body } = await asAdmin(console.gateway, 'GET', `${policy.path}/tool-rules`)
    expect(body.data[0]).to.deep.include({
      match: { tool: 'send_mail', arguments: { '/to': { matches: '@(?!example\\.com$)' } } },
      action: 'require_approval',
    })
    await policy.remove()
  })

  it('say at once that a pattern never matches, to users as well', async () => {
    const { page, open, signIn } = console.window
    const policy = await newPolicy(console.gateway, {
      name: 'Patterns',
      firewall: [firewallRule({ name: 'Pins', type: 'regex', pattern: '\\d{4}' })],
    })
    await open(`/policies/${policy.id}`)
    await page.getByRole('button', { name: 'Edit Pins' }).click()
    await dialogOf(page).getByLabel('Pattern', { exact: true }).fill('(\\d{4}')
    await dialogOf(page)
      .getByText(/^Never matches: ./)
      .waitFor()
    await checkScreensOf(console.window, 'rule-form-firewall')
    await page.keyboard.press('Escape')
    await policy.remove()

    const user = await newUser(console.gateway, 'paid')
    await signIn(user.key)
    await open('/rules')
    await page
      .getByRole('region', { name: 'Firewall rules' })
      .getByRole('button', { name: 'Add a rule' })
      .click()
    await dialogOf(page).getByLabel('Type').selectOption('regex')
    await dialogOf(page).getByLabel('Pattern', { exact: true }).fill('a)')
    await dialogOf(page)
      .getByText(/^Never matches: ./)
      .waitFor()
    await dialogOf(page).getByLabel('Pattern', { exact: true }).fill('a')
    await dialogOf(page).getByLabel('Try it on a text').fill('banana')
    await dialogOf(page).getByText('3 matches').waitFor()
  })
})
