import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { useConsole } from '../../support/console-suite.ts'
import { newUser } from '../../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy } from '../../support/policies.ts'
import { waitUntil } from '../../support/wait.ts'

const REQUESTS = 3

describe('the range of time of the console', () => {
  const console = useConsole()

  before(async () => {
    const user = await newUser(console.gateway, 'paid')
    await newPolicy(console.gateway, { name: 'House', firewall: [firewallRule({ pattern: 'secret' })] })
    const messages = [{ role: 'user', content: 'Hello' }]
    for (let count = 0; count < REQUESTS; count++)
      await user.call('POST', '/v1/chat/completions', { model: 'auto', messages })
  })

  const parameters = (page: Page) => new URLSearchParams(new URL(page.url()).hash.split('?')[1] ?? '')
  const chart = (page: Page, name: RegExp) =>
    page.getByRole('figure').filter({ has: page.getByRole('img', { name }) })

  async function choose(page: Page, name: string): Promise<void> {
    await page.getByRole('button', { name: /^Range: / }).click()
    await page.getByRole('dialog', { name: 'Range of time' }).getByRole('button', { name }).click()
  }

  for (const preset of ['Last hour', 'Last 24 hours', 'Last 30 days'])
    it(`counts the same requests on all pages in ${preset}`, async () => {
      const { page, open } = console.window
      await open('/overview')
      await choose(page, preset)
      const stat = page.getByRole('definition').first()
      await stat.getByText(String(REQUESTS), { exact: true }).waitFor()
      await page.getByRole('link', { name: 'Usage', exact: true }).click()
      await page.getByRole('button', { name: `Range: ${preset}` }).waitFor()
      const cells = page.getByRole('table').getByRole('row').nth(1).getByRole('cell')
      expect(await cells.nth(1).textContent()).to.equal(String(REQUESTS))
      await page.getByRole('link', { name: 'Requests', exact: true }).click()
      await page.getByRole('button', { name: `Range: ${preset}` }).waitFor()
      await page.getByRole('table').waitFor()
      expect(await page.locator('tbody tr').count()).to.equal(REQUESTS)
    })

  it('is chosen by keyboard, moves, and goes with the address', async () => {
    const { page, open, checkAccessibility } = console.window
    await open('/audit')
    const button = page.getByRole('button', { name: /^Range: / })
    expect(await button.textContent()).to.contain('All time')
    await button.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Range of time' })
    await checkAccessibility('the choice of a range')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await button.press('Enter')
    await dialog.getByLabel('Zone').selectOption('utc')
    await dialog.getByRole('textbox', { name: 'From' }).fill('2026-03-01T09:10')
    await dialog.getByRole('textbox', { name: 'To' }).fill('2026-03-01T08:00')
    await dialog.getByText('The end must be after the start.').waitFor()
    await dialog.getByRole('textbox', { name: 'To' }).fill('2026-03-01T10:20')
    await dialog.getByRole('textbox', { name: 'To' }).press('Enter')
    await page.getByText('No changes match.').waitFor()
    const chosen = { from: '2026-03-01T09:10:00Z', to: '2026-03-01T10:20:00Z', zone: 'utc' }
    expect(Object.fromEntries(parameters(page))).to.deep.equal(chosen)
    await page.getByRole('button', { name: 'Earlier' }).click()
    await page.getByRole('button', { name: /8:00.*9:10/ }).waitFor()
    await page.getByRole('link', { name: 'Users', exact: true }).click()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('button', { name: /8:00.*9:10/ }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: /8:00.*9:10/ }).waitFor()
    await page.goBack()
    await page.goBack()
    await page.goBack()
    await page.getByRole('button', { name: /9:10.*10:20/ }).waitFor()
  })

  it('is that of a drag over a chart, whose clicks lead to the requests of a step', async () => {
    const { page, open, checkAccessibility } = console.window
    await open('/overview?zone=utc')
    const over = chart(page, /^Requests: /).locator('.u-over')
    // What loads above the chart moves it.
    await page.waitForLoadState('networkidle')
    const box = await over.boundingBox()
    if (box === null) throw new Error('The chart is not shown')
    const at = (share: number) => [box.x + box.width * share, box.y + box.height / 2] as const
    await page.mouse.move(...at(0.97))
    await page.getByText('Click for the requests').waitFor()
    const tooltip = await page.locator('.tooltip').boundingBox()
    expect((tooltip?.x ?? 0) + (tooltip?.width ?? 0)).to.be.within(box.x, box.x + box.width)
    await checkAccessibility('a chart with its values')
    await page.mouse.move(...at(0.5))
    await page.mouse.down()
    await page.mouse.move(...at(0.7))
    await page.mouse.move(...at(0.99))
    await page.mouse.up()
    await page.waitForURL(/to=/)
    const [from, to] = ['from', 'to'].map((name) => Date.parse(parameters(page).get(name) ?? ''))
    const hours = (Number(to) - Number(from)) / 3_600_000
    expect(hours).to.be.within(11, 13)
    expect(parameters(page).get('zone')).to.equal('utc')

    await page.goBack()
    await page.getByRole('button', { name: 'Range: Last 24 hours' }).waitFor()
    await page.mouse.move(...at(0.8))
    await page.mouse.move(...at(0.99))
    await page.getByText('Click for the requests').waitFor()
    await page.mouse.click(...at(0.99))
    await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor()
    const step = ['from', 'to'].map((name) => Date.parse(parameters(page).get(name) ?? ''))
    expect(Number(step[1]) - Number(step[0])).to.equal(3_600_000)
  })

  it('has the values of a chart as a table, whose times lead to the requests', async () => {
    const { page, open, checkAccessibility } = console.window
    await open('/overview?from=1h')
    const requests = chart(page, /^Requests: Answered at most \d/)
    await requests.getByText('Table').click()
    await requests.getByRole('table').waitFor()
    const rows = requests.getByRole('row')
    expect(await rows.count()).to.equal(61)
    const filled = rows.filter({ hasText: /[1-9]\d*0$/ }).last()
    await checkAccessibility('the table of a chart')
    await filled.getByRole('link').click()
    await page.getByRole('table').getByText('200').first().waitFor()
  })

  it('says that what rules did is not known of requests that are no longer recorded', async () => {
    const { page, open } = console.window
    await page.route('**/admin/overview?*', async (route) => {
      const response = await route.fetch()
      const { data } = await response.json()
      for (const figures of [data.totals, ...data.series])
        Object.assign(figures, { blocks: null, masks: null })
      await route.fulfill({ response, json: { data } })
    })
    await open('/overview?from=30d')
    for (const label of ['Blocked', 'Masked']) {
      const figure = page.locator('.stat', { hasText: label }).getByTitle(/no longer recorded/)
      expect(await figure.textContent()).to.equal('–')
    }
    await page.unrouteAll()
  })

  it('marks changes of rules', async () => {
    const { page, open } = console.window
    const overview = await asAdmin(console.gateway, 'GET', '/admin/overview?range=1h')
    expect(overview.body.data.changes).to.have.length.above(0)
    for (const address of ['/overview', '/usage']) {
      await open(address)
      await page.getByRole('figure').first().getByText('Change of rules').waitFor()
    }
  })
})

describe('the theme of the console', () => {
  const console = useConsole()

  it('is that of the system, or the one that was chosen in this browser', async () => {
    const { page, open } = console.window
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    await open('/overview')
    const light = await background()
    await page.emulateMedia({ colorScheme: 'dark' })
    const dark = await background()
    expect(dark).to.not.equal(light)
    await page.getByLabel('Theme').selectOption('light')
    expect(await background()).to.equal(light)
    await page.reload()
    await page.getByRole('img', { name: /^Requests: / }).waitFor()
    expect(await background()).to.equal(light)
    await page.getByLabel('Theme').selectOption('system')
    expect(await background()).to.equal(dark)
  })

  it('colors the charts', async () => {
    const { page, open } = console.window
    const user = await newUser(console.gateway)
    const messages = [{ role: 'user', content: 'Hello' }]
    await user.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })
    await open('/overview?from=1h')
    await page.getByRole('img', { name: /^Requests: Answered at most 1/ }).waitFor()
    const pixels = () => page.evaluate('document.querySelector("canvas").toDataURL()')
    const light = await pixels()
    await page.getByLabel('Theme').selectOption('dark')
    await waitUntil(async () => (await pixels()) !== light)
    await page.getByLabel('Theme').selectOption('light')
    await waitUntil(async () => (await pixels()) === light)
  })
})
