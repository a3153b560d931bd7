import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import { chatBody, firewallRuleBody, toolRuleBody } from '../support/bodies.ts'
import { budgetOf, setBudget } from '../support/budgets.ts'
import { type AdjustableClock, adjustClock } from '../support/clock.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type GatewayOptions, type RunningGateway, startGateway } from '../support/gateway.ts'
import { startMailbox } from '../support/mailbox.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startHttp, startModernServer, type TestServer } from '../support/mcp/servers.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { providersAt } from '../support/providers.ts'
import { completionOf, startScriptedProvider } from '../support/scripted-provider.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { startSignedWebhook } from '../support/signed-webhook.ts'
import { waitUntil } from '../support/wait.ts'

interface PostedAlert {
  readonly type: string
  readonly data: { alert: string; when: string; findings: { subject: string; text: string }[] }
}

const ALERT_SECRET = 'a-secret-for-alerts'
const SMTP_PASSWORD = 'pass-word-of-mail'
const DAY_MS = 86_400_000

/** The conditions are checked each second, and messages sent again after one. */
const OFTEN = `${UNLIMITED}plugins:
  remove: [alerts]
  add: [{ use: alerts, after: overview, options: { check_seconds: 1, retry_seconds: 1 } }]
`

const alertsOf = async (gateway: RunningGateway) =>
  (await gateway.call('GET', '/admin/alerts', undefined, AS_ADMIN)).body.data

describe('alerts', () => {
  let hook: Awaited<ReturnType<typeof startSignedWebhook<PostedAlert>>>
  let mailbox: Awaited<ReturnType<typeof startMailbox>>
  const gateways: RunningGateway[] = []
  before(async () => {
    mailbox = await startMailbox('gateway', SMTP_PASSWORD)
  })
  after(() => mailbox.close())
  beforeEach(async () => {
    hook = await startSignedWebhook<PostedAlert>(ALERT_SECRET)
  })
  afterEach(async () => {
    await Promise.all(gateways.splice(0).map((gateway) => gateway.stop()))
    hook.close()
  })

  const smtp = (user = 'gateway', security = 'none') => ({
    ...{ host: '127.0.0.1', port: mailbox.port, security, user, from: 'Signalbox <signalbox@example.com>' },
  })

  async function start(
    settings: { readonly alerts: readonly object[]; readonly [name: string]: unknown },
    environment: Readonly<Record<string, string>> = {},
    options: GatewayOptions = {},
  ): Promise<RunningGateway> {
    const lines = Object.entries(settings).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    const config = await withSettings(OFTEN + lines.join(''))
    const gateway = await startGateway({ ...config, ALERT_SECRET, SMTP_PASSWORD, ...environment }, options)
    gateways.push(gateway)
    return gateway
  }

  async function expiringKey(gateway: RunningGateway, days: number): Promise<string> {
    const user = await newUser(gateway)
    const terms = { expires_at: new Date(Date.now() + days * DAY_MS).toISOString() }
    const { body } = await gateway.call('POST', `/admin/users/${user.id}/keys`, terms, AS_ADMIN)
    return body.data.id
  }

  const posted = (type: string) => hook.bodies.filter((body) => body.type === `alert.${type}`)

  it('are posted, sent to Slack and mailed when a key expires soon, and when it no longer does', async () => {
    const file = path.join(await makeFolder(), 'slack-url')
    const slack = await startSignedWebhook<{ text: string }>('none')
    await writeFile(file, `${slack.url}\n`)
    const gateway = await start({
      smtp: smtp(),
      alerts: [
        {
          ...{ name: 'keys', when: 'key_expiring', within_days: 10, resolve_after_seconds: 0 },
          to: [{ webhook: hook.url }, { slack: `file:${file}` }, { email: 'ops@example.com' }],
        },
      ],
    })
    await expiringKey(gateway, 20)
    const id = await expiringKey(gateway, 5)
    const firing = await waitUntil(() => posted('firing')[0])
    expect(hook.state.unsigned).to.equal(0)
    expect(firing?.data).to.include({ alert: 'keys', when: 'key_expiring' })
    expect(firing?.data.findings).to.have.length(1)
    expect(firing?.data.findings[0]?.text).to.include(`${id} of user "someone" expires at `)
    const mail = await waitUntil(() => mailbox.mails[0])
    expect(mail).to.deep.include({ from: 'signalbox@example.com', to: ['ops@example.com'] })
    expect(mail?.text)
      .to.match(/^Subject: Signalbox alert keys: fires\r?$/m)
      .and.include(id)
    const told = await waitUntil(() => slack.bodies[0])
    expect(told?.text).to.match(/^\*Signalbox alert keys: fires\*\n- The key /)

    const [shown] = await waitUntil(async () => {
      const alerts = await alertsOf(gateway)
      return alerts[0].targets.every((each: { last_sent_at: unknown }) => each.last_sent_at) && alerts
    })
    expect(shown).to.include({ name: 'keys', when: 'key_expiring', state: 'firing' })
    expect(shown.firing).to.have.length(1)
    const origin = new URL(hook.url).origin
    expect(shown.targets.map(({ to }: { to: string }) => to)).to.deep.equal([
      `webhook ${origin}`,
      `slack file:${file}`,
      'email ops@example.com',
    ])

    await gateway.call('DELETE', `/admin/keys/${id}`, undefined, AS_ADMIN)
    await waitUntil(() => posted('resolved').length > 0)
    expect((await alertsOf(gateway))[0]).to.include({ state: 'ok', since: null })
    expect(posted('firing')).to.have.length(1)
    await waitUntil(() => slack.bodies.length === 2 && mailbox.mails.length === 2)
    const audit = await gateway.call('GET', '/admin/audit?limit=100', undefined, AS_ADMIN)
    const log = JSON.stringify(audit.body)
    for (const secret of ['hidden', ALERT_SECRET, SMTP_PASSWORD])
      expect(log + gateway.stderr() + JSON.stringify(shown)).to.not.include(secret)
    slack.close()
  })

  describe('that last', () => {
    let clock: AdjustableClock
    beforeEach(() => {
      clock = adjustClock()
    })
    afterEach(() => clock.restore())

    it('are sent again after the time to repeat them, and not before', async () => {
      const gateway = await start({
        alerts: [{ when: 'key_expiring', repeat_after_seconds: 3600, to: [{ webhook: hook.url }] }],
      })
      await expiringKey(gateway, 5)
      await waitUntil(() => posted('firing').length === 1)
      clock.adjust(3_590_000)
      await expiringKey(gateway, 5)
      await waitUntil(() => posted('firing').length === 2)
      expect(posted('repeated')).to.deep.equal([])
      clock.adjust(20_000)
      const repeated = await waitUntil(() => posted('repeated')[0])
      expect(repeated?.data.findings).to.deep.equal(posted('firing')[0]?.data.findings)
      const [{ state, firing }] = await alertsOf(gateway)
      expect({ state, firing: firing.length }).to.deep.equal({ state: 'firing', firing: 2 })
    })
  })

  it('are sent again to the targets that did not accept them, and only to these', async () => {
    const other = await startSignedWebhook<PostedAlert>(ALERT_SECRET)
    const to = [{ webhook: hook.url }, { webhook: other.url }]
    hook.state.status = 500
    const gateway = await start({ alerts: [{ when: 'key_expiring', to }] })
    await expiringKey(gateway, 5)
    await waitUntil(() => other.bodies.length > 0 && hook.state.calls > 1)
    const [{ targets }] = await alertsOf(gateway)
    expect(targets[0]).to.deep.include({ last_sent_at: null, error: 'the webhook responded with status 500' })
    expect(targets[1].error).to.equal(null)
    hook.state.status = 200
    await waitUntil(() => hook.bodies.length > 0)
    const isWell = ({ targets }: { targets: { error: unknown }[] }) => targets[0]?.error === null
    await waitUntil(async () => isWell((await alertsOf(gateway))[0]))
    expect(other.bodies).to.have.length(1)
    expect(hook.bodies).to.have.length(1)
    other.close()
  })

  it('are sent once by several nodes, and not again after a restart', async () => {
    const settings = { alerts: [{ when: 'key_expiring', to: [{ webhook: hook.url }] }] }
    const first = await start(settings, {}, { log: 'files' })
    const { dataDir } = first
    const second = await start(settings, {}, { log: 'files', dataDir })
    await expiringKey(first, 5)
    const isFiring = async (node: RunningGateway) => (await alertsOf(node))[0].state === 'firing'
    await waitUntil(async () => (await isFiring(first)) && (await isFiring(second)))
    await waitUntil(() => hook.bodies.length > 0)
    await Promise.all(gateways.splice(0).map((gateway) => gateway.stop()))
    const third = await start(settings, {}, { log: 'files', dataDir })
    expect(await isFiring(third)).to.equal(true)
    // The third node has checked the conditions when it tells of another key.
    await expiringKey(third, 6)
    await waitUntil(() => hook.bodies.length > 1)
    expect(hook.bodies.map(({ data }) => data.findings.length)).to.deep.equal([1, 1])
    expect(hook.bodies[0]?.data.findings[0]?.subject).to.not.equal(hook.bodies[1]?.data.findings[0]?.subject)
  })

  it('fire for shares of budgets, rates of requests and providers that fail', async () => {
    const provider = await startScriptedProvider()
    provider.play({ body: completionOf(1000, 1000) })
    const to = [{ webhook: hook.url }]
    const gateway = await start(
      {
        alerts: [
          { when: 'budget_share', at_least: 0.05, to },
          { when: 'blocked_rate', min_requests: 4, to },
          { when: 'error_rate', min_requests: 4, to },
          { when: 'provider_down', to },
        ],
        breaker: { min_requests: 2, min_callers: 2, open_ms: 600_000 },
      },
      providersAt(provider, ['openai']),
    )
    const described = (await alertsOf(gateway)).map(({ condition }: { condition: string }) => condition)
    expect(described).to.deep.equal([
      'At least 5 % of a budget is spent.',
      'At least 20 % of 4 requests or more within 300 seconds are blocked.',
      'At least 10 % of 4 requests or more within 300 seconds fail.',
      'A provider has a model whose circuit is not closed.',
    ])
    const user = await newUser(gateway)
    const ask = (text: string) =>
      user.call('POST', '/v1/chat/completions', { ...chatBody(text), model: 'gpt-4o-mini' })
    const fired = (alert: string) =>
      waitUntil(() => posted('firing').find(({ data }) => data.alert === alert))

    const budgeted = await setBudget(gateway, budgetOf.all(), { limit_usd: 0.1 })
    expect(budgeted.status, JSON.stringify(budgeted.body)).to.equal(200)
    for (let sent = 0; sent < 10; sent++) expect((await ask('Hello')).status).to.equal(200)
    const budget = await fired('budget_share')
    expect(budget?.data.findings[0]?.text).to.match(
      /^\d % of the budget of everything is spent \(0.1 USD, total\)\.$/,
    )

    await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern: 'secret', action: 'block' }))
    for (let sent = 0; sent < 5; sent++) await ask('A secret')
    const blocked = await fired('blocked_rate')
    expect(blocked?.data.findings[0]?.text).to.match(
      /^\d\d % of \d+ requests within 300 seconds were blocked\.$/,
    )
    expect(posted('firing').map(({ data }) => data.alert)).to.not.include('error_rate')

    provider.play({ status: 500, body: {} })
    const body = { ...chatBody('Hello', { max_tokens: 10 }), model: 'gpt-4o' }
    for (const caller of [user, await newUser(gateway), await newUser(gateway)])
      for (let sent = 0; sent < 3; sent++) await caller.call('POST', '/v1/chat/completions', body)
    await fired('error_rate')
    const down = await fired('provider_down')
    expect(down?.data.findings).to.deep.equal([
      { subject: 'openai', text: 'The provider openai fails: the circuit is open for gpt-4o.' },
    ])
    provider.close()
  })

  describe('about tools', () => {
    let upstream: TestServer
    before(async () => {
      upstream = await startModernServer(() => {
        const server = new Server({ name: 'files', version: '1' }, { capabilities: { tools: {} } })
        const tools = [{ name: 'write', inputSchema: { type: 'object' as const } }]
        server.setRequestHandler('tools/list', async () => ({ tools }))
        return server
      })
    })
    after(() => upstream.stop())

    /** Returns the path of the endpoint of a new server whose tools need no approval. */
    async function newServer(gateway: RunningGateway, name: string, url: string): Promise<string> {
      const fields = { name, url, new_tools: 'approved' }
      const { body } = await gateway.call('POST', '/admin/tool-servers', fields, AS_ADMIN)
      return `/admin/tool-servers/${body.data.id}`
    }

    const refresh = async (gateway: RunningGateway, path: string) =>
      (await gateway.call('POST', `${path}/refresh`, undefined, AS_ADMIN)).status

    it('fire for a tool server that does not answer, until it does', async () => {
      const gone = await startHttp(() => undefined)
      await gone.stop()
      const to = [{ webhook: hook.url }]
      const gateway = await start({ alerts: [{ when: 'tool_server_down', resolve_after_seconds: 0, to }] })
      const answering = await newServer(gateway, 'files', upstream.url)
      const failing = await newServer(gateway, 'gone', gone.url)
      expect(await refresh(gateway, answering)).to.equal(200)
      expect(await refresh(gateway, failing)).to.be.at.least(500)
      const fired = await waitUntil(() => posted('firing')[0])
      const findings = [{ subject: 'gone', text: 'The tool server gone does not answer.' }]
      expect(fired?.data).to.deep.equal({ alert: 'tool_server_down', when: 'tool_server_down', findings })

      await gateway.call('PATCH', failing, { url: upstream.url }, AS_ADMIN)
      // The circuit of the server closes again after a time.
      await waitUntil(async () => (await refresh(gateway, failing)) === 200)
      const resolved = await waitUntil(() => posted('resolved')[0])
      expect(resolved?.data.findings).to.deep.equal(findings)
      expect(posted('firing')).to.have.length(1)
    })

    it('fire for as many tool calls that wait for an approval as they say', async () => {
      const common = { when: 'approvals_pending', resolve_after_seconds: 0, to: [{ webhook: hook.url }] }
      const gateway = await start({
        alerts: [
          { name: 'two', at_least: 2, ...common },
          { name: 'one', ...common },
        ],
      })
      const user = await newUser(gateway)
      expect(await refresh(gateway, await newServer(gateway, 'files', upstream.url))).to.equal(200)
      const rule = toolRuleBody({ action: 'require_approval' })
      await gateway.call('POST', `/admin/users/${user.id}/tool-rules`, rule, AS_ADMIN)
      const call = (file: string) =>
        callToolRaw(gateway, user.key, { server: 'files', tool: 'write', arguments: { file } })
      const textsOf = (type: string, alert: string) =>
        posted(type)
          .filter(({ data }) => data.alert === alert)
          .flatMap(({ data }) => data.findings.map(({ text }) => text))

      await call('a')
      await waitUntil(() => textsOf('firing', 'one').length > 0)
      expect(textsOf('firing', 'one')).to.deep.equal(['1 tool call waits for an approval.'])
      expect(textsOf('firing', 'two')).to.deep.equal([])
      await call('b')
      await waitUntil(() => textsOf('firing', 'two').length > 0)
      expect(textsOf('firing', 'two')).to.deep.equal(['2 tool calls wait for an approval.'])

      const pending = await gateway.call('GET', '/admin/approvals?status=pending', undefined, AS_ADMIN)
      expect(pending.body.data).to.have.length(2)
      const { id } = pending.body.data[0]
      await gateway.call('POST', `/admin/approvals/${id}/deny`, undefined, AS_ADMIN)
      await waitUntil(() => textsOf('resolved', 'two').length > 0)
      expect(textsOf('resolved', 'one')).to.deep.equal([])
    })
  })

  it('are tested by editors, who see what each target says', async () => {
    const to = [{ webhook: hook.url }, { email: 'ops@example.com' }]
    const gateway = await start({
      smtp: smtp('somebody else'),
      alerts: [{ name: 'log', when: 'log_contradiction', to }],
    })
    const editor = await newOperator(gateway, 'editor')
    const auditor = await newOperator(gateway, 'auditor')
    const mails = mailbox.mails.length
    expect((await auditor.call('POST', '/admin/alerts/log/test', {})).status).to.equal(403)
    expect((await editor.call('POST', '/admin/alerts/other/test', {})).status).to.equal(404)
    const { status, body } = await editor.call('POST', '/admin/alerts/log/test', {})
    expect(status).to.equal(200)
    const [posting, mailing] = body.data.results
    expect(posting).to.deep.include({ sent: true, error: null })
    expect(mailing.sent).to.equal(false)
    expect(mailing.error).to.include('Wrong password').and.not.include(SMTP_PASSWORD)
    expect(hook.bodies).to.have.length(1)
    expect(hook.bodies[0]?.type).to.equal('alert.test')
    expect(mailbox.mails).to.have.length(mails)
    const [shown] = (await auditor.call('GET', '/admin/alerts')).body.data
    expect(shown).to.include({ state: 'ok' })
    expect(shown.targets[1].error).to.equal(mailing.error)
  })

  it('do not go to a mail server without encryption unless the settings allow it', async () => {
    const gateway = await start({
      smtp: smtp('gateway', 'starttls'),
      alerts: [{ when: 'log_contradiction', to: [{ email: 'ops@example.com' }] }],
    })
    const mails = mailbox.mails.length
    const { body } = await gateway.call('POST', '/admin/alerts/log_contradiction/test', {}, AS_ADMIN)
    expect(body.data.results[0]).to.deep.include({ sent: false })
    expect(body.data.results[0].error).to.match(/STARTTLS/i)
    expect(mailbox.mails).to.have.length(mails)
  })

  describe('of the settings', () => {
    const to = [{ slack: 'env:SLACK_URL' }]
    const rejected: readonly [string, object, string][] = [
      [
        'a secret for webhooks',
        { alerts: [{ when: 'provider_down', to: [{ webhook: 'https://a.example' }] }] },
        'set ALERT_SECRET',
      ],
      [
        'a server for mail',
        { alerts: [{ when: 'provider_down', to: [{ email: 'a@b.example' }] }] },
        'set smtp.host',
      ],
      [
        'names that differ',
        {
          alerts: [
            { when: 'provider_down', to },
            { when: 'provider_down', to },
          ],
        },
        'alerts[1]: "provider_down" is the name of another',
      ],
      [
        'no fields of other conditions',
        { alerts: [{ when: 'provider_down', at_least: 1, to }] },
        'alerts[0].at_least has no effect on provider_down',
      ],
      [
        'shares as fractions',
        { alerts: [{ when: 'error_rate', at_least: 20, to }] },
        'alerts[0].at_least is a share',
      ],
      ['known conditions', { alerts: [{ when: 'provider_up', to }] }, 'alerts[0].when must be one of'],
      [
        'the URL of Slack by reference',
        { alerts: [{ when: 'provider_down', to: [{ slack: 'https://hooks.slack.example/T0' }] }] },
        'alerts[0].to[0].slack',
      ],
      [
        'a password',
        { alerts: [], smtp: { host: 'a.example', from: 'a@b.example', user: 'a' } },
        'set SMTP_PASSWORD',
      ],
    ]
    for (const [what, settings, message] of rejected)
      it(`need ${what}`, async () => {
        const none = { ALERT_SECRET: '', SMTP_PASSWORD: '' }
        const failure = await start(settings as { alerts: [] }, none).then(
          () => undefined,
          (error: { issues?: readonly string[] }) => error.issues?.join('\n'),
        )
        expect(failure).to.include(message)
      })
  })
})
