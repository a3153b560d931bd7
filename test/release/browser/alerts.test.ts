import { expect } from 'chai'
import { checkScreensOf, openWindow } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import { ADMIN_KEY, AS_ADMIN, startGateway } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { newOperator } from '../../support/operators.ts'
import { withSettings } from '../../support/settings.ts'
import { startSignedWebhook } from '../../support/signed-webhook.ts'

interface PostedAlert {
  readonly type: string
  readonly data: { readonly alert: string }
}

const ALERT_SECRET = 'a-secret-for-alerts'
const DAY_MS = 86_400_000

/** The conditions are checked each second. */
const OFTEN = `plugins:
  remove: [alerts]
  add: [{ use: alerts, after: overview, options: { check_seconds: 1 } }]
`

describe('the page of alerts in a browser', () => {
  let hook: Awaited<ReturnType<typeof startSignedWebhook<PostedAlert>>>
  let failing: Awaited<ReturnType<typeof startSignedWebhook<PostedAlert>>>
  const suite = useConsole(async () => {
    hook = await startSignedWebhook(ALERT_SECRET)
    failing = await startSignedWebhook(ALERT_SECRET)
    failing.state.status = 500
    const to = [{ webhook: hook.url }, { webhook: failing.url }]
    const alerts = [
      { name: 'log', when: 'log_contradiction', to },
      { name: 'keys', when: 'key_expiring', within_days: 10, resolve_after_seconds: 0, to },
    ]
    const config = await withSettings(`${OFTEN}alerts: ${JSON.stringify(alerts)}\n`)
    return startGateway({ ...config, ALERT_SECRET })
  })
  after(() => {
    hook?.close()
    failing?.close()
  })

  const hostOf = ({ url }: { readonly url: string }) => new URL(url).host

  it('shows what fires, and what each target says to a test', async () => {
    const { gateway, window } = suite
    const { page } = window
    const user = await newUser(gateway, 'paid', 'Ada')
    const terms = { expires_at: new Date(Date.now() + 5 * DAY_MS).toISOString() }
    const key = (await gateway.call('POST', `/admin/users/${user.id}/keys`, terms, AS_ADMIN)).body.data
    await page.getByRole('link', { name: 'Alerts' }).click()
    const keys = page.getByRole('region', { name: 'keys', exact: true })
    const log = page.getByRole('region', { name: 'log', exact: true })
    const lineOf = (region: typeof log, target: typeof hook) =>
      region.getByRole('listitem').filter({ hasText: hostOf(target) })
    await keys.getByText('firing', { exact: true }).waitFor()
    await keys.getByText('A key of a user or operator expires within 10 days.').waitFor()
    await keys.getByText(`The key ${key.id} of user "Ada" expires at`).waitFor()
    await lineOf(keys, hook).getByText('accepted', { exact: true }).waitFor()
    await lineOf(keys, failing).getByText('the webhook responded with status 500').waitFor()
    await log.getByText('ok', { exact: true }).waitFor()
    expect(await page.getByRole('region').first().getAttribute('aria-label')).to.equal('keys')
    await checkScreensOf(window, 'alerts')

    await log.getByRole('button', { name: 'Send a test' }).click()
    const tested = log.getByRole('status')
    await tested.getByText('1 of 2 targets accepted the test.').waitFor()
    await tested.getByText(`webhook http://${hostOf(hook)}: accepted`).waitFor()
    await tested
      .getByText(`webhook http://${hostOf(failing)}: the webhook responded with status 500`)
      .waitFor()
    const targets = log.getByRole('list').last().getByRole('listitem')
    await targets
      .filter({ hasText: hostOf(failing) })
      .getByText('failed', { exact: true })
      .waitFor()
    await targets
      .filter({ hasText: hostOf(hook) })
      .getByText('accepted', { exact: true })
      .waitFor()
    await log.scrollIntoViewIfNeeded()
    await checkScreensOf(window, 'alert-tested')
    failing.state.status = 200
    await log.getByRole('button', { name: 'Send a test' }).click()
    await tested.getByText('2 of 2 targets accepted the test.').waitFor()
    const tests = hook.bodies.filter(({ type }) => type === 'alert.test')
    expect(tests.map(({ data }) => data.alert)).to.deep.equal(['log', 'log'])
    expect(await page.content()).to.not.include('token=hidden')

    await gateway.call('DELETE', `/admin/keys/${key.id}`, undefined, AS_ADMIN)
    await keys.getByText('ok', { exact: true }).waitFor()
  })

  it('lets editors send tests only, and is for operators who see everything', async () => {
    const { gateway, window } = suite
    const { page } = window
    const auditor = await newOperator(gateway, 'auditor', 'Otto')
    await window.signIn(auditor.key)
    await window.open('/alerts')
    await page.getByRole('region', { name: 'log', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Send a test' }).count()).to.equal(0)
    const group = (await gateway.call('POST', '/admin/groups', { name: 'Service' }, AS_ADMIN)).body.data.id
    const scoped = await newOperator(gateway, 'admin', 'Sue', { scope: { groups: [group] } })
    for (const key of [scoped.key, (await newUser(gateway)).key]) {
      await window.signIn(key)
      expect(await page.getByRole('link', { name: 'Alerts' }).count()).to.equal(0)
      await window.open('/alerts')
      await page.getByText('There is no such page for you.').waitFor()
    }
  })

  it('says how to configure an alert where there is none', async () => {
    const gateway = await startGateway()
    const window = await openWindow(suite.browser, gateway.url)
    await window.signIn(ADMIN_KEY)
    await window.open('/alerts')
    const empty = window.page.getByRole('region', { name: 'No alerts are configured' })
    await empty.waitFor()
    await checkScreensOf(window, 'no-alerts')
    const example = await empty.locator('pre').innerText()
    expect(window.problems).to.deep.equal([])
    await window.context.close()
    await gateway.stop()

    const environment = { SLACK_URL: 'http://127.0.0.1:1/', SMTP_PASSWORD: 'a-password-of-mail' }
    const configured = await startGateway({ ...(await withSettings(example)), ...environment })
    const { body } = await configured.call('GET', '/admin/alerts', undefined, AS_ADMIN)
    expect(body.data.map(({ name }: { name: string }) => name)).to.deep.equal(['provider_down', 'keys'])
    await configured.stop()
  })
})
