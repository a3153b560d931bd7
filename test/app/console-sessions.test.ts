import { expect } from 'chai'
import { stopClock } from '../support/clock.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { withSettings } from '../support/settings.ts'

/** What a browser keeps of a session. */
interface TestSession {
  readonly answer: Answer
  readonly cookie: string
  readonly csrf: string
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** As `call`, with the token that changes need. */
  change(method: string, path: string, body?: unknown): Promise<Answer>
}

const CHAT = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }

const toBearer = (key: string) => ({ authorization: `Bearer ${key}` })

describe('sessions of the console', () => {
  let gateway: RunningGateway

  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  async function signIn(
    headers: Record<string, string>,
    path = '/console/session',
    body?: unknown,
  ): Promise<TestSession> {
    const answer = await gateway.call('POST', path, body, headers)
    const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
    const csrf = answer.body.data?.csrf_token
    // `call` of the gateway sends the demo key unless the header is replaced: a browser sends none.
    const call = (method: string, path: string, content?: unknown, more: Record<string, string> = {}) =>
      gateway.call(method, path, content, { authorization: '', cookie, ...more })
    const change = (method: string, path: string, content?: unknown) =>
      call(method, path, content, { 'x-csrf-token': csrf })
    return { answer, cookie, csrf, call, change }
  }

  it('start with the key of an operator, in a cookie that scripts cannot read', async () => {
    const operator = await newOperator(gateway, 'editor', 'Grace')
    const { answer, call, csrf } = await signIn(operator.headers)
    expect(answer.status).to.equal(201)
    expect(answer.body.data).to.include({ type: 'operator', id: operator.id, name: 'Grace', role: 'editor' })
    const setCookie = answer.headers.get('set-cookie') ?? ''
    expect(setCookie).to.match(/; Path=\/; Max-Age=129600; HttpOnly; SameSite=Strict$/)
    expect(setCookie).not.to.contain(operator.key)

    const session = await call('GET', '/console/session')
    expect(session.body.data).to.include({ name: 'Grace', csrf_token: csrf })
    expect((await call('GET', '/admin/policies')).status).to.equal(200)
  })

  it('start with the ADMIN_KEY, below the path of a proxy, and with TLS for TLS only', async () => {
    const headers = { ...AS_ADMIN, origin: 'https://signalbox.example.com' }
    const { answer, call } = await signIn(headers, '/console/session', { path: '/gateway/' })
    expect(answer.body.data).to.include({ type: 'root', role: 'admin' })
    expect(answer.headers.get('set-cookie')).to.match(/; Path=\/gateway\/; .*; Secure$/)
    expect((await call('GET', '/admin/users')).status).to.equal(200)
    const injected = await signIn(headers, '/console/session', { path: '/; Domain=example.com' })
    expect(injected.answer.status).to.equal(400)
  })

  it('start with the API key of a user, for what the user may read and change', async () => {
    const user = await newUser(gateway, 'paid')
    const { answer, call, change } = await signIn(
      { authorization: `Bearer ${user.key}` },
      '/console/user-session',
    )
    expect(answer.body.data).to.include({ type: 'user', role: null, plan: 'paid' })
    expect((await call('GET', '/v1/requests')).status).to.equal(200)
    const rule = { name: 'R', is_enabled: true, scope: 'prompt', type: 'substring', pattern: 'x' }
    const created = await change('POST', '/v1/firewall-rules', { ...rule, action: 'warn', priority: 0 })
    expect(created.status).to.equal(201)
    const refused = await call('GET', '/admin/users')
    expect(refused.status).to.equal(403)
    expect(refused.body.error.message).to.contain('for operators')
  })

  it('never start with a wrong key, without a key, or with a session', async () => {
    expect((await signIn({ authorization: 'Bearer op_wrong' })).answer.status).to.equal(401)
    expect((await signIn({ authorization: '' })).answer.status).to.equal(401)
    const { change } = await signIn(AS_ADMIN)
    const again = await change('POST', '/console/session')
    expect(again.status).to.equal(401)
    expect(again.headers.get('set-cookie')).to.equal(null)
  })

  it('need their token for changes', async () => {
    const { call, change } = await signIn(AS_ADMIN)
    const other = await signIn(AS_ADMIN)
    const group = { name: 'Support' }
    for (const headers of [{}, { 'x-csrf-token': 'x' }, { 'x-csrf-token': `${other.csrf}x` }]) {
      const refused = await call('POST', '/admin/groups', group, headers as Record<string, string>)
      expect(refused.status).to.equal(403)
      expect(refused.headers.get('x-error-code')).to.equal('csrf_token_invalid')
    }
    expect((await change('POST', '/admin/groups', group)).status).to.equal(201)
  })

  it('have the role of the operator, and end when it changes or the operator is removed', async () => {
    const operator = await newOperator(gateway, 'auditor')
    const path = `/admin/operators/${operator.id}`
    const first = await signIn(operator.headers)
    const refused = await first.change('POST', '/admin/groups', { name: 'No' })
    expect(refused.headers.get('x-error-code')).to.equal('role_required')

    await gateway.call('PATCH', path, { role: 'editor' }, AS_ADMIN)
    const ended = await first.call('GET', '/admin/policies')
    expect(ended.status).to.equal(401)
    expect(ended.body.error.message).to.contain('Sign in again')

    const second = await signIn(operator.headers)
    expect((await second.call('GET', '/admin/policies')).status).to.equal(200)
    await gateway.call('DELETE', path, undefined, AS_ADMIN)
    expect((await second.call('GET', '/admin/policies')).status).to.equal(401)
    expect((await second.call('GET', '/console/session')).body.data).to.equal(null)
  })

  it('end when the key of the user is revoked', async () => {
    const user = await newUser(gateway, 'paid')
    const { answer, call } = await signIn({ authorization: `Bearer ${user.key}` }, '/console/user-session')
    expect((await call('GET', '/v1/requests')).status).to.equal(200)
    await gateway.call('DELETE', `/admin/keys/${answer.body.data.id}`, undefined, AS_ADMIN)
    expect((await call('GET', '/v1/requests')).status).to.equal(401)
  })

  it('stay ended, however their cookie is written', async () => {
    const { cookie, change } = await signIn(AS_ADMIN)
    const [name, value = ''] = cookie.split('=')
    const parts = value.split('~')
    const spellings = [
      ...['~', '~x', ' ', '=', '"'].map((more) => `${value}${more}`),
      `"${value}"`,
      parts.with(2, `+${parts[2]}`).join('~'),
      parts.with(2, `${parts[2]}.0`).join('~'),
    ]
    expect((await change('DELETE', '/console/session')).status).to.equal(200)
    for (const spelling of [value, ...spellings]) {
      const headers = { authorization: '', cookie: `${name}=${spelling}` }
      const { status } = await gateway.call('GET', '/admin/users', undefined, headers)
      expect(status, spelling).to.equal(401)
      const shown = await gateway.call('GET', '/console/session', undefined, headers)
      expect(shown.body.data, spelling).to.equal(null)
    }
  })

  it('cannot be forged, prolonged or passed to another holder', async () => {
    const { cookie } = await signIn(AS_ADMIN)
    const [type, id, expires, nonce, signature] = cookie.replace('signalbox_session=', '').split('~')
    const operator = await newOperator(gateway, 'auditor')
    const forged = [
      [type, id, Number(expires) + 1, nonce, signature],
      [type, id, expires, `${nonce}x`, signature],
      ['operator', operator.id, expires, nonce, signature],
      [type, id, expires, nonce, ''],
      ['constructor', id, expires, nonce, signature],
      ['x'],
    ]
    for (const parts of forged) {
      const headers = { authorization: '', cookie: `signalbox_session=${parts.join('~')}` }
      const { status } = await gateway.call('GET', '/admin/users', undefined, headers)
      expect(status, parts.join('~')).to.equal(401)
    }
  })

  it('of users send chats, with their token, which count as requests of the key', async () => {
    const user = await newUser(gateway, 'paid')
    const { answer, call, change, csrf } = await signIn(toBearer(user.key), '/console/user-session')
    expect(answer.body.data.sends_chats).to.equal(true)
    const sent = await change('POST', '/v1/chat/completions', CHAT)
    expect(sent.status).to.equal(200)
    const record = await user.call('GET', `/v1/requests/${sent.headers.get('x-request-id')}`)
    expect(record.body.data).to.include({ user_id: user.id, key_id: user.keyId, status: 200 })

    for (const headers of [{}, { 'x-csrf-token': 'x' }, { 'x-csrf-token': `${csrf}x` }]) {
      const refused = await call('POST', '/v1/chat/completions', CHAT, headers as Record<string, string>)
      expect([refused.status, refused.headers.get('x-error-code')]).to.deep.equal([403, 'csrf_token_invalid'])
    }
    const { body } = await user.call('GET', '/v1/requests')
    expect(body.data.map(({ status }: { status: number }) => status)).to.deep.equal([200])
  })

  it('of users have the restrictions of the key, and its end', async () => {
    const { id } = await newUser(gateway, 'paid')
    const newKey = async (terms: object) =>
      (await gateway.call('POST', `/admin/users/${id}/keys`, terms, AS_ADMIN)).body.data
    const chatWith = async (key: string) => {
      const { change } = await signIn(toBearer(key), '/console/user-session')
      return async () => {
        const { status, headers } = await change('POST', '/v1/chat/completions', CHAT)
        return [status, headers.get('x-error-code')]
      }
    }
    const narrow = await newKey({ models: ['gpt-4o-mini'] })
    expect(await (await chatWith(narrow.key))()).to.deep.equal([403, 'model_not_allowed'])
    const elsewhere = await newKey({ endpoints: ['/console', '/v1/requests'] })
    expect(await (await chatWith(elsewhere.key))()).to.deep.equal([403, 'endpoint_not_allowed'])
    const revoked = await newKey({})
    const chat = await chatWith(revoked.key)
    expect(await chat()).to.deep.equal([200, null])
    await gateway.call('DELETE', `/admin/keys/${revoked.id}`, undefined, AS_ADMIN)
    expect(await chat()).to.deep.equal([401, 'session_ended'])
  })

  it('are not accepted for other inference, nor those of operators', async () => {
    const user = await newUser(gateway, 'paid')
    const { change } = await signIn(toBearer(user.key), '/console/user-session')
    const bodies: Record<string, object> = {
      '/v1/messages': { ...CHAT, max_tokens: 10 },
      '/v1/responses': { model: 'gpt-4o', input: 'Hi' },
      '/v1/completions': { model: 'gpt-4o', prompt: 'Hi' },
      '/v1/embeddings': { model: 'text-embedding-3-small', input: 'Hi' },
      '/v1/moderations': { input: 'Hi' },
    }
    for (const [path, body] of Object.entries(bodies)) {
      expect((await user.call('POST', path, body)).status, path).to.equal(200)
      expect((await change('POST', path, body)).status, path).to.equal(401)
    }
    const operator = await newOperator(gateway, 'admin')
    for (const headers of [operator.headers, AS_ADMIN]) {
      const session = await signIn(headers)
      expect(session.answer.body.data.sends_chats).to.equal(false)
      const refused = await session.change('POST', '/v1/chat/completions', CHAT)
      expect([refused.status, refused.body.error.message]).to.deep.equal([
        403,
        'This endpoint is for users. You are signed in as an operator.',
      ])
    }
  })

  it('are not accepted for any inference without the playground', async () => {
    const config = await withSettings(`plugins:
  remove: [console]
  add: [{ use: console, after: openapi, options: { playground: false } }]
`)
    const other = await startGateway(config)
    const user = await newUser(other, 'paid')
    const answer = await other.call('POST', '/console/user-session', undefined, toBearer(user.key))
    expect(answer.body.data.sends_chats).to.equal(false)
    const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
    const headers = { authorization: '', cookie, 'x-csrf-token': answer.body.data.csrf_token }
    expect((await other.call('POST', '/v1/chat/completions', CHAT, headers)).status).to.equal(401)
    expect((await other.call('POST', '/v1/simulate', CHAT, headers)).status).to.equal(200)
    await other.stop()
  })

  it('cannot create keys that could be derived again', async () => {
    const { call, csrf } = await signIn(AS_ADMIN)
    const headers = { 'x-csrf-token': csrf, 'idempotency-key': 'once' }
    const answer = await call('POST', '/admin/operators', { name: 'Eve', role: 'admin' }, headers)
    expect(answer.status).to.equal(400)
    expect(answer.body.error.message).to.contain('Idempotency-Key')
  })

  it('end when signing out, which needs the token, too, in the browser and for a copy of the cookie', async () => {
    const user = await newUser(gateway, 'paid')
    const operator = await newOperator(gateway, 'editor', 'Grace')
    for (const [headers, path, read] of [
      [AS_ADMIN, '/console/session', '/admin/users'],
      [operator.headers, '/console/session', '/admin/users'],
      [{ authorization: `Bearer ${user.key}` }, '/console/user-session', '/v1/requests'],
    ] as const) {
      const { call, change, csrf } = await signIn(headers, path)
      const other = await signIn(headers, path)
      expect((await call('DELETE', '/console/session')).status).to.equal(403)
      expect((await call('GET', read)).status).to.equal(200)
      const out = await change('DELETE', '/console/session')
      expect(out.status).to.equal(200)
      expect(out.headers.get('set-cookie')).to.match(/^signalbox_session=; Path=\/; Max-Age=0;/)
      expect((await call('GET', read)).status).to.equal(401)
      expect((await call('GET', '/console/session')).body).to.deep.equal({ data: null })
      expect((await call('POST', '/admin/groups', { name: 'G' }, { 'x-csrf-token': csrf })).status).to.equal(
        401,
      )
      expect((await change('DELETE', '/console/session')).status).to.equal(200)
      expect((await other.call('GET', read)).status).to.equal(200)
    }
  })

  it('stay ended after a restart, and are in the audit trail without the cookie', async () => {
    const first = await startGateway()
    const answer = await first.call('POST', '/console/session', undefined, AS_ADMIN)
    const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
    const headers = { authorization: '', cookie, 'x-csrf-token': answer.body.data.csrf_token }
    await first.call('DELETE', '/console/session', undefined, headers)
    await first.stop()
    const second = await startGateway({}, { dataDir: first.dataDir })
    expect((await second.call('GET', '/admin/users', undefined, headers)).status).to.equal(401)
    const audit = await second.call('GET', '/admin/audit?kind=access', undefined, AS_ADMIN)
    expect(audit.body.data.map(({ event }: { event: string }) => event)).to.include('signed_out')
    expect(JSON.stringify(audit.body)).not.to.contain(cookie.split('~').at(-1))
    await second.stop()
  })

  it('that have ended are refused by name, and recorded for the one who had signed in', async () => {
    const first = await startGateway()
    const operator = await newOperator(first, 'editor', 'Grace')
    const answer = await first.call('POST', '/console/session', undefined, operator.headers)
    const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
    const clock = stopClock()
    clock.pass(13 * 3_600_000)
    const refused = await first.call('GET', '/admin/users', undefined, { authorization: '', cookie })
    clock.restore()
    expect([refused.status, refused.headers.get('x-error-code')]).to.deep.equal([401, 'session_ended'])
    await first.stop()
    const second = await startGateway({}, { dataDir: first.dataDir })
    const audit = await second.call('GET', `/admin/audit?actor=${operator.id}`, undefined, AS_ADMIN)
    const [entry] = audit.body.data
    expect([entry.event, entry.actor.name, entry.data.code]).to.deep.equal([
      'refused',
      'Grace',
      'session_ended',
    ])
    await second.stop()
  })

  it('survive a restart of the gateway', async () => {
    const first = await startGateway()
    const answer = await first.call('POST', '/console/session', undefined, AS_ADMIN)
    const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
    await first.stop()
    const second = await startGateway({}, { dataDir: first.dataDir })
    const headers = { authorization: '', cookie }
    expect((await second.call('GET', '/admin/users', undefined, headers)).status).to.equal(200)
    await second.stop()
    const other = await startGateway({ ADMIN_KEY: 'another-admin-key-for-tests' }, { dataDir: first.dataDir })
    expect((await other.call('GET', '/admin/users', undefined, headers)).status).to.equal(401)
    await other.stop()
  })
})

describe('signing in to the console', () => {
  it('is limited by address', async () => {
    const gateway = await startGateway({ CONFIG: '' })
    const wrong = { authorization: `Bearer op_${'x'.repeat(43)}` }
    const statuses = new Set<number>()
    for (let n = 0; n < 30; n++)
      statuses.add((await gateway.call('POST', '/console/session', undefined, wrong)).status)
    expect([...statuses]).to.deep.equal([401, 429])
    await gateway.stop()
  })

  it('is in the audit trail', async () => {
    const gateway = await startGateway()
    const { body } = await gateway.call(
      'POST',
      '/admin/operators',
      { name: 'Ada', role: 'auditor' },
      AS_ADMIN,
    )
    await gateway.call('POST', '/console/session', undefined, { authorization: `Bearer ${body.data.key}` })
    const audit = await gateway.call(
      'GET',
      `/admin/audit?kind=access&actor=${body.data.id}`,
      undefined,
      AS_ADMIN,
    )
    expect(audit.body.data.map(({ event }: { event: string }) => event)).to.deep.equal(['signed_in'])
    await gateway.stop()
  })
})
