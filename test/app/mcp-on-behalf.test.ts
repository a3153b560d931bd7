import { expect } from 'chai'
import { dump } from 'js-yaml'
import { approveAtProvider, pollDevice, startDevice } from '../support/device-sign-in.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { atUrl, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startHttp, type TestServer } from '../support/mcp/servers.ts'
import { newUser } from '../support/new-user.ts'
import { type ScriptedOidc, startScriptedOidc } from '../support/scripted-oidc.ts'

const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

describe('tool servers that act on behalf of the user', () => {
  let provider: IdentityProvider
  let signIn: ScriptedOidc
  let authorization: TestServer
  let server: TestServer
  let gateway: RunningGateway
  /** How the authorization server answers. */
  let answer: (subject: string) => readonly [number, object]

  before(async () => {
    process.env.MCP_TEST_SECRET = 'the client secret'
    provider = await startIdentityProvider()
    signIn = await startScriptedOidc()
    authorization = await startHttp((_, response, body) => {
      const subject = new URLSearchParams(body).get('subject_token') ?? ''
      const [status, content] = answer(subject)
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content))
    })
    server = await startHttp(({ headers }, response, body) => {
      const [, user] = /^Bearer exchanged-for-(.+)$/.exec(headers.authorization ?? '') ?? []
      if (user === undefined) {
        response.writeHead(401).end()
        return
      }
      const { id, method } = JSON.parse(body)
      const results: Record<string, object> = {
        'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
        // Each user has a tool of their own.
        'tools/list': {
          tools: ['tool', user].map((name) => ({ name, inputSchema: { type: 'object' } })),
        },
        'tools/call': { content: [{ type: 'text', text: user }] },
      }
      const result = { resultType: 'complete', ...results[method] }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    const auth = {
      ...{ type: 'oauth', onBehalfOf: 'user', clientId: 'gateway', scope: 'tools', resource: server.url },
      ...{ tokenUrl: authorization.url, secretRef: 'env:MCP_TEST_SECRET' },
    }
    const callers = [provider.issuer, signIn.issuer].map((issuer) => {
      return { issuer, audience: 'signalbox', user: { plan: 'paid' } }
    })
    const login = {
      issuer: signIn.issuer,
      client_id: 'signalbox',
      roles: { claim: 'groups', map: { none: 'editor' } },
    }
    process.env.OIDC_CLIENT_SECRET = 'a-client-secret'
    gateway = await startToolGateway(
      [atUrl('personal', server.url, auth), atUrl('other', server.url)],
      dump({
        identity: { claude_code: { enabled: true }, console: login, callers },
        breaker: { min_requests: 2, min_callers: 1 },
      }),
    )
  })
  beforeEach(() => {
    authorization.requests.length = 0
    server.requests.length = 0
    answer = (subject) => [200, { access_token: `exchanged-for-${claimsOf(subject).sub}`, expires_in: 3600 }]
  })
  after(async () => {
    await gateway.stop()
    delete process.env.OIDC_CLIENT_SECRET
    await Promise.all([provider.stop(), signIn.stop(), authorization.stop(), server.stop()])
  })

  const token = (sub: string) => provider.sign({ sub, email: sub })
  const call = (key: string, headers = {}) =>
    callToolRaw(gateway, key, { server: 'personal', tool: 'tool' }, headers)
  const refusal = async (key: string) => (await call(key)).body.error

  for (const era of ['modern', 'session'] as const)
    it(`exchange the token of each ${era} caller once, and list and answer for that user`, async () => {
      for (const sub of [`ada-${era}`, `grace-${era}`]) {
        const key = await token(sub)
        const { client } = await connectClient(gateway, '/mcp/personal', era, { key })
        const { tools } = await client.listTools()
        expect(tools.map(({ name }) => name)).to.deep.equal(['tool', sub])
        const { content } = await client.callTool({ name: 'tool', arguments: {} })
        expect(content).to.deep.equal([{ type: 'text', text: sub }])
        await client.close()
        const sent = authorization.requests.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))
        expect(sent.filter(({ subject_token }) => subject_token === key)).to.deep.equal([
          {
            grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
            subject_token: key,
            subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
            client_id: 'gateway',
            client_secret: 'the client secret',
            scope: 'tools',
            resource: server.url,
          },
        ])
        expect(JSON.stringify(server.requests)).to.not.contain(key)
      }
      expect(authorization.requests).to.have.length(2)
    })

  it('get the token from any header that authenticates the caller', async () => {
    const { body } = await call(gateway.demoKey, {
      authorization: '',
      'x-api-key': await token('header'),
    })
    expect(body.result.content[0].text).to.equal('header')
  })

  it('exchange again when the server refuses the token', async () => {
    const key = await token('changed')
    answer = () => [200, { access_token: 'stale', expires_in: 3600 }]
    const refused = await refusal(key)
    expect(refused.data.code).to.equal('tool_server_refused')
    expect(authorization.requests).to.have.length(2)
    answer = () => [200, { access_token: 'exchanged-for-changed', expires_in: 3600 }]
    expect((await call(key)).body.result.content[0].text).to.equal('changed')
  })

  it('exchange again once the token that they got has expired', async () => {
    const key = await token('short')
    answer = () => [200, { access_token: 'exchanged-for-short', expires_in: 30 }]
    let earlier = 0
    for (const _ of [1, 2]) {
      expect((await call(key)).body.result.content[0].text).to.equal('short')
      expect(authorization.requests.length).to.be.greaterThan(earlier)
      earlier = authorization.requests.length
    }
  })

  it('do not see a token of the caller that has expired', async () => {
    const key = await provider.sign({ sub: 'late', exp: Math.floor(Date.now() / 1000) - 3600 })
    const { status, body } = await call(key)
    expect([status, body.error.data.code]).to.deep.equal([401, 'token_expired'])
    expect([authorization.requests, server.requests]).to.deep.equal([[], []])
  })

  it('are not reached without a token to exchange, which is no failure of the server', async () => {
    answer = () => [400, { error: 'invalid_grant', error_description: 'a secret' }]
    const denied = await token('denied')
    for (const _ of [1, 2, 3, 4]) {
      const { data, message } = await refusal(denied)
      expect(data.code).to.equal('tool_server_refused')
      expect(message).to.contain('authorization server of personal').and.contain('400: invalid_grant')
      expect(message).to.not.contain('secret')
    }
    const { key } = await newUser(gateway)
    for (const _ of [1, 2, 3, 4]) expect((await refusal(key)).message).to.contain('acts on behalf of users')
    answer = () => [200, { access_token: 'exchanged-for-denied', expires_in: 3600 }]
    expect((await call(denied)).body.result.content[0].text).to.equal('denied')
    expect(gateway.stderr()).to.not.contain(denied).and.not.contain('the client secret')
  })

  it('never send a token that the gateway has issued to a program', async () => {
    signIn.person = { sub: 'program', email: 'program@example.com', groups: [] }
    const started = await startDevice(gateway)
    await approveAtProvider(gateway, started.user_code)
    const { access_token } = (await pollDevice(gateway, started.device_code)).body
    const bearer = { authorization: `Bearer ${access_token}` }
    expect((await gateway.call('GET', '/v1/models', undefined, bearer)).status).to.equal(200)
    expect((await refusal(access_token)).message).to.contain('acts on behalf of users')
    expect(authorization.requests).to.be.empty
  })
})
