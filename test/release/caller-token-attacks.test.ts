import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import type { JWTPayload } from 'jose'
import type { EventLog } from '../../core/contract/index.ts'
import { createMemoryLog, createMemoryStorage } from '../../core/event-log/memory.ts'
import { UNFOLLOWED_STREAMS } from '../../projections/events/streams.ts'
import { chatBody } from '../support/bodies.ts'
import { adjustClock } from '../support/clock.ts'
import { startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type GatewayOptions, type RunningGateway, startGateway } from '../support/gateway.ts'
import {
  createSigningKey,
  type IdentityProvider,
  type SigningKey,
  startIdentityProvider,
} from '../support/identity-provider.ts'
import { openResponseSocket } from '../support/response-socket.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const CHAT = '/v1/chat/completions'

describe('attacks with tokens of callers', () => {
  let provider: IdentityProvider
  let gateway: RunningGateway
  const started: RunningGateway[] = []

  const settingsOf = (...rows: string[]) =>
    withSettings(
      `${UNLIMITED}limits: { auth_failures_per_minute: null }\nidentity: { callers: [${rows.join()}] }\n`,
    )
  const row = (more = '', { issuer }: { issuer: string } = provider) =>
    `{ issuer: '${issuer}', audience: signalbox${more} }`
  const start = async (rows: readonly string[], options?: GatewayOptions) => {
    const created = await startGateway(await settingsOf(...rows), options)
    started.push(created)
    return created
  }

  before(async () => {
    provider = await startIdentityProvider()
    gateway = await start([row(', groups: { claim: groups, create: true }')])
  })
  after(() => Promise.all([provider.stop(), ...started.map((each) => each.stop())]))

  const chat = (token: string, to = gateway) =>
    to.call('POST', CHAT, chatBody('Hello'), { authorization: `Bearer ${token}` })
  const outcome = async (token: string, to = gateway) => {
    const { status, body } = await chat(token, to)
    return [status, body.error?.code]
  }
  const send = async (claims: JWTPayload, to = gateway) => outcome(await provider.sign(claims), to)
  const OK = [200, undefined]
  const INVALID = [401, 'token_invalid']
  const asAdmin = (method: string, path: string, body?: unknown, to = gateway) =>
    to.call(method, path, body, AS_ADMIN)
  const findUsers = async (name: string, to = gateway) =>
    (await asAdmin('GET', `/admin/users?q=${encodeURIComponent(name)}`, undefined, to)).body.data
  const groupNames = async (user: string, to = gateway): Promise<string[]> => {
    const [{ groups }] = await findUsers(user, to)
    const all = (await asAdmin('GET', '/admin/groups?limit=100', undefined, to)).body.data
    return groups.map((id: number) => all.find((group: { id: number }) => group.id === id).name)
  }

  it('take the algorithms of the entry that the token falls under', async () => {
    const { issuer } = provider
    const two = await start([
      `{ issuer: '${issuer}', audience: a, algorithms: [RS256] }`,
      `{ issuer: '${issuer}', audience: b, algorithms: [ES256] }`,
    ])
    expect(await send({ aud: 'b' }, two)).to.deep.equal(OK)
    expect(await send({ aud: 'a' }, two)).to.deep.equal(INVALID)
    expect(await send({ aud: ['a', 'b'] }, two)).to.deep.equal(OK)
  })

  it('are refused, not failed, for keys that cannot be used', async () => {
    const other = await startIdentityProvider()
    const good = await createSigningKey('good')
    const rsa = await createSigningKey('rsa', 'RS256')
    const keys = [
      ...[null, 'text', { kid: 'no type' }, { kty: 'oct', k: 'c2VjcmV0', kid: 'oct' }, good.jwk],
      { ...good.jwk, kid: 'point', x: 'AAAA' },
      { ...rsa.jwk, kid: 'short', n: 'AQAB' },
      { ...good.jwk, kid: 'private', d: good.jwk.x },
      { ...good.jwk, kid: 'twice' },
      { ...rsa.jwk, kid: 'twice', kty: 'EC', alg: 'ES256', crv: 'P-256' },
      { ...good.jwk, kid: 'encryption', use: 'enc' },
      { ...good.jwk, kid: 'curve', crv: 'P-999' },
    ]
    other.publish((res: ServerResponse) => void res.end(JSON.stringify({ keys })))
    const odd = await start([row('', other)])
    const sign = (kid: string, key: SigningKey = good) => other.sign({}, { ...key, kid })
    expect(await outcome(await sign('good'), odd)).to.deep.equal(OK)
    for (const kid of ['point', 'private', 'twice', 'encryption', 'curve', 'no type', 'oct', '7'])
      expect(await outcome(await sign(kid), odd), kid).to.deep.equal(INVALID)
    expect(await outcome(await sign('short', rsa), odd)).to.deep.equal(INVALID)
    await other.stop()
  })

  it('have subjects of any kind, and times of any size', async () => {
    for (const exp of [1e20, 4e9 + 0.5, Number.MAX_VALUE])
      expect(await send({ sub: 'exp', exp }), String(exp)).to.deep.equal(OK)
    for (const exp of [-1, 0, -1e300])
      expect(await send({ sub: 'exp', exp }), String(exp)).to.deep.equal([401, 'token_expired'])
    const name = `${'n'.repeat(127)}😀`
    const subjects = [
      '__proto__',
      'constructor',
      'a\u0000b',
      '\ud800',
      '\ud801',
      'x'.repeat(5000),
      ' ',
      '\u202e',
    ]
    for (const sub of subjects) expect(await send({ sub, email: name }), sub).to.deep.equal(OK)
    const users = await findUsers('nnn')
    expect(users.map(({ identity }: { identity: { subject: string } }) => identity.subject)).to.have.members(
      subjects,
    )
    for (const user of users) expect(user.name.isWellFormed()).to.equal(true)
    expect(await send({ sub: 7 as unknown as string })).to.deep.equal(INVALID)
  })

  it('join no group whose name begins like theirs', async () => {
    const start = `${'g'.repeat(127)}😀`
    await asAdmin('POST', '/admin/groups', { name: start.slice(0, 128).toWellFormed() })
    expect(await send({ sub: 'long', email: 'long', groups: [`${start}a`] })).to.deep.equal(OK)
    expect(await send({ sub: 'longer', email: 'longer', groups: [`${start}b`] })).to.deep.equal(OK)
    const [first] = await findUsers('long')
    const [second] = await findUsers('longer')
    const groups = (await asAdmin('GET', '/admin/groups?q=ggg')).body.data
    expect(groups).to.have.lengthOf(3)
    expect(groups.map(({ id }: { id: number }) => id)).to.include.members([...first.groups, ...second.groups])
    expect(first.groups).not.to.deep.equal(second.groups)
    expect(first.groups).not.to.include(groups[0].id)
  })

  it('do not put their user back into the groups of an older token', async () => {
    const now = Math.floor(Date.now() / 1000)
    const sign = (iat: number | undefined, groups: string[]) =>
      provider.sign({ sub: 'leaver', email: 'leaver', iat: iat as number, groups })
    expect(await outcome(await sign(now - 20, ['staff', 'payroll']))).to.deep.equal(OK)
    expect(await outcome(await sign(now - 10, ['staff']))).to.deep.equal(OK)
    expect(await outcome(await sign(now - 19, ['staff', 'payroll']))).to.deep.equal(OK)
    expect(await groupNames('leaver')).to.deep.equal(['staff'])
    expect(await outcome(await sign(now + 1e9, []))).to.deep.equal(OK)
    expect(await groupNames('leaver')).to.deep.equal([])
    await waitUntil(async () => {
      await outcome(await sign(Math.floor(Date.now() / 1000), ['staff']))
      return (await groupNames('leaver')).length === 1
    })
  })

  it('end when their user is no longer linked, also while their body arrives', async () => {
    const token = await provider.sign({ sub: 'slow', email: 'slow' })
    expect(await outcome(token)).to.deep.equal(OK)
    const [{ id }] = await findUsers('slow')
    let unlink = async () => {}
    const unlinked = new Promise<void>((resolve) => {
      unlink = async () => {
        await asAdmin('DELETE', `/admin/users/${id}/identity`)
        resolve()
      }
    })
    const text = JSON.stringify(chatBody('Hello'))
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(text.slice(0, 5))
        await unlinked
        controller.enqueue(text.slice(5))
        controller.close()
      },
    }).pipeThrough(new TextEncoderStream())
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answered = fetch(gateway.url + CHAT, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
    } as RequestInit)
    // Answered on another connection, after the gateway has read the head of the first.
    await asAdmin('GET', `/admin/users/${id}`)
    await unlink()
    expect((await answered).status).to.equal(401)
  })

  it('end within ten minutes when their key is withdrawn, whatever their expiry', async () => {
    const clock = adjustClock()
    try {
      const other = await startIdentityProvider()
      const trusting = await start([row('', other)])
      const token = await other.sign({ exp: 1e15 })
      expect(await outcome(token, trusting)).to.deep.equal(OK)
      clock.adjust(600_000)
      expect(await outcome(token, trusting)).to.deep.equal(OK)
      await waitUntil(() => other.fetches() === 2)
      expect(await outcome(token, trusting)).to.deep.equal(OK)
      other.publish([await createSigningKey('second')])
      clock.adjust(600_000)
      await waitUntil(async () => (await chat(token, trusting)).status === 401)
      expect(other.fetches()).to.equal(3)
      await other.stop()
    } finally {
      clock.restore()
    }
  })

  it('are named by what they say of replies, and their links are in the trail of their user', async () => {
    const token = await provider.sign({ sub: 'rater', email: 'rater' })
    const { headers } = await chat(token)
    const [{ id }] = await findUsers('rater')
    const asCaller = { authorization: `Bearer ${token}` }
    const rating = { request_id: headers.get('x-request-id'), value: true }
    const { body } = await gateway.call('POST', '/v1/feedback', rating, asCaller)
    expect(body.data.given_by).to.equal(`${provider.issuer}#rater`)
    await asAdmin('DELETE', `/admin/users/${id}/identity`)
    await asAdmin('PUT', `/admin/users/${id}/identity`, { issuer: provider.issuer, subject: 'other' })
    await asAdmin('DELETE', `/admin/users/${id}`)
    const { data } = (await asAdmin('GET', `/admin/audit?user=${id}`)).body
    expect(data.map(({ event }: { event: string }) => event)).to.deep.equal([
      'deleted',
      'identity_linked',
      'identity_unlinked',
      'created',
      'identity_linked',
    ])
    for (const { actor } of data.slice(3)) expect(actor.id).to.equal(`${provider.issuer}#rater`)
    const text = JSON.stringify(data) + gateway.stderr()
    for (const part of token.split('.')) expect(text).not.to.contain(part)
  })

  it('make one user and their groups while users and groups are deleted, and keep renamed groups', async () => {
    const claims = { sub: 'deleted', email: 'deleted', groups: ['Old', 'Kept'] }
    expect(await send(claims)).to.deep.equal(OK)
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async (_, n) => {
        const token = await provider.sign({ ...claims, jti: `${n}` })
        const [user] = await findUsers('deleted')
        if (n % 3 === 1 && user) await asAdmin('DELETE', `/admin/users/${user.id}`)
        if (n % 3 === 2 && user) await asAdmin('DELETE', `/admin/groups/${user.groups[0]}`)
        return chat(token)
      }),
    )
    for (const { status } of outcomes) expect(status).to.be.oneOf([200, 401])
    expect(await send({ ...claims, jti: 'last' })).to.deep.equal(OK)
    expect(await findUsers('deleted')).to.have.lengthOf(1)
    expect(await groupNames('deleted')).to.have.members(['Old', 'Kept'])
    const [{ groups }] = await findUsers('deleted')
    for (const id of groups) await asAdmin('PATCH', `/admin/groups/${id}`, { name: `Renamed ${id}` })
    expect(await send({ ...claims, jti: 'renamed' })).to.deep.equal(OK)
    expect((await findUsers('deleted'))[0].groups).to.deep.equal(groups)
  })

  it('are checked with every message of a WebSocket', async () => {
    const client = await openResponseSocket(gateway.url, await provider.sign({ sub: 'socket' }))
    const clock = adjustClock()
    try {
      clock.adjust(400_000)
      const [error] = await client.create({ model: 'gpt-4o', input: 'Hi' })
      expect(error).to.deep.include({ type: 'error', status: 401, code: 'token_expired' })
    } finally {
      clock.restore()
    }
    expect(await client.closed).to.equal(1008)
  })

  describe('while the event log', () => {
    /** Streams that cannot be appended to. */
    let refused = /^$/
    const open = (storage = createMemoryStorage()) => {
      const log = createMemoryLog({ storage, unfollowedStreams: UNFOLLOWED_STREAMS })
      const append: EventLog['append'] = (stream, ...rest) =>
        refused.test(stream) ? Promise.reject(new Error(`no ${stream}`)) : log.append(stream, ...rest)
      return {
        ...log,
        append,
        read: log.read.bind(log),
        subscribe: log.subscribe.bind(log),
        close: () => log.close(),
      }
    }
    afterEach(() => {
      refused = /^$/
    })

    it('takes the link and not the user, create the user the next time', async () => {
      const failing = await start([row(', groups: { claim: groups, create: true }')], {
        log: async () => open(),
      })
      const claims = { sub: 'half', email: 'half', groups: ['Half'] }
      for (const stream of [/^ids/, /^identity-/, /^group-/, /^user-/]) {
        refused = stream
        expect((await send(claims, failing))[0], String(stream)).to.be.greaterThan(499)
      }
      refused = /^$/
      expect(await send(claims, failing)).to.deep.equal(OK)
      expect(await findUsers('half', failing)).to.have.lengthOf(1)
      expect(await groupNames('half', failing)).to.deep.equal(['Half'])
    })

    it('is unavailable, serve known users, and change nothing', async () => {
      const file = join(await makeFolder(), 'events.db')
      const store = await startEventStore({ file })
      const environment = await settingsOf(row(', groups: { claim: groups, create: true }'))
      const served = await startGateway({ ...environment, EVENTSTORE_URL: store.connectionString })
      started.push(served)
      const claims = { sub: 'known', email: 'known', groups: ['Known'] }
      expect(await send(claims, served)).to.deep.equal(OK)
      await store.stop()
      const logState = async () => (await served.call('GET', '/readyz')).body.event_log
      await waitUntil(async () => (await logState()) === 'away')
      expect(await send({ ...claims, jti: 'new' }, served)).to.deep.equal(OK)
      const changed = { ...claims, groups: ['Others'] }
      for (const each of [changed, { ...claims, groups: [] }, { sub: 'unknown' }])
        expect(await send(each, served)).to.deep.equal([503, 'event_log_unavailable'])
      const again = await startEventStore({ port: store.port, file })
      await waitUntil(async () => (await logState()) === 'following')
      expect(await send(changed, served)).to.deep.equal(OK)
      expect(await groupNames('known', served)).to.deep.equal(['Others'])
      await served.stop()
      await again.stop()
    })

    it('is of two gateways, make one user and one group of a subject', async () => {
      const storage = createMemoryStorage()
      const rows = [row(', groups: { claim: groups, create: true }')]
      const first = await start(rows, { log: async () => open(storage) })
      const second = await start(rows, {
        log: async () => open(storage),
        dataDir: await makeFolder(),
        demoKey: first.demoKey,
      })
      const tokens = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          provider.sign({
            sub: `racer ${n % 4}`,
            email: `racer ${n % 4}`,
            jti: `${n}`,
            groups: ['One', 'Two'],
          }),
        ),
      )
      const outcomes = await Promise.all(tokens.map((token, n) => outcome(token, n % 8 < 4 ? first : second)))
      expect(outcomes).to.deep.equal(tokens.map(() => OK))
      for (const each of [first, second]) {
        await waitUntil(async () => (await findUsers('racer', each)).length === 4)
        const groups = (await asAdmin('GET', '/admin/groups', undefined, each)).body.data
        expect(groups.map(({ name }: { name: string }) => name)).to.have.members(['One', 'Two'])
        for (const { groups } of await findUsers('racer', each)) expect(groups).to.have.lengthOf(2)
      }
    })
  })
})
