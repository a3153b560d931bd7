import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { chatBody } from '../support/bodies.ts'
import { releaseBrowser, requireBrowser } from '../support/browser.ts'
import { pollDevice, startDevice } from '../support/device-sign-in.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { type RunningKeycloak, requireKeycloak } from '../support/keycloak.ts'
import { firewallRule, newPolicy } from '../support/policies.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

/** Java takes its time on two busy cores. */
const START_MS = 300_000

describe('Keycloak', () => {
  let keycloak: RunningKeycloak
  let gateway: RunningGateway

  before(async function () {
    this.timeout(START_MS)
    keycloak = await requireKeycloak(this)
    gateway = await startGateway({
      ...(await withSettings(`${UNLIMITED}identity:
  callers:
    - issuer: '${keycloak.issuer}'
      audience: signalbox
      groups: { claim: groups, map: { engineering: Engineering, operations: Operations }, create: true }
  console:
    issuer: '${keycloak.issuer}'
    client_id: signalbox
    scopes: [openid]
    roles: { claim: roles, map: { gateway-admin: admin, gateway-auditor: auditor } }
  claude_code: { enabled: true }\n`)),
      OIDC_CLIENT_SECRET: 'a-secret-of-the-console',
    })
  })
  after(async () => {
    await releaseBrowser()
    await gateway?.stop()
    await keycloak?.stop()
  })

  const chat = (token: string, text = 'Hello') =>
    gateway.call('POST', '/v1/chat/completions', chatBody(text), { authorization: `Bearer ${token}` })
  const asAdmin = (path: string) => gateway.call('GET', path, undefined, AS_ADMIN)

  it('lets a service account in, as a user in the groups of its token', async () => {
    expect((await chat(await keycloak.serviceToken())).status).to.equal(200)
    const [operations] = (await asAdmin('/admin/groups?q=Operations')).body.data
    const { data: users } = (await asAdmin('/admin/users')).body
    const batch = users.find(({ identity }: { identity?: unknown }) => identity !== undefined)
    expect(batch.identity.issuer).to.equal(keycloak.issuer)
    expect(batch.groups).to.deep.equal([operations.id])
  })

  it('lets people in by the official client, under the policies of their groups', async () => {
    const token = await keycloak.userToken('grace')
    const answer = await gateway.openai(token).chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'Hello' }],
    })
    expect(answer.choices[0]?.message.content).to.be.a('string')
    const [engineering] = (await asAdmin('/admin/groups?q=Engineering')).body.data
    await newPolicy(gateway, {
      applies_to: { groups: [engineering.id] },
      firewall: [firewallRule({ pattern: 'launch code' })],
    })
    expect((await chat(token, 'The launch code')).status).to.equal(403)
    expect((await chat(await keycloak.userToken('alan'), 'The launch code')).status).to.equal(200)
    const [grace] = (await asAdmin('/admin/users?q=grace@example.com')).body.data
    expect(grace.groups).to.deep.equal([engineering.id])
  })

  /** Opens a page that asks Keycloak who the person is, and fills in its form. */
  async function signIn(page: Page, url: string, name: string): Promise<void> {
    await page.goto(url)
    await page.fill('#username', name)
    await page.fill('#password', `${name}-password`)
    await page.click('#kc-login')
  }

  it('signs an operator in to the console in a browser, and out again', async function () {
    const browser = await requireBrowser(this)
    const page = await (await browser.newContext()).newPage()
    await signIn(page, `${gateway.url}/console/login`, 'grace')
    await page.waitForURL(`${gateway.url}/console/**`)
    await page.getByText('grace@example.com').first().waitFor()
    const { data } = (await asAdmin('/admin/operators')).body
    expect(data[0]).to.deep.include({ name: 'grace@example.com', role: 'admin' })
    expect(data[0].external.issuer).to.equal(keycloak.issuer)
    expect(await page.evaluate('document.cookie')).to.equal('')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('link', { name: /Sign in with/ }).click()
    await page.waitForSelector('#username')
    await page.close()
  })

  it('keeps people without a mapped role out, and says which claim was looked at', async function () {
    const browser = await requireBrowser(this)
    const page = await (await browser.newContext()).newPage()
    await signIn(page, `${gateway.url}/console/login`, 'alan')
    await page.waitForURL(`${gateway.url}/console/callback**`)
    expect(await page.textContent('body')).to.contain('roles')
    const { data } = (await asAdmin('/admin/operators')).body
    expect(data).to.have.lengthOf(1)
    await page.close()
  })

  /** Approves the sign-in of a program in a browser, as a person who is not signed in yet. */
  async function approve(page: Page, url: string, name: string): Promise<void> {
    await page.goto(url)
    await page.getByRole('button', { name: 'Sign in with your company account' }).click()
    await page.fill('#username', name)
    await page.fill('#password', `${name}-password`)
    await page.click('#kc-login')
    await page.waitForURL(`${gateway.url}/**`)
    const button = page.getByRole('button', { name: /^Approve/ })
    if ((await button.count()) > 0) await button.first().click()
    await page.getByText('is signed in').waitFor()
  }

  it('signs the command line in as an operator, and Claude Code as a user', async function () {
    const browser = await requireBrowser(this)
    const signedIn = async (client: string | undefined, name: string) => {
      const page = await (await browser.newContext()).newPage()
      const { verification_uri_complete: url, device_code } = await startDevice(gateway, client)
      await approve(page, url, name)
      await page.close()
      const { body } = await pollDevice(gateway, device_code)
      return { authorization: `Bearer ${body.access_token}` }
    }
    const operator = await signedIn('signalbox-cli', 'grace')
    const { data } = (await gateway.call('GET', '/admin/operators/self', undefined, operator)).body
    expect(data).to.include({ name: 'grace@example.com', role: 'admin' })

    const user = await signedIn(undefined, 'alan')
    const messages = { ...chatBody('Hello'), max_tokens: 20 }
    const answered = await gateway.call('POST', '/v1/messages', messages, user)
    expect(answered.status, JSON.stringify(answered.body)).to.equal(200)
    const [alan] = (await asAdmin('/admin/users?q=alan@example.com')).body.data
    const { body: requests } = await asAdmin(`/admin/requests?user=${alan.id}&limit=1`)
    expect(requests.data[0]).to.include({ endpoint: '/v1/messages', user_id: alan.id, key_id: null })
  })
})
