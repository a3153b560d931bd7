import { expect } from 'chai'
import { useConsole } from '../../support/console-suite.ts'
import { AS_ADMIN } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { firewallRule, newPolicy } from '../../support/policies.ts'

const PAGE_SIZE = 500
const USERS = 3000

/** A page of many users, as `GET /admin/users` returns it. */
function pageOfUsers(address: string): object {
  const first = Number(new URL(address).searchParams.get('cursor') ?? '1')
  const data = Array.from({ length: PAGE_SIZE }, (_, index) => {
    const id = first + index
    // Rows of different heights.
    const name = id % 7 === 0 ? `user ${id} ${'long name '.repeat(30)}` : `user ${id}`
    return { id, name, plan: 'paid', groups: [], keys: [], created_at: '2026-03-01T00:00:00.000Z' }
  })
  const next = first + PAGE_SIZE
  return { data, next_cursor: next > USERS ? null : String(next) }
}

describe('long lists of the console', () => {
  const console = useConsole()

  it('have few rows in the document, and load as they are scrolled', async () => {
    const { page, open, checkAccessibility } = console.window
    await page.route('**/admin/users?*', (route) =>
      route.fulfill({ json: pageOfUsers(route.request().url()) }),
    )
    await open('/users')
    const rows = page.locator('tbody tr')
    await page.getByRole('link', { name: 'user 1', exact: true }).waitFor()
    const last = page.getByRole('link', { name: `user ${USERS}`, exact: true })
    let most = 0
    while (!(await last.isVisible())) {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))')
      most = Math.max(most, await rows.count())
    }
    expect(most).to.be.within(50, 250)
    const row = page.locator('tr', { has: last })
    expect(await row.getAttribute('aria-rowindex')).to.equal(String(USERS + 1))
    await checkAccessibility('the end of a long list')

    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)')
    await page
      .getByRole('link', { name: /^user 1[45]\d\d$/ })
      .first()
      .waitFor()
    await page.evaluate('scrollTo(0, 0)')
    await page.getByRole('link', { name: 'user 1', exact: true }).waitFor()
  })

  it('of users are searched by name', async () => {
    const { page, open } = console.window
    await console.gateway.call('POST', '/admin/users', { name: 'Grace Hopper', plan: 'paid' }, AS_ADMIN)
    await open('/users')
    await page.getByRole('link', { name: 'demo' }).waitFor()
    await page.getByLabel('Name').fill('hopper')
    await page.getByLabel('Name').press('Enter')
    await page.getByRole('link', { name: 'demo' }).waitFor({ state: 'detached' })
    expect(await page.locator('tbody tr').count()).to.equal(1)
    expect(page.url()).to.contain('q=hopper')
    await open('/users?q=nobody')
    await page.getByText('No name contains “nobody”.').waitFor()
  })

  it('read what they show in one request, however many rows there are', async () => {
    const { page, open } = console.window
    const { gateway } = console
    const users = []
    for (const name of ['Ada', 'Grace', 'Katherine']) users.push(await newUser(gateway, 'paid', name))
    const messages = [{ role: 'user', content: 'a secret' }]
    const policies = []
    for (const name of ['One', 'Two', 'Three'])
      policies.push(
        await newPolicy(gateway, {
          name,
          firewall: [firewallRule({ name, pattern: 'secret', action: 'warn' })],
          applies_to: { users: users.map(({ id }) => id) },
        }),
      )
    for (const user of users) await user.call('POST', '/v1/chat/completions', { model: 'auto', messages })

    let requests: string[] = []
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url())
      // All pages show how many calls of tools wait for an approval.
      if (pathname.startsWith('/admin/') && pathname !== '/admin/approvals') requests.push(pathname + search)
    })
    const expectRequests = async (address: string, shown: string, paths: readonly string[]) => {
      requests = []
      await open(address)
      await page.reload()
      requests = []
      await page.getByText(shown).first().waitFor()
      await page.waitForLoadState('networkidle')
      expect(requests.map((path) => path.split('?')[0]).sort(), address).to.deep.equal(paths)
    }
    await expectRequests('/policies', 'Ada, Grace, Katherine', ['/admin/policies', '/admin/users'])
    await expectRequests('/requests', 'Katherine', ['/admin/requests', '/admin/users'])
    await expectRequests('/users', 'Katherine', ['/admin/users'])
    const usage = ['/admin/budget', '/admin/budget/shadow', '/admin/overview', '/admin/usage', '/admin/usage']
    await expectRequests('/usage?by=rule', 'Three (Three)', usage)
    await expectRequests('/usage?by=key', '(Katherine)', usage)
    for (const policy of policies) await policy.remove()
  })
})
