import { expect } from 'chai'
import type { Page, Response, Route } from 'playwright-core'
import { useConsole } from '../../support/console-suite.ts'
import { newUser } from '../../support/new-user.ts'
import { newOperator } from '../../support/operators.ts'
import { asAdmin, newPolicy } from '../../support/policies.ts'

/** The pages of operators, and what they say when there is nothing to show. */
const EMPTY_PAGES: Readonly<Record<string, RegExp>> = {
  '/policies': /There are no policies/,
  '/audit': /No changes match/,
  '/time': /There are no users yet/,
  '/requests': /No requests match/,
  '/usage': /There were no requests/,
  '/routing': /No version has been trained/,
  '/users': /There are no users yet/,
  '/groups': /There are no groups/,
  '/operators': /There are no operators/,
}

/** Pages about one object. The ids are of nothing. */
const DETAIL_PAGES = ['/policies/999999', '/users/999999', '/groups/999999', '/requests/req_none']

/** Pages that read something when they open. The simulator asks for a user only. */
const READING_PAGES = ['/overview', ...Object.keys(EMPTY_PAGES), ...DETAIL_PAGES]

const isData = (url: URL) => /^\/(admin|v1)\//.test(url.pathname)

const isList = ({ pathname }: URL) =>
  /^\/admin\/(policies|audit|requests|usage|routers|users|groups|operators)$/.test(pathname)

/** Answers what pages read, and nothing that they send. */
async function answerReads(page: Page, answer: (route: Route) => Promise<void>): Promise<void> {
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.route(isData, (route) => (route.request().method() === 'GET' ? answer(route) : route.continue()))
}

/** Follows a link to a page, and waits until it has replaced the one before. */
async function visit(page: Page, address: string): Promise<void> {
  await page.evaluate(`document.querySelector('main h1').className = 'before'`)
  await page.evaluate(`location.hash = ${JSON.stringify(address)}`)
  await page.locator('main h1:not(.before)').waitFor()
}

describe('states of the pages of the console', function () {
  this.timeout(120_000)
  const console = useConsole()

  it('say that they are loading', async () => {
    const { page } = console.window
    const held: Route[] = []
    await answerReads(page, async (route) => void held.push(route))
    for (const address of READING_PAGES) {
      await visit(page, address)
      await page.getByRole('status').filter({ hasText: 'Loading…' }).first().waitFor()
      expect(await page.getByRole('alert').count(), address).to.equal(0)
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  it('say why the gateway did not answer, and try again', async () => {
    const { page } = console.window
    const error = { message: 'The ledger is unavailable. Retry later.', type: 'api_error' }
    for (const address of READING_PAGES) {
      await answerReads(page, (route) => route.fulfill({ status: 503, json: { error } }))
      await visit(page, address)
      const alert = page.getByRole('alert').first()
      await alert.getByText(error.message).waitFor()
      if (address === '/requests') {
        await console.window.checkAccessibility('an error')
        await page.unrouteAll({ behavior: 'ignoreErrors' })
        await alert.getByRole('button', { name: 'Try again' }).click()
        await page.getByText('No requests match.').waitFor()
        expect(await page.getByRole('alert').count()).to.equal(0)
      }
    }
  })

  it('say that the gateway does not respond', async () => {
    const { page } = console.window
    for (const address of READING_PAGES) {
      await answerReads(page, (route) => route.abort('connectionrefused'))
      await visit(page, address)
      await page.getByRole('alert').first().getByText('The gateway does not respond.').waitFor()
    }
  })

  it('say that there is nothing to show', async () => {
    const { page } = console.window
    await answerReads(page, (route) =>
      isList(new URL(route.request().url()))
        ? route.fulfill({ json: { data: [], next_cursor: null } })
        : route.continue(),
    )
    for (const [address, text] of Object.entries(EMPTY_PAGES)) {
      await visit(page, address)
      await page.getByText(text).first().waitFor()
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    for (const address of DETAIL_PAGES) {
      await visit(page, address)
      await page.getByRole('alert').first().waitFor()
    }
  })
})

/** What each role may not do. The names of buttons that do it. */
const REFUSED = {
  auditor:
    /^(New|Add|Edit|Delete|Remove|Rotate|Revoke|Settings|Set a|Change|Move|Train|Roll|Activate|Good|Make)/,
  editor: /^(New user|New key|New operator|Rotate|Revoke|Set a budget|Change$|Change role)/,
} as const

describe('roles in the console', function () {
  this.timeout(120_000)
  const console = useConsole()

  /** Opens pages with a key, and returns what was refused and the buttons that were shown. */
  async function walk(key: string, addresses: readonly string[]) {
    const { window } = console
    const refused: string[] = []
    const note = (response: Response) => {
      if ([401, 403].includes(response.status())) refused.push(`${response.status()} ${response.url()}`)
    }
    await window.signIn(key)
    window.page.on('response', note)
    const buttons = new Map<string, readonly string[]>()
    for (const address of addresses) {
      await window.open(address)
      const names = await window.page.locator('main button').evaluateAll((all) =>
        // Runs in the page, where types of the DOM are not known here.
        all.map((button) => button.getAttribute('aria-label') ?? button.textContent ?? ''),
      )
      buttons.set(address, names)
    }
    window.page.off('response', note)
    return { refused, buttons }
  }

  it('show operators nothing that the gateway refuses', async () => {
    const user = await newUser(console.gateway)
    const group = (await asAdmin(console.gateway, 'POST', '/admin/groups', { name: 'Staff' })).body.data
    const policy = await newPolicy(console.gateway, { firewall: [{ ...RULE }] })
    const messages = [{ role: 'user', content: 'Hello' }]
    const answer = await user.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })
    const request = answer.headers.get('x-request-id')
    const addresses = [
      ...['/overview', '/playground', '/simulator', ...Object.keys(EMPTY_PAGES)],
      `/users/${user.id}`,
      `/groups/${group.id}`,
      policy.path.replace('/admin', ''),
      `/requests/${request}`,
    ]
    for (const role of ['auditor', 'editor'] as const) {
      const operator = await newOperator(console.gateway, role)
      const { refused, buttons } = await walk(operator.key, addresses)
      expect(refused, role).to.deep.equal([])
      for (const [address, names] of buttons) {
        const forbidden = names.filter((name) => REFUSED[role].test(name))
        expect(forbidden, `${role} ${address}`).to.deep.equal([])
      }
    }
    await policy.remove()
  })

  it('show users on both plans nothing that the gateway refuses', async () => {
    for (const plan of ['paid', 'free']) {
      const user = await newUser(console.gateway, plan)
      const messages = [{ role: 'user', content: 'Hello' }]
      const answer = await user.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })
      const request = answer.headers.get('x-request-id')
      const addresses = [
        '/home',
        '/playground',
        '/rules',
        '/audit',
        '/requests',
        '/usage',
        '/simulator',
        `/requests/${request}`,
      ]
      const { refused } = await walk(user.key, plan === 'paid' ? [...addresses, '/time'] : addresses)
      expect(refused, plan).to.deep.equal([])
      const { window } = console
      for (const address of ['/overview', '/users', '/policies/1', ...(plan === 'free' ? ['/time'] : [])]) {
        await window.open(address)
        await window.page.getByText('There is no such page for you.').waitFor()
      }
      expect(await window.page.getByRole('link', { name: 'Time travel' }).count()).to.equal(
        plan === 'paid' ? 1 : 0,
      )
    }
  })
})

const RULE = {
  name: 'A rule',
  is_enabled: true,
  priority: 0,
  scope: 'prompt',
  type: 'substring',
  pattern: 'secret',
  action: 'block',
}
