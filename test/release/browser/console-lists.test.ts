import { expect } from 'chai'
import { useConsole } from '../../support/console-suite.ts'
import { AS_ADMIN } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { firewallRule, newPolicy } from '../../support/policies.ts'

const PAGE_SIZE = 500
const USERS = 5000

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

const REQUESTS = 100_000

/** A page of many requests, as `GET /admin/requests` returns it. */
function pageOfRequests(query: URLSearchParams): object {
  const first = Number(query.get('cursor') ?? '1')
  const count = Math.min(Number(query.get('limit')), REQUESTS + 1 - first)
  const data = Array.from({ length: count }, (_, index) => toRequest(first + index))
  const next = first + count
  return { data, next_cursor: next > REQUESTS ? null : String(next) }
}

function toRequest(number: number): object {
  return {
    ...{ x_request_id: `req_${number}`, time: new Date(1.77e12 - number * 1000).toISOString() },
    ...{ user_id: (number % 50) + 1, key_id: 'key_1', group_ids: [], endpoint: '/v1/chat/completions' },
    ...{ outcome: 'answered', status: number % 40 === 0 ? 502 : 200, requested_model: 'auto' },
    ...{ routing_mode: 'balance', routing_reason: null, provider: 'openai', model: 'gpt-4o-mini' },
    ...{ deployment: null, attempts: [], rules_position: 7, warnings: [] },
    rule_trace:
      number % 9 === 0 ? [{ kind: 'firewall', rule_id: 1, action: 'mask', outcome: 'applied' }] : [],
    tokens: { input: 100 + (number % 900), cached: 0, cache_write: 0, output: number % 500, reasoning: 0 },
    ...{ cost_usd: (number % 1000) / 100, latency_ms: number % 3000, first_token_ms: null, stream: false },
    ...{ cache_hit: false, aborted: false, trace_id: null, session_id: null, router: null },
    ...{ routing_arm: null, shadow_of: null, signals: [], feedback: [] },
  }
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
    expect(most).to.be.within(40, 250)
    const row = page.locator('tr', { has: last })
    expect(await row.getAttribute('aria-rowindex')).to.equal(String(USERS + 1))
    await checkAccessibility('the end of a long list')

    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)')
    await page
      .getByRole('link', { name: /^user 2[45]\d\d$/ })
      .first()
      .waitFor()
    await page.evaluate('scrollTo(0, 0)')
    await page.getByRole('link', { name: 'user 1', exact: true }).waitFor()
  })

  it('of 100,000 requests stay as small, and are sorted up to 5,000', async () => {
    const { page, open } = console.window
    const limits: number[] = []
    await page.route('**/admin/requests?*', (route) => {
      const { searchParams } = new URL(route.request().url())
      limits.push(Number(searchParams.get('limit')))
      return route.fulfill({ json: pageOfRequests(searchParams) })
    })
    await open('/requests?from=365d')
    const last = page.locator(`tr[aria-rowindex="${REQUESTS + 1}"]`)
    let most = 0
    while ((await last.count()) === 0) {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))')
      most = Math.max(most, await page.locator('tbody tr').count())
    }
    expect(most).to.be.within(40, 250)
    // Pages grow, so that it takes few of them.
    expect(limits.length).to.be.at.most(150)
    await page.getByText('100K rows', { exact: true }).waitFor()
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)')
    await page.locator(`a[href*="req_${REQUESTS / 2}"]`).waitFor({ state: 'attached' })

    await page.unroute('**/admin/requests?*')
    let pages = 0
    await page.route('**/admin/requests?*', (route) => {
      pages += 1
      return route.fulfill({ json: pageOfRequests(new URL(route.request().url()).searchParams) })
    })
    await open('/requests?from=90d&sort=-Cost')
    await page.getByText(/^Sorted: the first 5,\d\d\d rows\. There are more\.$/).waitFor()
    const costs = await page.locator('tbody td.number:nth-last-child(2)').allTextContents()
    const sorted = costs.map((text) => Number(text.slice(1))).toSorted((a, b) => b - a)
    expect(costs.map((text) => Number(text.slice(1)))).to.deep.equal(sorted)
    const read = pages
    await page.evaluate('scrollTo(0, 2000)')
    await page.waitForLoadState('networkidle')
    expect(pages, 'pages that are read without a need').to.equal(read)
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
    await expectRequests('/requests', 'Katherine', [
      '/admin/request-figures',
      '/admin/requests',
      '/admin/users',
    ])
    await expectRequests('/users', 'Katherine', ['/admin/users'])
    const usage = ['/admin/budget', '/admin/budget/shadow', '/admin/overview', '/admin/usage', '/admin/usage']
    await expectRequests('/usage?by=rule', 'Three (Three)', usage)
    await expectRequests('/usage?by=key', '(Katherine)', usage)
    for (const policy of policies) await policy.remove()
  })
})
