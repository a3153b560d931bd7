import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { checkScreensOf } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import { AS_ADMIN, startGatewayOnFiles } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { newOperator } from '../../support/operators.ts'

describe('the page of evidence in a browser', () => {
  const suite = useConsole(() => startGatewayOnFiles())

  it('signs, saves, proves and compares checkpoints', async () => {
    const { gateway, window } = suite
    const { page } = window
    await page.getByRole('link', { name: 'Evidence', exact: true }).click()
    await page.getByText('No checkpoint was signed yet.').waitFor()
    await page.getByText('no contradiction known').waitFor()
    await checkScreensOf(window, 'no-evidence')

    await newUser(gateway, 'paid', 'Ada')
    await page.getByRole('button', { name: 'Sign a checkpoint' }).click()
    const list = page.getByRole('region', { name: 'Checkpoints' })
    await list.getByRole('button', { name: 'Save' }).waitFor()
    await page.getByText('no contradiction known').waitFor()
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save the checkpoint' }).click()
    const saved = await readFile(await (await saving).path(), 'utf8')
    const newest = await fetch(`${gateway.url}/admin/audit/checkpoint`, { headers: AS_ADMIN })
    expect(saved).to.equal(await newest.text())

    await page.getByLabel('Position').fill('2')
    await page.getByLabel('Position').press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('verified', { exact: true }).waitFor()
    await dialog.getByText('This event is in the signed log of').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()

    const check = page.getByRole('region', { name: 'Check a saved checkpoint' })
    const compare = async (note: string, outcome: string) => {
      await check.getByLabel('Checkpoint').fill(note)
      await check.getByRole('button', { name: 'Check' }).click()
      await check.getByText(outcome, { exact: true }).waitFor()
    }
    await compare(saved, 'the same')
    const [origin, size = '', root = ''] = saved.split('\n')
    const otherRoot = Buffer.from(root, 'base64').reverse().toString('base64')
    await compare(saved.replace(root, otherRoot), 'not the same')
    await check.getByText('The log has another checkpoint over its first').waitFor()
    await compare(saved.replace(`\n${size}\n`, `\n${Number(size) + 1}\n`), 'not the same')
    await check.getByText('The log has no checkpoint over its first').waitFor()
    await compare(`${origin}`, 'not compared')
    await check.getByText('This is no checkpoint').waitFor()
    await checkScreensOf(window, 'evidence')
  })

  it('is for operators who see everything', async () => {
    const { gateway, window } = suite
    const auditor = await newOperator(gateway, 'auditor', 'Otto')
    await window.signIn(auditor.key)
    await window.open('/evidence')
    await window.page.getByRole('button', { name: 'Sign a checkpoint' }).waitFor()
    const group = (await gateway.call('POST', '/admin/groups', { name: 'Service' }, AS_ADMIN)).body.data.id
    const scoped = await newOperator(gateway, 'admin', 'Sue', { scope: { groups: [group] } })
    await window.signIn(scoped.key)
    expect(await window.page.getByRole('link', { name: 'Evidence' }).count()).to.equal(0)
  })
})
