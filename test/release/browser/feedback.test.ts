import { expect } from 'chai'
import { useConsole } from '../../support/console-suite.ts'
import { newUser, type TestUser } from '../../support/new-user.ts'
import { newOperator } from '../../support/operators.ts'

describe('feedback in the console', () => {
  const console = useConsole()
  let user: TestUser
  let request: string

  beforeEach(async () => {
    user = await newUser(console.gateway)
    const messages = [{ role: 'user', content: 'Hello' }]
    const answer = await user.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })
    request = answer.headers.get('x-request-id') ?? ''
  })

  const feedback = async () => (await user.call('GET', `/v1/requests/${request}`)).body.data.feedback

  it('is given with a thumb and a comment, and shown in the explorer and in usage', async () => {
    const { window } = console
    const { page } = window
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
    const { window } = console
    const panel = window.page.getByRole('region', { name: 'Feedback' })
    const view = async (key: string) => {
      await window.signIn(key)
      await window.open(`/requests/${request}`)
    }
    await view(user.key)
    await window.page.getByRole('button', { name: 'Good answer' }).click()
    await panel.getByText('score 1.00').waitFor()
    expect((await feedback())[0]).to.include({ score: 1, given_by: user.keyId })
    await view((await newOperator(console.gateway, 'auditor')).key)
    await panel.getByText('score 1.00').waitFor()
    expect(await window.page.getByRole('button', { name: 'Good answer' }).count()).to.equal(0)
  })
})
