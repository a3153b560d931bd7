import { expect } from 'chai'
import type { Page, Request } from 'playwright-core'
import { firewallRuleBody } from '../../support/bodies.ts'
import { checkScreensOf } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import { startGateway } from '../../support/gateway.ts'
import { createHold } from '../../support/hold.ts'
import { newUser, type TestUser } from '../../support/new-user.ts'
import { asAdmin, newPolicy } from '../../support/policies.ts'
import {
  chunk,
  completion,
  type ScriptedProvider,
  startScriptedProvider,
} from '../../support/scripted-provider.ts'

const USAGE = { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 }

describe('the playground in a browser', () => {
  let provider: ScriptedProvider
  const suite = useConsole(async () => {
    provider = await startScriptedProvider()
    return startGateway({ OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'a-key' })
  })
  after(() => provider?.close())

  /** Opens the playground of a new user. */
  async function open(): Promise<{ readonly page: Page; readonly user: TestUser }> {
    const { gateway, window } = suite
    const user = await newUser(gateway, 'paid', 'Ada')
    await window.signIn(user.key)
    await window.page.getByRole('link', { name: 'Playground', exact: true }).click()
    await window.page.getByRole('heading', { name: 'Playground' }).waitFor()
    return { page: window.page, user }
  }

  async function write(page: Page, text: string): Promise<void> {
    await page.getByRole('combobox', { name: 'Model' }).fill('gpt-4o')
    await page.getByRole('option', { name: /^gpt-4o / }).click()
    await page.getByLabel('Message of the user').fill(text)
  }

  const send = (page: Page) => page.getByRole('button', { name: 'Send', exact: true }).click()

  /** Streams two parts. The second one waits. */
  function playHeld(rest: readonly object[] = [chunk({ content: ' a time' }), chunk({}, 'stop')]) {
    const held = createHold()
    let parts = 0
    provider.play({
      chunks: [chunk({ content: 'Once upon' }), ...rest, { choices: [], usage: USAGE }],
      beforeChunk: () => (parts++ === 1 ? held.released : undefined),
    })
    return held
  }

  it('shows an answer as it arrives, then why the model was chosen and what it cost', async () => {
    const { page, user } = await open()
    await page.getByText('The request counts as yours.').waitFor()
    await checkScreensOf(suite.window, 'playground-empty')
    await write(page, 'Tell me a story')
    await page.getByRole('textbox', { name: 'System' }).fill('Be brief')
    await page.getByLabel('Temperature').fill('0.5')
    await page.getByLabel('Most output tokens').fill('50')
    const held = playHeld()
    const sent = page.waitForRequest((request: Request) => request.url().endsWith('/v1/chat/completions'))
    await send(page)
    const answer = page.getByRole('region', { name: 'Answer' })
    await answer.getByText('Once upon', { exact: true }).waitFor()
    await answer.getByText('answering', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    held.release()
    await answer.getByText('Once upon a time', { exact: true }).waitFor()
    await answer.getByText('complete', { exact: true }).waitFor()

    const stat = (label: string) => page.locator('.stat', { hasText: new RegExp(`^${label}`) })
    await stat('Model').getByText('openai/gpt-4o asked for gpt-4o').waitFor()
    await stat('Tokens').getByText('12 in, 34 out').waitFor()
    await stat('Cost')
      .getByText(/^\$0\.000/)
      .waitFor()
    await page.getByRole('region', { name: 'Why this model' }).waitFor()
    await page.getByRole('region', { name: 'Rules' }).getByText('No rule did anything.').waitFor()
    await checkScreensOf(suite.window, 'playground-answered')

    const { messages, temperature } = provider.last()?.body ?? {}
    expect(messages).to.deep.equal([
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Tell me a story' },
    ])
    expect(temperature).to.equal(0.5)
    // The key is nowhere in the page: the cookie, which its script cannot read, and the token stand for it.
    const headers = await (await sent).allHeaders()
    expect(headers.authorization).to.equal(undefined)
    expect(headers['x-csrf-token']).to.be.a('string')
    expect(await page.content()).not.to.contain(user.key)

    await page.getByRole('link', { name: 'Open the request' }).click()
    await page.getByRole('heading', { name: /^Request req_/ }).waitFor()
    await page.goBack()
    await page.getByLabel('Message of the user').waitFor()
    expect(await page.getByLabel('Message of the user').inputValue()).to.equal('Tell me a story')
  })

  it('shows what rules did: masks, and a refusal with the rule', async () => {
    const { page, user } = await open()
    const mask = { name: 'Addresses', type: 'preset', pattern: 'email', action: 'mask' }
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody(mask))
    await user.call(
      'POST',
      '/v1/firewall-rules',
      firewallRuleBody({ name: 'Plans', pattern: 'plan 9', action: 'block' }),
    )
    provider.play({ body: completion({ content: 'Done' }) })
    await write(page, 'Write to ada@example.com')
    await page.getByLabel('Stream the answer').uncheck()
    await send(page)
    const answer = page.getByRole('region', { name: 'Answer' })
    await answer.getByText('Done', { exact: true }).waitFor()
    const rules = page.getByRole('region', { name: 'Rules' })
    await rules.getByRole('listitem').filter({ hasText: 'mask Addresses' }).waitFor()
    expect(provider.lastText()).not.to.contain('ada@example.com')

    await page.getByLabel('Message of the user').fill('What is plan 9?')
    await send(page)
    await answer.getByRole('alert').waitFor()
    await answer.getByText('failed', { exact: true }).waitFor()
    await rules.getByRole('listitem').filter({ hasText: 'block Plans' }).waitFor()
    await checkScreensOf(suite.window, 'playground-refused')
  })

  it('stops an answer, and says that one broke off', async () => {
    const { page } = await open()
    await write(page, 'Tell me a story')
    const held = playHeld()
    await send(page)
    const answer = page.getByRole('region', { name: 'Answer' })
    await answer.getByText('Once upon', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await answer.getByText('stopped', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Open the request' }).waitFor()
    held.release()

    const failing = playHeld([{ error: { message: 'The engine failed.', type: 'server_error' } }])
    await send(page)
    await answer.getByText('Once upon', { exact: true }).waitFor()
    failing.release()
    await answer.getByText('failed', { exact: true }).waitFor()
    await answer.getByRole('alert').waitFor()
    expect(await answer.getByText('Once upon', { exact: true }).count()).to.equal(1)
  })

  it('decides about a request of a user for an operator, and sends nothing', async () => {
    const { gateway, window } = suite
    const { page } = window
    const user = await newUser(gateway, 'paid', 'Grace')
    const policy = await newPolicy(gateway, {
      name: 'Secrets',
      firewall: [firewallRuleBody({ name: 'Plans', pattern: 'plan 9', action: 'block' })],
    })
    const { requests } = provider.counts
    await page.getByRole('link', { name: 'Playground', exact: true }).click()
    await page.getByRole('combobox', { name: 'User' }).fill('Grace')
    await page.getByRole('option', { name: /^Grace/ }).click()
    await page.getByText('Operators send no requests').waitFor()
    const link = page.getByRole('link', { name: 'create a key' })
    expect(await link.getAttribute('href')).to.equal(`#/users/${user.id}`)
    await page.getByLabel('Message of the user').fill('What is plan 9?')
    expect(await page.getByRole('button', { name: 'Send', exact: true }).count()).to.equal(0)
    await page.getByRole('button', { name: 'Decide without sending' }).click()
    await page.getByRole('region', { name: 'Outcome' }).getByText('refused', { exact: true }).waitFor()
    await checkScreensOf(window, 'playground-operator')
    expect(provider.counts.requests).to.equal(requests)
    const recorded = await asAdmin(gateway, 'GET', `/admin/requests?user=${user.id}`)
    expect(recorded.body.data).to.deep.equal([])
    await policy.remove()
  })

  it('shows the request as code for the address of the gateway', async () => {
    const { page } = await open()
    await page.getByLabel('Message of the user').fill('Hello there')
    const code = page.getByRole('region', { name: 'This request as code' })
    for (const name of ['curl', 'OpenAI Python', 'OpenAI JavaScript', 'Anthropic Python']) {
      await code.getByRole('button', { name, exact: true }).click()
      const text = await code.locator('pre').innerText()
      expect(text, name).to.contain('Hello there').and.to.contain(suite.gateway.url)
      await code.getByRole('button', { name: `Copy ${name}` }).waitFor()
    }
  })
})
