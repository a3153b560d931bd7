import { expect } from 'chai'
import { chatBody } from '../../support/bodies.ts'
import { checkScreensOf } from '../../support/browser.ts'
import { setBudget } from '../../support/budgets.ts'
import { useConsole } from '../../support/console-suite.ts'
import { AS_ADMIN } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { newOperator } from '../../support/operators.ts'

describe('the page of keys in a browser', () => {
  const suite = useConsole()

  it('finds the keys of all users, and rotates and revokes one', async () => {
    const { gateway, window } = suite
    const { page } = window
    const ada = await newUser(gateway, 'paid', 'Ada')
    await newUser(gateway, 'paid', 'Grace')
    const terms = { name: 'Batch job', models: ['gpt-4o'], expires_at: '2099-12-31T00:00:00Z' }
    const { body } = await gateway.call('POST', `/admin/users/${ada.id}/keys`, terms, AS_ADMIN)
    const { id, key } = body.data
    await setBudget(gateway, `/admin/keys/${id}/budget`, { limit_usd: 50 })
    const headers = { authorization: `Bearer ${key}` }
    await gateway.call('POST', '/v1/chat/completions', chatBody('Hello', { model: 'gpt-4o' }), headers)

    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    const rows = page.getByRole('row')
    const row = rows.filter({ hasText: 'Batch job' })
    for (const text of ['Ada', 'active', 'gpt-4o', '$50.00 in total'])
      await row.getByText(text).first().waitFor()
    await rows.filter({ hasText: 'Grace' }).getByText('never').first().waitFor()
    await checkScreensOf(window, 'keys')
    await page.getByLabel('Key or user').fill('batch')
    await page.getByLabel('Key or user').press('Enter')
    await rows.filter({ hasText: 'Grace' }).waitFor({ state: 'detached' })
    expect(await rows.count()).to.equal(2)

    await row.getByRole('link', { name: 'Batch job' }).click()
    await page.getByRole('heading', { name: 'Batch job' }).waitFor()
    await page.getByRole('region', { name: 'Budget' }).getByText('of $50.00 in total').waitFor()
    await checkScreensOf(window, 'key')
    await page.getByRole('button', { name: 'Rotate' }).click()
    await page.getByLabel('Reason').fill('Once a year')
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
    await page.getByText(/^tr_/).waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByLabel('Reason').fill('Was in a log')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('revoked', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Rotate' }).count()).to.equal(0)
    const refused = await gateway.call('GET', '/v1/models', undefined, headers)
    expect(refused.status).to.equal(401)

    await window.open(`/keys?user=${ada.id}&state=active`)
    await rows.filter({ hasText: 'Batch job' }).waitFor()
    const { data } = (
      await gateway.call('GET', `/admin/keys?user=${ada.id}&state=active`, undefined, AS_ADMIN)
    ).body
    expect(await rows.count()).to.equal(1 + data.length)
    await window.open('/keys?q=nobody')
    await page.getByText('No name contains “nobody”.').waitFor()
    await window.open('/keys/key_unknown')
    await page.getByRole('alert').getByText('There is no such key').waitFor()
  })

  it('shows operators with a scope those of their users, and auditors no buttons', async () => {
    const { gateway, window } = suite
    const { page } = window
    const member = await newUser(gateway, 'paid', 'Katherine')
    await newUser(gateway, 'paid', 'Dorothy')
    const group = (await gateway.call('POST', '/admin/groups', { name: 'Orbits' }, AS_ADMIN)).body.data.id
    await gateway.call('PUT', `/admin/groups/${group}/members/${member.id}`, undefined, AS_ADMIN)
    const sue = await newOperator(gateway, 'auditor', 'Sue', { scope: { groups: [group] } })
    await window.signIn(sue.key)
    await window.open('/keys')
    await page.getByRole('row').filter({ hasText: 'Katherine' }).waitFor()
    expect(await page.getByRole('row').count()).to.equal(2)
    expect(await page.getByRole('button', { name: 'New key' }).count()).to.equal(0)
    await window.open(`/keys/${member.keyId}`)
    await page.getByRole('heading', { name: 'Unnamed key' }).waitFor()
    expect(await page.getByRole('button', { name: 'Revoke' }).count()).to.equal(0)
  })
})
