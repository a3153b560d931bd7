import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { checkScreensOf } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import { AS_ADMIN } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { newOperator } from '../../support/operators.ts'
import { firewallRule, newPolicy } from '../../support/policies.ts'

describe('the audit trail of the console', () => {
  const console = useConsole()

  const sentences = (page: Page) => page.locator('.timeline li > p:first-child')

  it('says in sentences who changed what, from what to what', async () => {
    const { page, open } = console.window
    const { gateway } = console
    const ann = await newOperator(gateway, 'admin', 'Ann')
    const user = await newUser(gateway, 'free', 'Grace')
    const policy = await newPolicy(gateway, {
      name: 'House',
      firewall: [firewallRule({ name: 'No secrets', action: 'warn' })],
    })
    const path = `${policy.path}/firewall-rules/${policy.ruleIds[0]}`
    const pattern = 'a pattern that is too long for a sentence, and so is shown below it instead'
    await ann.call('PATCH', path, { action: 'block' })
    await ann.call('PATCH', path, { priority: 3, pattern: 'keys' })
    await ann.call('PATCH', path, { is_enabled: false })
    await ann.call('PATCH', path, { pattern })
    await ann.call('PATCH', policy.path, { applies_to: { users: [user.id] } })
    await ann.call('PATCH', `/admin/users/${user.id}`, { plan: 'paid' })
    const group = (await ann.call('POST', '/admin/groups', { name: 'Staff' })).body.data
    await ann.call('PUT', `/admin/groups/${group.id}/members/${user.id}`)
    await ann.call('DELETE', path)

    await open(`/audit?actor=${ann.id}`)
    await page.getByText('signed in').waitFor()
    const texts = (await sentences(page).allInnerTexts()).map((text) =>
      text.replace(/^\S+\s+Ann operator /, '').replace(/ · .*$/, ''),
    )
    expect(texts).to.deep.equal([
      'deleted the firewall rule “No secrets” of the policy House',
      'added the user Grace to the group “Staff”',
      'added the group “Staff”',
      'changed the plan of the user Grace from free to paid',
      'changed the scope of the policy “House” from everyone to users: Grace',
      'changed the pattern of the firewall rule “No secrets” of the policy House',
      'disabled the firewall rule “No secrets” of the policy House',
      'changed the firewall rule “No secrets” of the policy House: pattern from secret to keys, priority from 0 to 3',
      'changed the action of the firewall rule “No secrets” of the policy House from warn to block',
      'signed in',
    ])
    await page.locator('.diff ins', { hasText: pattern }).waitFor()
    await checkScreensOf(console.window, 'audit')

    await open(`/policies/${policy.id}`)
    await policy.remove()
  })

  it('says so to users, and in the history of a rule', async () => {
    const { page, open, signIn } = console.window
    const { gateway } = console
    const user = await newUser(gateway, 'paid', 'Grace')
    const rule = (await user.call('POST', '/v1/firewall-rules', firewallRule({ name: 'Mine' }))).body.data
    await user.call('PATCH', `/v1/firewall-rules/${rule.id}`, { action: 'mask' })
    const group = (await gateway.call('POST', '/admin/groups', { name: 'Crew' }, AS_ADMIN)).body.data
    await gateway.call('PUT', `/admin/groups/${group.id}/members/${user.id}`, undefined, AS_ADMIN)
    await signIn(user.key)
    await open('/audit')
    await page.getByText('added you to a group').waitFor()
    await page.getByText('changed the action of the firewall rule “Mine” from block to mask').waitFor()
    await open('/rules')
    await page.getByRole('button', { name: 'History of Mine' }).click()
    await page
      .getByRole('dialog')
      .getByText('changed the action of the firewall rule “Mine” from block to mask')
      .waitFor()
  })
})
