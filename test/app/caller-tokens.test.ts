import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { exportSPKI, type JWTPayload } from 'jose'
import { chatBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import {
  createSigningKey,
  type IdentityProvider,
  startIdentityProvider,
} from '../support/identity-provider.ts'
import { firewallRule, newPolicy } from '../support/policies.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const CHAT = '/v1/chat/completions'

/** A gateway that trusts an issuer, with further fields of its row. */
async function startTrusting(issuer: string, more = ''): Promise<RunningGateway> {
  return startGateway(
    await withSettings(`${UNLIMITED}limits: { auth_failures_per_minute: null }
identity: { callers: [{ issuer: '${issuer}', audience: signalbox, user: { plan: paid }${more} }] }\n`),
  )
}

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('tokens of callers', () => {
  let provider: IdentityProvider
  let gateway: RunningGateway

  before(async () => {
    provider = await startIdentityProvider()
    gateway = await startTrusting(
      provider.issuer,
      ', groups: { claim: realm_access.roles, map: { eng: Engineering, ops: Operations }, create: true }',
    )
  })
  after(async () => {
    await gateway.stop()
    await provider.stop()
  })

  const asAdmin = (method: string, path: string, body?: unknown) => gateway.call(method, path, body, AS_ADMIN)
  const chat = (token: string, to = gateway) =>
    to.call('POST', CHAT, chatBody('Hello'), { authorization: `Bearer ${token}` })
  const findUser = async (name: string) =>
    (await asAdmin('GET', `/admin/users?q=${encodeURIComponent(name)}`)).body.data[0]

  it('are accepted on every inference endpoint, by the official client as well', async () => {
    const token = await provider.sign({ sub: 'client', email: 'client@example.com' })
    const answer = await gateway.openai(token).chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'Hello' }],
    })
    expect(answer.choices[0]?.message.content).to.be.a('string')
    for (const path of ['/v1/responses', '/v1/messages', '/v1/embeddings', '/v1/completions']) {
      const body = { model: 'gpt-4o', max_tokens: 20, input: 'Hello', prompt: 'Hello', ...chatBody('Hello') }
      const { status } = await gateway.call('POST', path, body, { authorization: `Bearer ${token}` })
      expect(status, path).not.to.equal(401)
    }
    expect((await gateway.call('GET', '/v1/models', undefined, { 'x-api-key': token })).status).to.equal(200)
  })

  it('are said to clients of /mcp to come from the issuer, and nothing else to others', async () => {
    for (const path of ['/mcp', '/mcp/files']) {
      const refused = await gateway.call('POST', path, {}, { authorization: 'Bearer nothing' })
      const metadata = `${gateway.url}/.well-known/oauth-protected-resource${path}`
      const header = refused.headers.get('www-authenticate')
      expect([refused.status, header]).to.deep.equal([401, `Bearer resource_metadata="${metadata}"`])
      expect(await (await fetch(metadata)).json()).to.deep.equal({
        resource: gateway.url + path,
        resource_name: 'Signalbox',
        authorization_servers: [provider.issuer],
        bearer_methods_supported: ['header'],
      })
    }
    const chat = await gateway.call('POST', CHAT, chatBody('Hello'), { authorization: 'Bearer nothing' })
    expect([chat.status, chat.headers.get('www-authenticate')]).to.deep.equal([401, null])
  })

  it('make users and groups by events whose actor is the subject', async () => {
    const claims = { sub: 'grace', email: 'grace@example.com', realm_access: { roles: ['eng', 'other'] } }
    const responses = await Promise.all([
      chat(await provider.sign(claims)),
      chat(await provider.sign({ ...claims, jti: 'another' })),
    ])
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 200])
    const user = await findUser('grace@example.com')
    expect(user).to.include({ name: 'grace@example.com', plan: 'paid' })
    expect(user.keys).to.deep.equal([])
    const groups = (await asAdmin('GET', '/admin/groups?q=Engineering')).body.data
    expect(groups.map(({ name }: { name: string }) => name)).to.deep.equal(['Engineering'])
    expect(user.groups).to.deep.equal([groups[0].id])

    const { data } = (await asAdmin('GET', '/admin/audit?limit=100')).body
    const made = data.filter(({ actor }: { actor: { id: string } }) => actor.id.endsWith('#grace'))
    expect(made.length).to.be.greaterThan(2)
    const actor = {
      type: 'identity',
      id: `${provider.issuer}#grace`,
      name: 'grace@example.com',
      issuer: provider.issuer,
    }
    for (const entry of made) expect(entry.actor).to.deep.equal(actor)
  })

  it('move users between groups, and leave alone what operators set', async () => {
    const sign = (roles: string[]) => provider.sign({ sub: 'mover', email: 'mover', realm_access: { roles } })
    await chat(await sign(['eng']))
    const { id, groups } = await findUser('mover')
    const byHand = (await asAdmin('POST', '/admin/groups', { name: 'By hand' })).body.data.id
    await asAdmin('PUT', `/admin/groups/${byHand}/members/${id}`)
    expect((await chat(await sign(['ops']))).status).to.equal(200)
    const moved = await findUser('mover')
    expect(moved.groups).to.have.lengthOf(2).and.to.include(byHand).and.not.to.include(groups[0])
    await chat(await sign([]))
    expect((await findUser('mover')).groups).to.deep.equal([byHand])
  })

  it('have the policies of groups at once, limits of users, and records', async () => {
    const claims = { sub: 'ruled', email: 'ruled', realm_access: { roles: ['ops'] } }
    await chat(await provider.sign(claims))
    const [operations] = (await asAdmin('GET', '/admin/groups?q=Operations')).body.data
    await newPolicy(gateway, {
      applies_to: { groups: [operations.id] },
      firewall: [firewallRule({ pattern: 'launch code' })],
    })
    const newcomer = await provider.sign({ ...claims, sub: 'newcomer', email: 'newcomer' })
    const headers = { authorization: `Bearer ${newcomer}` }
    expect((await gateway.call('POST', CHAT, chatBody('The launch code'), headers)).status).to.equal(403)
    const { id } = await findUser('newcomer')
    const { body } = await asAdmin('GET', `/admin/requests?user=${id}`)
    expect(body.data[0]).to.include({ user_id: id, key_id: null, status: 403 })
    await asAdmin('PATCH', `/admin/users/${id}`, { requests_per_minute: 1 })
    await chat(newcomer)
    expect((await chat(newcomer)).status).to.equal(429)
  })

  it('name no operator as an actor, whatever the subject is called', async () => {
    for (const sub of ['root', 'operator_gGvBxwr2CTTZ4RYVqXhM0SkL', 'system']) {
      const token = await provider.sign({ sub, email: sub, realm_access: { roles: ['admin'] } })
      expect((await chat(token)).status).to.equal(200)
      const asCaller = { authorization: `Bearer ${token}` }
      expect((await gateway.call('GET', '/admin/users', undefined, asCaller)).status).to.equal(401)
      const { data } = (await asAdmin('GET', `/admin/audit?actor=${sub}&kind=user`)).body
      const types = data.map(({ actor }: { actor: { type: string } }) => actor.type)
      expect(types).not.to.include('identity')
    }
  })

  it('are refused with wrong claims', async () => {
    const now = Math.floor(Date.now() / 1000)
    const refused: [string, JWTPayload | 'aud' | 'exp' | 'sub', string][] = [
      ['wrong audience', { aud: 'another' }, 'token_invalid'],
      ['no audience', 'aud', 'token_invalid'],
      ['another issuer with the right key', { iss: 'https://issuer.example.com' }, 'token_invalid'],
      ['expired by 61 s', { exp: now - 61 }, 'token_expired'],
      ['no expiry', 'exp', 'token_invalid'],
      ['valid in two minutes', { nbf: now + 120 }, 'token_invalid'],
      ['no subject', 'sub', 'token_invalid'],
      ['empty subject', { sub: '' }, 'token_invalid'],
      ['groups left out', { _claim_names: { 'realm_access.roles': 'src1' } }, 'token_invalid'],
    ]
    for (const [name, wrong, code] of refused) {
      const claims = typeof wrong === 'string' ? ({ [wrong]: null } as unknown as JWTPayload) : wrong
      const { status, body } = await chat(await provider.sign(claims))
      expect([status, body.error?.code], name).to.deep.equal([401, code])
    }
    expect((await chat(await provider.sign({ sub: 'late', exp: now - 30 }))).status).to.equal(200)
  })

  it('are refused with forged signatures', async () => {
    const provider = await startIdentityProvider()
    const [header = '', payload = '', signature = ''] = (await provider.sign()).split('.')
    const rsa = await createSigningKey('rsa', 'RS256')
    provider.publish([rsa])
    const fresh = await startTrusting(provider.issuer)
    expect((await chat(await provider.sign({}, rsa), fresh)).status).to.equal(200)
    const hmac = (key: string | Buffer) => {
      const text = `${base64({ alg: 'HS256', kid: 'rsa' })}.${payload}`
      return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
    }
    const forged = {
      none: `${base64({ alg: 'none' })}.${payload}.`,
      'none with a signature': `${base64({ alg: 'None', kid: 'rsa' })}.${payload}.${signature}`,
      'HMAC with the public key': hmac(await exportSPKI(rsa.publicKey)),
      'HMAC with the key as JSON': hmac(JSON.stringify(rsa.jwk)),
      'another key of the same name': await provider.sign({}, await createSigningKey('rsa', 'RS256')),
      'a path as kid': await provider.sign(
        {},
        { ...rsa, ...(await createSigningKey('../../dev/null', 'RS256')) },
      ),
      'a changed payload': `${header}.${base64({ iss: provider.issuer, sub: 'root' })}.${signature}`,
      'no signature': `${header}.${payload}.`,
      'its own key': `${base64({ alg: 'RS256', jwk: rsa.jwk, jku: provider.issuer })}.${payload}.${signature}`,
    }
    for (const [name, token] of Object.entries(forged)) {
      const { status, body } = await chat(token, fresh)
      expect([status, body.error?.code], name).to.deep.equal([401, 'token_invalid'])
      expect(JSON.stringify(body), name).not.to.contain(token)
      expect(fresh.stderr(), name).not.to.contain(token.split('.')[2] || token)
    }
    expect((await chat('not.a.token', fresh)).body.error.code).to.equal('invalid_api_key')
    const inQuery = `${fresh.url}${CHAT}?access_token=${await provider.sign({}, rsa)}`
    const body = JSON.stringify(chatBody('Hello'))
    const json = { 'content-type': 'application/json' }
    expect((await fetch(inQuery, { method: 'POST', headers: json, body })).status).to.equal(401)
    await fresh.stop()
    await provider.stop()
  })

  it('need a user that exists where none is created, and its required claims', async () => {
    const other = await startIdentityProvider()
    const config = await withSettings(`${UNLIMITED}identity:
  callers:
    - issuer: '${other.issuer}'
      audience: [a, signalbox]
      user: { create: false }
      require: { repository_owner: acme, amr: mfa }\n`)
    const closed = await startGateway(config)
    const sign = (claims: object) => other.sign({ repository_owner: 'acme', amr: ['pwd', 'mfa'], ...claims })
    const unknown = await chat(await sign({ sub: 'nobody' }), closed)
    expect([unknown.status, unknown.body.error.code]).to.deep.equal([403, 'user_unknown'])
    const wrong = await chat(await sign({ repository_owner: 'evil' }), closed)
    expect([wrong.status, wrong.body.error.code]).to.deep.equal([401, 'token_invalid'])
    expect(wrong.body.error.message).to.contain('repository_owner')

    const { id } = (await closed.call('POST', '/admin/users', { name: 'CI', plan: 'free' }, AS_ADMIN)).body
      .data
    const identity = { issuer: other.issuer, subject: 'ci' }
    const linked = await closed.call('PUT', `/admin/users/${id}/identity`, identity, AS_ADMIN)
    expect([linked.status, linked.body.data]).to.deep.equal([200, identity])
    const token = await sign({ sub: 'ci' })
    expect((await chat(token, closed)).status).to.equal(200)
    const { data } = (await closed.call('GET', `/admin/users/${id}`, undefined, AS_ADMIN)).body
    expect(data.identity).to.deep.equal(identity)
    expect((await closed.call('DELETE', `/admin/users/${id}/identity`, undefined, AS_ADMIN)).status).to.equal(
      200,
    )
    expect((await chat(token, closed)).body.error.code).to.equal('user_unknown')
    await closed.stop()
    await other.stop()
  })

  it('are decided about again by simulations and what-if', async () => {
    const settings = await withSettings(`${UNLIMITED}ledger: { record_prompts: full }
identity: { callers: [{ issuer: '${provider.issuer}', audience: signalbox, user: { plan: paid },
  groups: { claim: groups, create: true } }] }\n`)
    const recording = await startGateway({ ...settings, RECORD_KEY: randomBytes(32).toString('base64') })
    const claims = { sub: 'recorded', email: 'recorded', groups: ['Legal'] }
    const token = await provider.sign(claims)
    const headers = { authorization: `Bearer ${token}` }
    const answered = await recording.call('POST', CHAT, chatBody('the merger is near'), headers)
    const groups = await recording.call('GET', '/admin/groups?q=Legal', undefined, AS_ADMIN)
    const draft = {
      name: 'Draft',
      is_enabled: true,
      priority: 0,
      applies_to: { groups: [groups.body.data[0].id] },
      firewall_rules: [firewallRule({ name: 'Merger', pattern: 'merger' })],
    }
    const file = { policies: [draft] }
    const whatIf = await recording.call('POST', '/admin/what-if', { file }, AS_ADMIN)
    expect(whatIf.status, JSON.stringify(whatIf.body)).to.equal(200)
    expect(whatIf.body.data).to.deep.include({ requests: 1, evaluated: 1 })
    expect(whatIf.body.data.effects).to.include({ blocked: 1 })
    expect(whatIf.body.data.reproduced).to.deep.include({ same: 1, different: 0 })
    const { data } = (await recording.call('GET', '/admin/users?q=recorded', undefined, AS_ADMIN)).body
    const simulation = {
      user_id: data[0].id,
      request: chatBody('the merger is near'),
      request_id: answered.headers.get('x-request-id'),
    }
    const again = await recording.call('POST', '/admin/simulate', simulation, AS_ADMIN)
    expect(again.status, JSON.stringify(again.body)).to.equal(200)
    await recording.stop()
  })

  it('have the claims of workloads, as the guides configure them', async () => {
    const other = await startIdentityProvider()
    const row = (audience: string, more: string) =>
      `    - { issuer: '${other.issuer}', audience: ${audience}, ${more} }\n`
    const workloads = await startGateway(
      await withSettings(
        `${UNLIMITED}identity:\n  callers:\n${[
          row(
            'github',
            'user: { id: repository_id, name: repository }, require: { repository_owner_id: "9919", ref_protected: "true" }',
          ),
          row(
            'kubernetes',
            'user: { name: sub }, groups: { claim: kubernetes.io.namespace, map: { batch: Batch jobs }, create: true }',
          ),
          row(
            'entra',
            'user: { id: oid, name: preferred_username }, groups: { claim: groups, map: { 7b1c: Engineering } }',
          ),
        ].join('')}`,
      ),
    )
    const github = {
      aud: 'github',
      sub: 'repo:acme/app:ref:refs/heads/main',
      repository: 'acme/app',
      repository_id: '41881900',
      repository_owner_id: '9919',
      ref_protected: 'true',
    }
    const serviceAccount = 'system:serviceaccount:batch:nightly'
    const namespace = { namespace: 'batch', serviceaccount: { name: 'nightly' } }
    const cases: [JWTPayload, number][] = [
      [github, 200],
      [{ ...github, sub: 'repo:acme/app:pull_request', ref_protected: 'false' }, 401],
      [{ ...github, repository_owner_id: '1' }, 401],
      [{ aud: 'kubernetes', sub: serviceAccount, 'kubernetes.io': namespace }, 200],
      [
        {
          aud: 'entra',
          sub: 'pairwise',
          oid: '51f1',
          preferred_username: 'ada@acme.example.com',
          groups: ['7b1c'],
        },
        200,
      ],
      [{ aud: 'entra', sub: 'pairwise' }, 401],
    ]
    for (const [claims, status] of cases)
      expect((await chat(await other.sign(claims), workloads)).status, JSON.stringify(claims)).to.equal(
        status,
      )
    const { data } = (await workloads.call('GET', '/admin/users', undefined, AS_ADMIN)).body
    const names = data.map(({ name, identity }: { name: string; identity?: { subject: string } }) => [
      name,
      identity?.subject,
    ])
    expect(names).to.deep.include(['acme/app', '41881900'])
    expect(names).to.deep.include([serviceAccount, serviceAccount])
    expect(names).to.deep.include(['ada@acme.example.com', '51f1'])
    const { data: groups } = (await workloads.call('GET', '/admin/groups', undefined, AS_ADMIN)).body
    expect(groups.map(({ name }: { name: string }) => name)).to.deep.equal(['Batch jobs'])
    await workloads.stop()
    await other.stop()
  })
})

describe('keys of an issuer', () => {
  const chat = (gateway: RunningGateway, token: string) =>
    gateway.call('POST', CHAT, chatBody('Hello'), { authorization: `Bearer ${token}` })

  it('are fetched once, and again for an unknown key, at most once a minute', async () => {
    const provider = await startIdentityProvider()
    const gateway = await startTrusting(provider.issuer)
    const tokens = await Promise.all(['a', 'b', 'c'].map((sub) => provider.sign({ sub })))
    const statuses = await Promise.all(tokens.map((token) => chat(gateway, token)))
    expect(statuses.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    expect(provider.fetches()).to.equal(1)
    const second = await createSigningKey('second')
    for (const attempt of [1, 2, 3]) {
      const { body } = await chat(gateway, await provider.sign({ sub: `d${attempt}` }, second))
      expect(body.error.code).to.equal('token_invalid')
    }
    expect(provider.fetches()).to.equal(1)
    await gateway.stop()
    await provider.stop()
  })

  it('cannot be had from a server that hangs, fails, or sends too much: 503', async () => {
    const keys = await Promise.all([...Array(3)].map((_, index) => createSigningKey(`k${index}`)))
    const many = Array.from({ length: 10_000 }, (_, index) => ({ ...keys[0]?.jwk, kid: `k${index}` }))
    const servers: Record<string, (res: ServerResponse) => void> = {
      'ten thousand keys': (res) => res.end(JSON.stringify({ keys: many })),
      'no JSON': (res) => res.end('<html>'),
      'an error': (res) => void res.writeHead(500).end('{"keys":[]}'),
      'another place': (res) => void res.writeHead(302, { location: '/elsewhere' }).end(),
      'a broken connection': (res) => res.destroy(),
    }
    for (const [name, answer] of Object.entries(servers)) {
      const provider = await startIdentityProvider()
      provider.publish(answer)
      const gateway = await startTrusting(provider.issuer)
      const { status, headers, body } = await chat(gateway, await provider.sign())
      expect([status, body.error.code], name).to.deep.equal([503, 'identity_unavailable'])
      expect(headers.get('retry-after'), name).to.equal('60')
      await gateway.stop()
      await provider.stop()
    }
  })

  it('are given up when the process stops while the server hangs', async () => {
    const provider = await startIdentityProvider()
    const held = new Promise<ServerResponse>((resolve) => provider.publish(resolve))
    const gateway = await startTrusting(provider.issuer)
    const answered = chat(gateway, await provider.sign())
    const response = await held
    const closed = once(response, 'close')
    await Promise.all([gateway.stop(), closed])
    expect((await answered.catch(() => ({ status: 503 }))).status).to.equal(503)
    await provider.stop()
  })
})
