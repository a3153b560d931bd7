import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { chatBody, firewallRuleBody } from '../../support/bodies.ts'
import {
  checkScreensOf,
  openWindow,
  releaseBrowser,
  requireBrowser,
  type Window,
} from '../../support/browser.ts'
import { buildConsole } from '../../support/console.ts'
import { ADMIN_KEY, AS_ADMIN, type RunningGateway, startGateway } from '../../support/gateway.ts'
import { newUser, type TestUser } from '../../support/new-user.ts'
import { withSettings } from '../../support/settings.ts'

const CHAT = '/v1/chat/completions'
const SETTINGS = 'ledger: { record_prompts: masked, record_replies: true }\n'

describe('the page of a request', () => {
  let browser: Browser
  let gateway: RunningGateway
  let user: TestUser
  let window: Window

  before(async function () {
    browser = await requireBrowser(this)
    await buildConsole()
    const RECORD_KEY = randomBytes(32).toString('base64')
    gateway = await startGateway({ ...(await withSettings(SETTINGS)), RECORD_KEY })
    user = await newUser(gateway)
    const rule = firewallRuleBody({ name: 'Names', pattern: 'falcon', action: 'mask', replacement: '[name]' })
    expect((await user.call('POST', '/v1/firewall-rules', rule)).status).to.equal(201)
  })
  beforeEach(async () => {
    window = await openWindow(browser, gateway.url)
  })
  after(async () => {
    await releaseBrowser()
    await gateway?.stop()
  })
  afterEach(async () => {
    expect(window.problems).to.deep.equal([])
    await window.context.close()
  })

  async function ask(content: string, headers: Record<string, string> = {}): Promise<string> {
    const authorization = `Bearer ${user.key}`
    const answer = await gateway.call('POST', CHAT, chatBody(content), { authorization, ...headers })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.headers.get('x-request-id') ?? ''
  }

  const region = (name: string) => window.page.getByRole('region', { name, exact: true })

  it('tells what took time, what was said, what else the agent did, and how to ask again', async () => {
    const { page } = window
    const session = { 'x-session-id': 'run-7' }
    await ask('first', session)
    const id = await ask('the falcon flies', session)
    await window.signIn(ADMIN_KEY)
    await window.open(`/requests/${id}`)
    const steps = region('Where the time went')
    for (const step of ['Admit', 'Read the body', 'Decide', 'openai/gpt-4o'])
      await steps.getByRole('rowheader', { name: step }).waitFor()
    await region('The session around it').getByText('This one is step 2.').waitFor()
    expect(await region('As curl').textContent())
      .to.contain('"content": "…"')
      .and.to.contain('x-session-id: run-7')

    await region('Prompt and reply').getByRole('button', { name: 'Show what is recorded' }).click()
    const texts = region('Prompt and reply').getByRole('listitem')
    await texts.filter({ hasText: 'user' }).getByText('the [name] flies', { exact: true }).waitFor()
    await texts.filter({ hasText: 'reply' }).getByText('the [name] flies').waitFor()
    expect(await region('As curl').textContent()).to.contain('"content": "the [name] flies"')
    await checkScreensOf(window, 'request')
    const { body } = await gateway.call(
      'GET',
      `/admin/audit?kind=access&user=${user.id}`,
      undefined,
      AS_ADMIN,
    )
    expect(body.data[0].data.path).to.equal(`/admin/requests/${id}/prompt`)

    await page.getByRole('link', { name: 'Replay in the simulator' }).click()
    await page.getByText('The recorded prompt of').waitFor()
  })

  it('leads to those beside it in the list, also by keys', async () => {
    const { page } = window
    const [older, newer] = [await ask('older'), await ask('newer')]
    await window.signIn(ADMIN_KEY)
    await window.open(`/requests?user=${user.id}`)
    await page.locator(`a[href*="${newer}"]`).click()
    await page.getByRole('heading', { name: `Request ${newer}` }).waitFor()
    expect(await page.getByRole('button', { name: 'Previous' }).isDisabled()).to.equal(true)
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByRole('heading', { name: `Request ${older}` }).waitFor()
    await page.keyboard.press('k')
    await page.getByRole('heading', { name: `Request ${newer}` }).waitFor()
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: `Request ${older}` }).waitFor()
  })

  it('shows users their own request, without the texts', async () => {
    const { page } = window
    const id = await ask('mine')
    await window.signIn(user.key)
    await window.open(`/requests/${id}`)
    await region('Where the time went').getByRole('rowheader', { name: 'Decide' }).waitFor()
    await region('As curl').waitFor()
    expect(await region('Prompt and reply').count()).to.equal(0)
    await page.getByRole('link', { name: 'Replay in the simulator' }).click()
    await page.getByRole('heading', { name: 'Simulator' }).waitFor()
  })
})
