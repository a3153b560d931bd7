import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { openWindow, requireBrowser, type Window } from '../support/browser.ts'
import { buildConsole } from '../support/console.ts'
import { ADMIN_KEY, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'

describe('feedback in the console', function () {
  this.timeout(60_000)
  let browser: Browser
  let gateway: RunningGateway
  let user: TestUser
  let window: Window
  let request: string

  before(async function () {
    browser = await requireBrowser(this)
    await buildConsole()
    gateway = await startGateway()
  })
  beforeEach(async () => {
    user = await newUser(gateway)
    const messages = [{ role: 'user', content: 'Hello' }]
    const answer = await user.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })
    request = answer.headers.get('x-request-id') ?? ''
    window = await openWindow(browser, gateway.url)
  })
  after(async () => {
    await browser?.close()
    await gateway?.stop()
  })
  afterEach(async () => {
    expect(window.problems).to.deep.equal([])
    await window.context.close()
  })

  const feedback = async () => (await user.call('GET', `/v1/requests/${request}`)).body.data.feedback

  it('is given with a thumb and a comment, and shown in the explorer and in usage', async () => {
    const { page } = window
    await window.signIn(ADMIN_KEY)
    await window.open(`/requests/${request}`)
    const panel = page.getByRole('region', { name: 'Feedback' })
    await panel.getByText('Nobody has rated this answer.').waitFor()
    await panel.getByRole('button', { name: 'Bad answer' }).click()
    await panel.getByText('score 0.00').waitFor()
    await panel.getByLabel('Comment').fill('It is wrong.')
    const saved = page.waitForResponse((response) => response.url().endsWith('/admin/feedback'))
    await panel.getByRole('button', { name: 'Save the comment' }).click()
    await saved
    expect((await feedback())[0]).to.include({ score: 0, comment: 'It is wrong.', given_by: 'root' })
    await window.checkAccessibility('the feedback')
    await window.open('/requests?max_score=0.4')
    await page.getByRole('cell', { name: 'score 0.00' }).first().waitFor()
    await window.open('/usage?by=model')
    await page.getByRole('cell', { name: '0.00 1 rated' }).waitFor()
  })

  it('is given by users to their own requests, and not by auditors', async () => {
    const { page } = window
    await window.signIn(user.key)
    await window.open(`/requests/${request}`)
    await page.getByRole('button', { name: 'Good answer' }).click()
    await page.getByRole('region', { name: 'Feedback' }).getByText('score 1.00').waitFor()
    expect((await feedback())[0]).to.include({ score: 1, given_by: user.keyId })
    const auditor = await newOperator(gateway, 'auditor')
    const other = await openWindow(browser, gateway.url)
    await other.signIn(auditor.key)
    await other.open(`/requests/${request}`)
    await other.page.getByRole('region', { name: 'Feedback' }).getByText('score 1.00').waitFor()
    expect(await other.page.getByRole('button', { name: 'Good answer' }).count()).to.equal(0)
    await other.context.close()
  })
})
