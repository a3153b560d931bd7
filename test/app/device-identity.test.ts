import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import {
  approveAtProvider,
  approveDevice,
  openPage,
  pollDevice,
  refreshTokens,
  startDevice,
  type Tokens,
} from '../support/device-sign-in.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { type ScriptedOidc, startScriptedOidc } from '../support/scripted-oidc.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const CLI = 'signalbox-cli'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

describe('sign-in of programs at an identity provider', () => {
  let provider: ScriptedOidc
  let gateway: RunningGateway

  beforeEach(async () => {
    provider = await startScriptedOidc()
    gateway = await start()
  })
  afterEach(async () => {
    const log = gateway.stderr()
    for (const secret of provider.issued) expect(log).not.to.contain(secret)
    const audit = await asAdmin('GET', '/admin/audit?limit=100')
    for (const secret of provider.issued) expect(JSON.stringify(audit.body)).not.to.contain(secret)
    await gateway.stop()
    await provider.stop()
  })

  async function start(more = ''): Promise<RunningGateway> {
    const { issuer } = provider
    const settings = await withSettings(`${UNLIMITED}identity:
  claude_code: { enabled: true }
  console:
    issuer: '${issuer}'
    client_id: signalbox
    roles: { claim: groups, map: { gateway-editors: editor } }${more}
  callers:
    - issuer: '${issuer}'
      audience: signalbox
      user: { plan: paid }
      groups: { claim: groups, map: { eng: Engineering, ops: Operations }, create: true }
      require: { employee: true }\n`)
    return startGateway({ ...settings, OIDC_CLIENT_SECRET: 'a-client-secret', LOG_LEVEL: 'trace' })
  }

  const asAdmin = (method: string, path: string, body?: unknown) => gateway.call(method, path, body, AS_ADMIN)
  const chat = (token: string) =>
    gateway.call('POST', '/v1/chat/completions', chatBody('Hello'), bearer(token))
  const readUsers = (token: string) => gateway.call('GET', '/admin/users', undefined, bearer(token))
  const groupsOf = async (name: string) => {
    const user = (await asAdmin('GET', `/admin/users?q=${name}`)).body.data[0]
    const groups = (await asAdmin('GET', '/admin/groups')).body.data
    const names = user.groups.map(
      (id: number) => groups.find((group: { id: number }) => group.id === id).name,
    )
    return names.sort()
  }

  const signInEntries = async () =>
    (await asAdmin('GET', '/admin/audit?kind=access')).body.data.filter(({ event }: { event: string }) =>
      event.startsWith('device_'),
    )

  /** Signs a program in as a person with these groups. */
  async function signIn(sub: string, groups: readonly string[], client?: string): Promise<Tokens> {
    provider.person = { sub, email: `${sub}@example.com`, groups, employee: true }
    const started = await startDevice(gateway, client)
    const page = await approveAtProvider(gateway, started.user_code)
    expect(page.text).to.contain('is signed in')
    return (await pollDevice(gateway, started.device_code)).body
  }

  it('makes a user of the person, with groups, and records by whom', async () => {
    const started = await startDevice(gateway)
    expect((await openPage(gateway, started.user_code)).html).to.contain('company account')
    const { access_token, refresh_token } = await signIn('ada', ['eng', 'other'])
    expect(claimsOf(access_token)).to.deep.include({
      ...{ sub: 'ada', email: 'ada@example.com', groups: ['Engineering'] },
    })
    expect(refresh_token).to.be.a('string')
    expect((await chat(access_token)).status).to.equal(200)
    expect(await groupsOf('ada')).to.deep.equal(['Engineering'])
    const [newest, ...others] = await signInEntries()
    expect([newest.event, ...others.map(({ event }: { event: string }) => event)]).to.deep.equal([
      'device_signed_in',
      'device_approved',
    ])
    expect(newest.actor).to.include({ type: 'identity', name: 'ada@example.com', issuer: provider.issuer })
    expect((await readUsers(access_token)).status).to.equal(403)
  })

  it('asks the provider with every refresh: groups follow, and two at once are one', async () => {
    const first = await signIn('grace', ['eng'])
    provider.person = { ...provider.person, groups: ['ops'] }
    const [one, other] = await Promise.all([1, 2].map(() => refreshTokens(gateway, first.refresh_token)))
    expect([one?.status, other?.status]).to.deep.equal([200, 200])
    expect(claimsOf(one?.body.access_token).groups).to.deep.equal(['Operations'])
    expect(await groupsOf('grace')).to.deep.equal(['Operations'])
    expect(provider.grants.filter((grant) => grant === 'refresh_token')).to.have.lengthOf(1)
    const late = await refreshTokens(gateway, first.refresh_token)
    expect(late.status).to.equal(200)
    expect((await refreshTokens(gateway, late.body.refresh_token)).status).to.equal(200)
  })

  it('waits for a provider that is down, and ends when it refuses', async () => {
    const { access_token, refresh_token } = await signIn('alan', ['eng'])
    provider.answerToken = (res) => res.writeHead(503).end()
    const down = await refreshTokens(gateway, refresh_token)
    expect([down.status, down.body]).to.deep.equal([503, { error: 'temporarily_unavailable' }])
    expect((await chat(access_token)).status).to.equal(200)
    provider.answerToken = (res) => res.writeHead(400).end(JSON.stringify({ error: 'invalid_grant' }))
    const refused = await refreshTokens(gateway, refresh_token)
    expect([refused.status, refused.body]).to.deep.equal([401, { error: 'invalid_grant' }])
    expect((await chat(access_token)).status).to.equal(401)
    expect((await signInEntries())[0].event).to.equal('device_signed_out')
  })

  it('makes an operator of the person with a role, for 15 minutes at a time', async () => {
    const { access_token, refresh_token, expires_in } = await signIn('eve', ['gateway-editors'], CLI)
    expect(expires_in).to.equal(900)
    expect((await readUsers(access_token)).status).to.equal(200)
    const who = await gateway.call('GET', '/oauth/userinfo', undefined, bearer(access_token))
    expect(who.body).to.include({ type: 'operator', name: 'eve@example.com', role: 'editor' })
    provider.person = { ...provider.person, groups: [] }
    expect((await refreshTokens(gateway, refresh_token)).body).to.deep.equal({ error: 'invalid_grant' })
    expect((await readUsers(access_token)).status).to.equal(401)
  })

  it('refuses people without a role, or without the claims that callers need', async () => {
    for (const [client, person] of [
      [CLI, { employee: true, groups: ['eng'] }],
      [undefined, { employee: false, groups: ['eng'] }],
    ] as const) {
      provider.person = { sub: 'nobody', email: 'nobody@example.com', ...person }
      const started = await startDevice(gateway, client)
      const page = await approveAtProvider(gateway, started.user_code)
      expect([page.status, page.text]).to.satisfy(
        ([status, text]: [number, string]) => status === 403 && text.includes('You are signed in, but'),
      )
      expect((await pollDevice(gateway, started.device_code)).body).to.deep.equal({ error: 'access_denied' })
    }
  })

  it('gives no refresh token where the provider cannot be asked again', async () => {
    provider.issuesRefreshTokens = false
    const tokens = await signIn('short', ['eng'])
    expect(tokens).not.to.have.property('refresh_token')
    expect((await chat(tokens.access_token)).status).to.equal(200)
  })

  it('refuses keys where the console does', async () => {
    const strict = await start('\n    only: true')
    const { key } = await newUser(strict)
    const started = await startDevice(strict)
    expect((await openPage(strict, started.user_code)).html).not.to.contain('API key')
    expect((await approveDevice(strict, started.user_code, { key })).text).to.contain('not valid here')
    await strict.stop()
  })
})
