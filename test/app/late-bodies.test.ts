import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { chatBody, routingRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { asAdmin } from '../support/policies.ts'

interface LateRequest {
  readonly method?: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

describe('a request whose body arrives after its caller was shut out', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  /** Sends the body once the gateway has admitted the request, and `meanwhile` has happened. */
  async function send(
    { method = 'POST', path, headers, body }: LateRequest,
    meanwhile: () => Promise<unknown>,
  ) {
    const content = JSON.stringify(body)
    const length = { 'content-length': Buffer.byteLength(content), expect: '100-continue' }
    const sent = request(gateway.url + path, { method, headers: { ...headers, ...length } })
    sent.flushHeaders()
    await once(sent, 'continue')
    await meanwhile()
    sent.end(content)
    const [response]: IncomingMessage[] = await once(sent, 'response')
    if (response === undefined) throw new Error('there is no response')
    await text(response)
    const { statusCode: status, headers: answered } = response
    return { status, code: answered['x-error-code'], cookie: answered['set-cookie'] }
  }

  async function newCaller() {
    const { id, key, keyId } = await newUser(gateway)
    return { id, headers: { authorization: `Bearer ${key}` }, keyPath: `/admin/keys/${keyId}` }
  }
  const remove = (path: string) => asAdmin(gateway, 'DELETE', path)
  const chat = { path: '/v1/chat/completions', body: chatBody('Hello') }
  const ofKey = { status: 401, code: 'invalid_api_key', cookie: undefined }

  it('is answered if nothing has changed', async () => {
    const { headers } = await newCaller()
    expect(await send({ ...chat, headers }, async () => undefined)).to.include({ status: 200 })
  })

  it('is 401 with a key that was revoked, expired or rotated meanwhile', async () => {
    for (const path of [chat.path, '/v1/responses', '/v1/messages', '/v1/embeddings']) {
      const { headers, keyPath } = await newCaller()
      expect(await send({ ...chat, path, headers }, () => remove(keyPath)), path).to.deep.equal(ofKey)
    }
    const { headers, keyPath } = await newCaller()
    const rotate = () => asAdmin(gateway, 'POST', `${keyPath}/rotate`, { overlap_seconds: 0 })
    expect(await send({ ...chat, headers }, rotate)).to.include({ status: 401 })
  })

  it('is 401 if the user was deleted meanwhile: none of their policies would apply', async () => {
    const { id, headers } = await newCaller()
    expect(await send({ ...chat, headers }, () => remove(`/admin/users/${id}`))).to.deep.equal(ofKey)
  })

  it('is 401 with a session that was signed out meanwhile', async () => {
    const refused = { status: 401, code: 'session_ended', cookie: undefined }
    async function signIn(path: string, headers: Readonly<Record<string, string>>) {
      const answer = await gateway.call('POST', path, undefined, headers)
      const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
      const session = { cookie, 'x-csrf-token': answer.body.data.csrf_token, authorization: '' }
      return { session, signOut: () => gateway.call('DELETE', '/console/session', undefined, session) }
    }
    const { id, headers } = await newCaller()
    const rule = { path: '/v1/routing-rules', body: routingRuleBody() }
    for (const call of [chat, rule]) {
      const { session, signOut } = await signIn('/console/user-session', headers)
      expect(await send({ ...call, headers: session }, signOut), call.path).to.deep.equal(refused)
    }
    const { body } = await asAdmin(gateway, 'GET', `/admin/users/${id}/routing-rules`)
    expect(body.data).to.deep.equal([])
    const group = { path: '/admin/groups', body: { name: 'Late' } }
    const { session, signOut } = await signIn(
      '/console/session',
      (await newOperator(gateway, 'admin')).headers,
    )
    expect(await send({ ...group, headers: session }, signOut)).to.deep.equal(refused)
  })

  it('changes nothing with a key that was revoked meanwhile', async () => {
    const { id, headers, keyPath } = await newCaller()
    const rule = { path: '/v1/routing-rules', headers, body: routingRuleBody() }
    expect(await send(rule, () => remove(keyPath))).to.deep.equal(ofKey)
    const { body } = await asAdmin(gateway, 'GET', `/admin/users/${id}/routing-rules`)
    expect(body.data).to.deep.equal([])
  })

  it('changes nothing for an operator who was removed, or whose role was taken, meanwhile', async () => {
    const applies_to = { everyone: true }
    const policy = { path: '/admin/policies', body: { name: 'A', is_enabled: true, priority: 0, applies_to } }
    const removed = await newOperator(gateway, 'editor')
    const { headers } = removed
    expect(await send({ ...policy, headers }, () => remove(`/admin/operators/${removed.id}`))).to.deep.equal(
      ofKey,
    )
    const demoted = await newOperator(gateway, 'editor')
    const demote = () => asAdmin(gateway, 'PATCH', `/admin/operators/${demoted.id}`, { role: 'auditor' })
    expect(await send({ ...policy, headers: demoted.headers }, demote)).to.include({
      status: 403,
      code: 'role_required',
    })
    expect((await asAdmin(gateway, 'GET', '/admin/policies')).body.data).to.deep.equal([])
  })

  it('is not imported for an operator who was removed, also while it arrives', async () => {
    const body = { prompt: 'Hello', model: 'gpt-4o', score: 1 }
    const path = '/admin/feedback?format=jsonl'
    const { id, headers } = await newOperator(gateway, 'editor')
    expect(await send({ path, headers, body }, () => remove(`/admin/operators/${id}`))).to.deep.equal(ofKey)
    const other = await newOperator(gateway, 'editor')
    const sent = request(gateway.url + path, {
      method: 'POST',
      headers: { ...other.headers, expect: '100-continue' },
    })
    sent.flushHeaders()
    await once(sent, 'continue')
    await remove(`/admin/operators/${other.id}`)
    sent.write(`${JSON.stringify(body)}\n`)
    const [response]: IncomingMessage[] = await once(sent, 'response')
    expect(response?.statusCode).to.equal(401)
    sent.destroy()
  })

  it('starts no session of the console for an operator who was removed meanwhile', async () => {
    const { id, headers } = await newOperator(gateway, 'auditor')
    const signIn = { path: '/console/session', headers, body: { path: '/' } }
    expect(await send(signIn, () => remove(`/admin/operators/${id}`))).to.deep.equal(ofKey)
    expect(await send({ ...signIn, headers: AS_ADMIN }, async () => undefined)).to.include({ status: 201 })
  })
})
