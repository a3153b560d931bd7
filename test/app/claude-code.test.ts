import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import { approveDevice, openPage, postForm, signInDevice, startDevice } from '../support/device-sign-in.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { readVectors } from '../support/vectors.ts'
import { waitUntil } from '../support/wait.ts'

interface RecordedAnswer {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly form?: Readonly<Record<string, string>>
  readonly token?: true
  readonly requestHeaders?: Readonly<Record<string, string>>
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Fields whose values are ours. */
const OWN = [
  ...['device_code', 'user_code', 'verification_uri', 'verification_uri_complete'],
  ...['access_token', 'refresh_token', 'request_id', 'message'],
]

const RECORDED_SETTINGS = `policies:
  - match: { groups: [eng] }
    cli:
      availableModels: [claude-haiku-4-5, claude-sonnet-4-6]
      permissions: { deny: ['Bash(rm *)'] }
      env:
        CLAUDE_CODE_ENABLE_TELEMETRY: '1'
        OTEL_METRICS_EXPORTER: otlp
        OTEL_LOGS_EXPORTER: otlp
        OTEL_TRACES_EXPORTER: otlp
        OTEL_EXPORTER_OTLP_ENDPOINT: http://127.0.0.1:55400
        OTEL_EXPORTER_OTLP_PROTOCOL: http/protobuf
`

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A gateway for Claude Code, with this file of settings. */
async function startForClaude(settings: string, more = '') {
  const file = path.join(await makeFolder(), 'claude-code.yaml')
  await writeFile(file, settings)
  const gateway = await startGateway(
    await withSettings(
      `${UNLIMITED}identity: { claude_code: { enabled: true, settings: '${file}' } }\n${more}`,
    ),
  )
  return { gateway, file }
}

/** Creates a group of these users. */
async function newGroup(gateway: RunningGateway, name: string, ...users: readonly TestUser[]) {
  const { id } = (await gateway.call('POST', '/admin/groups', { name }, AS_ADMIN)).body.data
  for (const user of users)
    await gateway.call('PUT', `/admin/groups/${id}/members/${user.id}`, undefined, AS_ADMIN)
}

describe('Claude Code', () => {
  it('gets the answers that its own gateway gives, field by field', async () => {
    const { gateway } = await startForClaude(RECORDED_SETTINGS)
    const user = await newUser(gateway)
    await newGroup(gateway, 'eng', user)
    const [approved, pending, denied] = [
      await startDevice(gateway),
      await startDevice(gateway),
      await startDevice(gateway),
    ]
    await approveDevice(gateway, approved.user_code, { key: user.key })
    const page = await openPage(gateway, denied.user_code)
    const denial = { user_code: denied.user_code, csrf_token: page.csrf, action: 'deny' }
    await postForm(gateway, '/console/device', denial, { cookie: page.cookie })
    const codes: Record<string, string> = {
      '{approved}': approved.device_code,
      '{pending}': pending.device_code,
      '{denied}': denied.device_code,
    }
    let token = ''
    const ours = (text: string) => codes[text] ?? text.replaceAll('{base}', gateway.url)

    for (const recorded of readVectors<readonly RecordedAnswer[]>('claude-gateway')) {
      const { name, method, form, status, headers = {}, body } = recorded
      const fields = Object.entries(form ?? {}).map(([field, value]) => [field, ours(value)])
      const response = await fetch(gateway.url + recorded.path, {
        method,
        headers: { ...recorded.requestHeaders, ...(recorded.token && bearer(token)) },
        ...(form && { body: new URLSearchParams(fields as [string, string][]) }),
      })
      const text = await response.text()
      expect(response.status, `${name}: ${text}`).to.equal(status)
      for (const [header, value] of Object.entries(headers))
        expect(response.headers.get(header), `${name}: ${header}`).to.equal(value)
      if (body === undefined) expect(text, name).to.equal('')
      else expectFields(JSON.parse(text), body, name)
      if (text.includes('access_token')) token = JSON.parse(text).access_token
    }
    await gateway.stop()

    function expectFields(given: unknown, recorded: unknown, at: string): void {
      if (typeof recorded !== 'object' || recorded === null || Array.isArray(recorded)) {
        const expected = typeof recorded === 'string' ? ours(recorded) : recorded
        const isOwn = OWN.includes(at.split('.').at(-1) ?? '')
        if (isOwn) expect(given, at).to.be.a('string').and.not.equal('')
        else expect(given, at).to.deep.equal(expected)
        return
      }
      for (const [field, value] of Object.entries(recorded))
        expectFields((given as Record<string, unknown>)[field], value, `${at}.${field}`)
    }
  })

  it('gets the settings of the groups of its user, which change with the file', async () => {
    const { gateway, file } = await startForClaude(`policies:
  - match: { groups: [Engineering, Research] }
    cli:
      model: sonnet
      env: { A: own, B: own }
      permissions: { deny: [WebFetch, 'Bash(rm *)'], allow: [Read] }
      hooks: { Stop: [{ hooks: [{ type: command, command: own }] }] }
  - match: { email_domain: Example.com }
    cli: { model: opus }
  - match: {}
    cli:
      model: haiku
      cleanupPeriodDays: 7
      env: { A: common, C: common }
      permissions: { deny: [WebSearch, WebFetch], allow: [Write] }
      hooks: { Stop: [{ hooks: [{ type: command, command: common }] }] }
`)
    const [engineer, mailer, other] = [
      await newUser(gateway),
      await newUser(gateway, 'paid', 'ann@example.com'),
      await newUser(gateway, 'paid', 'ann@example.com.evil'),
    ]
    await newGroup(gateway, 'Engineering', engineer)
    const settingsOf = async ({ key }: TestUser, headers = {}) =>
      gateway.call('GET', '/managed/settings', undefined, { ...bearer(key), ...headers })
    const first = await settingsOf(engineer)
    const stop = (command: string) => ({ hooks: [{ type: 'command', command }] })
    expect(first.body.settings).to.deep.equal({
      model: 'sonnet',
      cleanupPeriodDays: 7,
      env: { A: 'own', B: 'own', C: 'common' },
      permissions: { deny: ['WebSearch', 'WebFetch', 'Bash(rm *)'], allow: ['Read'] },
      hooks: { Stop: [stop('common'), stop('own')] },
    })
    const sorted = JSON.stringify(first.body.settings, (_, value) =>
      value?.constructor === Object ? Object.fromEntries(Object.entries(value).sort()) : value,
    )
    expect(first.body.checksum).to.equal(`sha256:${createHash('sha256').update(sorted).digest('hex')}`)
    const etag = first.headers.get('etag') ?? ''
    expect((await settingsOf(engineer, { 'if-none-match': etag })).status).to.equal(304)
    expect((await settingsOf(mailer)).body.settings.model).to.equal('opus')
    expect((await settingsOf(other)).body.settings.model).to.equal('haiku')

    await writeFile(file, 'policies: [{ match: { groups: [Engineering] }, cli: { model: opus } }]\n')
    expect((await settingsOf(engineer)).body.settings).to.deep.equal({ model: 'opus' })
    const none = await settingsOf(other)
    expect([none.status, none.body.type]).to.deep.equal([404, 'error'])
    await writeFile(
      file,
      'policies: [{ match: { group: [Engineering] }, cli: { model: haiku } }]\n# mistake\n',
    )
    expect((await settingsOf(engineer)).body.settings).to.deep.equal({ model: 'opus' })
    expect(gateway.stderr()).to.contain('settings of Claude Code not read')
    await gateway.stop()
  })

  it('has its telemetry passed on to the collector, unread, and dropped without one', async () => {
    const received: { request: IncomingMessage; body: Buffer }[] = []
    const collector = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      received.push({ request, body: Buffer.concat(chunks) })
      response.end()
    })
    collector.listen(0, '127.0.0.1')
    await once(collector, 'listening')
    const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
    const tracing = `plugins: { add: [{ use: tracing, before: auth, options: { endpoint: '${endpoint}' } }] }\n`
    const { gateway } = await startForClaude('policies: []', tracing)
    const { access_token } = await signInDevice(gateway, (await newUser(gateway)).key)
    const body = Buffer.from([0x0a, 0xff, 0x00, 0xfe, ...Buffer.from('canary-in-telemetry')])
    /** As Claude Code sends it: chunked, without a length. */
    const send = (to: RunningGateway, signal: string, bytes: Buffer, token = access_token) =>
      fetch(`${to.url}/v1/${signal}`, {
        method: 'POST',
        headers: { ...bearer(token), 'content-type': 'application/x-protobuf' },
        body: new ReadableStream({
          start(controller) {
            for (let at = 0; at < bytes.length; at += 65_536)
              controller.enqueue(bytes.subarray(at, at + 65_536))
            controller.close()
          },
        }),
        duplex: 'half',
      } as RequestInit)
    for (const signal of ['metrics', 'logs', 'traces']) {
      const response = await send(gateway, signal, body)
      expect([response.status, await response.text()], signal).to.deep.equal([200, ''])
    }
    await waitUntil(() => received.length === 3)
    expect(received.map(({ request }) => request.url).sort()).to.deep.equal([
      '/v1/logs',
      '/v1/metrics',
      '/v1/traces',
    ])
    for (const each of received) {
      expect(each.body.equals(body)).to.equal(true)
      expect(each.request.headers).to.include({ 'content-type': 'application/x-protobuf' })
      expect(each.request.headers).not.to.have.property('authorization')
    }
    expect((await send(gateway, 'logs', body, 'wrong')).status).to.equal(401)
    expect((await send(gateway, 'logs', Buffer.alloc(5_000_000))).status).to.equal(413)
    expect(gateway.stderr()).not.to.contain('canary-in-telemetry')
    const metrics = await (await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })).text()
    expect(metrics).to.match(/signalbox_claude_code_exports_total\{signal="logs",outcome="forwarded"\} 1/)
    await gateway.stop()
    collector.close()

    const without = await startForClaude('policies: []')
    const { key } = await newUser(without.gateway)
    expect((await send(without.gateway, 'logs', body, key)).status).to.equal(200)
    await without.gateway.stop()
  })

  it('does not sign in where that is not enabled', async () => {
    const gateway = await startGateway()
    const refused = await postForm(gateway, '/oauth/device_authorization', {})
    expect([refused.status, refused.body]).to.deep.equal([400, { error: 'unauthorized_client' }])
    expect((await gateway.call('GET', '/managed/settings')).status).to.equal(404)
    await gateway.stop()
  })
})
