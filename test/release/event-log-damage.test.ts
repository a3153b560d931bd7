import path from 'node:path'
import { expect } from 'chai'
import { ROOT_ACTOR } from '../../core/event-log/actor.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { logged, readLog } from '../support/gateway-log.ts'
import { firewallRule, newPolicy } from '../support/policies.ts'
import { readTestTls } from '../support/tls.ts'
import { waitUntil } from '../support/wait.ts'

describe('a gateway on an EventStoreDB that others have written to', () => {
  let file: string
  let server: EventStore
  let environment: Record<string, string>
  let gateway: RunningGateway

  beforeEach(async () => {
    file = path.join(await makeFolder(), 'events.db')
    server = await startEventStore({ file })
    environment = { EVENTSTORE_URL: server.connectionString }
    gateway = await startGatewayOnFiles(environment)
    for (let n = 0; n < 6; n++) expect((await addRule(`rule ${n}`)).status).to.equal(201)
  })

  afterEach(async () => {
    await gateway.stop()
    await server.stop()
  })

  const addRule = (pattern: string) =>
    gateway.call('POST', '/v1/firewall-rules', firewallRuleBody({ name: pattern, pattern, action: 'warn' }))
  const ask = () =>
    gateway.call('POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'hello' }] })
  const admin = (method: string, path: string, body?: unknown) => gateway.call(method, path, body, AS_ADMIN)
  const metric = async (name: string) => {
    const response = await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })
    return Number(new RegExp(`^${name} (.*)$`, 'm').exec(await response.text())?.[1])
  }
  const restartGateway = async (dataDir?: string) => {
    const { demoKey } = gateway
    await gateway.stop()
    gateway = await startGatewayOnFiles(environment, { demoKey, ...(dataDir && { dataDir }) })
  }
  const keyId = async () => (await admin('GET', '/admin/users')).body.data[0].keys[0].id

  async function expectRefused(stream: string, damage: string): Promise<void> {
    const answers = [await ask(), await gateway.call('GET', '/v1/firewall-rules'), await addRule('new')]
    for (const { status, headers, body } of answers) {
      expect(status).to.equal(503)
      expect(headers.get('x-error-code')).to.equal('rules_damaged')
      expect(body.error.message).to.contain(`stream ${stream} of the event log ${damage}`)
    }
    const { status, body } = await gateway.call('GET', '/readyz')
    expect(status).to.equal(200)
    expect(body.damaged_streams).to.deep.equal([stream])
    expect(await metric('signalbox_damaged_streams')).to.equal(1)
    const lines = readLog(gateway).filter(({ msg }) =>
      String(msg).startsWith('stream of the event log damaged'),
    )
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include({ stream, damage })
    const other = await admin('POST', '/admin/users', { name: 'Grace', plan: 'paid' })
    expect(other.status).to.equal(201)
  }

  async function expectVerifyFinds(...issues: readonly string[]): Promise<void> {
    const { code, stderr } = await runCommand(['log', 'verify'], {
      ...environment,
      DATA_DIR: await makeFolder(),
    })
    expect(code).to.equal(1)
    for (const issue of issues) expect(stderr).to.contain(issue)
  }

  for (const [name, metadata] of [
    ['truncated with $tb', { $tb: 4 }],
    ['limited with $maxCount', { $maxCount: 2 }],
  ] as const) {
    it(`refuses the requests of a user whose rules are ${name}, also after a restart and a scavenge`, async () => {
      server.store.setMetadata('rules-1', metadata)
      await logged(gateway, 'stream of the event log damaged; the requests that depend on it are refused')

      const damage = 'has metadata that hides events ($tb, $maxCount or $maxAge)'
      await expectRefused('rules-1', damage)
      await expectVerifyFinds(
        'Stream rules-1 has metadata that hides events.',
        'Stream rules-1 shows 2 of its 6',
      )
      await restartGateway()
      await expectRefused('rules-1', damage)
      server.store.scavenge()
      await restartGateway()
      expect((await ask()).status).to.equal(503)
      await restartGateway(gateway.dataDir)
      expect((await ask()).status).to.equal(503)

      expect((await admin('DELETE', `/admin/keys/${await keyId()}`)).status).to.equal(200)
      expect((await ask()).status).to.equal(401)
    })
  }

  it('refuses the requests of all users while a policy cannot be read completely', async () => {
    const { id } = await newPolicy(gateway, { firewall: [firewallRule()] })
    expect((await ask()).status).to.equal(200)
    server.store.setMetadata(`policy-${id}`, { $tb: 2 })
    await waitUntil(async () => (await ask()).status === 503)
    server.store.setMetadata(`policy-${id}`, {})
    await waitUntil(async () => (await ask()).status === 200)
  })

  it('refuses the requests of all users while revocations of keys are hidden', async () => {
    const { body } = await admin('POST', '/admin/users', { name: 'Grace', plan: 'paid' })
    const key = await admin('POST', `/admin/users/${body.data.id}/keys`)
    server.store.tombstone(`user-${body.data.id}`, 'any')
    await logged(gateway, 'stream of the event log damaged; the requests that depend on it are refused')
    expect((await admin('DELETE', `/admin/keys/${key.body.data.id}`)).status).to.equal(200)
    expect((await ask()).status).to.equal(200)

    server.store.setMetadata('revocations', { $tb: 1 })
    await waitUntil(async () => (await ask()).status === 503)
    await restartGateway(await makeFolder())
    expect((await ask()).body.error.message).to.contain('stream revocations of the event log has metadata')
    server.store.setMetadata('revocations', {})
    await waitUntil(async () => (await ask()).status === 200)
  })

  it('refuses operators, but neither root nor users, while changes of operators are hidden', async () => {
    const { body } = await admin('POST', '/admin/operators', { name: 'Dora', role: 'admin' })
    const asDora = { authorization: `Bearer ${body.data.key}` }
    const list = () => gateway.call('GET', '/admin/users', undefined, asDora)
    expect((await list()).status).to.equal(200)

    server.store.setMetadata('operators', { $tb: 1 })
    await waitUntil(async () => (await list()).status === 503)
    expect((await list()).headers.get('x-error-code')).to.equal('rules_damaged')
    expect((await ask()).status).to.equal(200)
    expect((await admin('DELETE', `/admin/operators/${body.data.id}`)).status).to.equal(200)
    expect((await gateway.call('GET', '/readyz')).body.damaged_streams).to.deep.equal(['operators'])
    server.store.setMetadata('operators', {})
    await waitUntil(async () => (await list()).status === 401)
  })

  it('serves the user again when the metadata no longer hides events', async () => {
    server.store.setMetadata('rules-1', { $tb: 4 })
    await waitUntil(async () => (await ask()).status === 503)
    server.store.setMetadata('rules-1', {})

    await waitUntil(async () => (await ask()).status === 200)
    expect((await gateway.call('GET', '/readyz')).body).to.deep.equal({
      status: 'ready',
      event_log: 'following',
    })
  })

  it('refuses the requests of a user whose rules were deleted, and can revoke the key', async () => {
    server.store.tombstone('rules-1', 'any')
    await logged(gateway, 'stream of the event log damaged; the requests that depend on it are refused')

    await expectRefused('rules-1', 'was deleted permanently')
    await expectVerifyFinds('Stream rules-1 was deleted permanently.')
    server.store.scavenge()
    await restartGateway()
    await expectRefused('rules-1', 'was deleted permanently')
    expect((await admin('DELETE', `/admin/keys/${await keyId()}`)).status).to.equal(200)
    expect((await ask()).status).to.equal(401)
  })

  it('can revoke a key of a user whose own stream was deleted, for good', async () => {
    server.store.tombstone('user-1', 'any')
    await waitUntil(async () => (await ask()).status === 503)
    const change = await admin('PATCH', '/admin/users/1', { plan: 'free' })
    expect(change.headers.get('x-error-code')).to.equal('rules_damaged')

    expect((await admin('DELETE', `/admin/keys/${await keyId()}`)).status).to.equal(200)
    expect((await ask()).status).to.equal(401)
    await restartGateway(gateway.dataDir)
    expect((await ask()).status).to.equal(401)
    await restartGateway(await makeFolder())
    expect((await ask()).status).to.equal(401)
  })

  it('skips events of other programs in streams of its own, and goes on', async () => {
    const metadata = { actor: ROOT_ACTOR, time: '2026-01-01T00:00:00.000000Z', schema: 1 }
    server.store.write('rules-1', 'SomethingElse', { foreign: true })
    server.store.write('rules-1', 'Again')
    server.store.write('user-3', 'SomethingElse')
    server.store.write('user-abc', 'UserCreated', { userId: 'abc', name: 'x', plan: 'paid' }, metadata)
    server.store.write('user-9', 'UserCreated', { name: 'x' }, { ...metadata, time: 'yesterday' })
    server.store.write('ids', 'IdsReserved', { first: 'many' }, metadata)
    server.store.write('rules-1', 'FirewallRuleCreated', { userId: 1, ruleId: 'x', content: {} }, metadata)

    expect((await addRule('after')).status).to.equal(201)
    expect((await admin('POST', '/admin/users', { name: 'Grace', plan: 'paid' })).status).to.equal(201)
    expect((await ask()).status).to.equal(200)
    const { body } = await admin('GET', '/admin/users')
    expect(body.data.map(({ name }: { name: string }) => name)).to.deep.equal(['demo', 'Grace'])
    const skipped = readLog(gateway).filter(({ msg }) => String(msg).startsWith('event of another program'))
    const names = ['ids', 'rules-1', 'user-3', 'user-9', 'user-abc']
    expect(skipped.map(({ stream }) => stream).toSorted()).to.deep.equal(names)
    expect(await metric('signalbox_foreign_events_total')).to.equal(7)
    await restartGateway(gateway.dataDir)
    expect((await addRule('after the restart')).status).to.equal(201)
    await restartGateway(await makeFolder())
    expect((await addRule('after a rebuild')).status).to.equal(201)
    const verified = await runCommand(['log', 'verify'], { ...environment, DATA_DIR: await makeFolder() })
    expect(verified.stdout).to.contain('2 events of other programs were skipped in stream rules-1.')
  })

  it('tells denied access from an unavailable log, in answers, probe and one log line', async () => {
    server.refuse('access-denied', {}, ['append'])
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => addRule(`denied ${n}`)))

    for (const { status, headers, body } of answers) {
      expect(status).to.equal(503)
      expect(headers.get('x-error-code')).to.equal('event_log_access_denied')
      expect(headers.get('retry-after')).to.equal(null)
      expect(body.error.message).to.contain('denies access').and.to.contain('Nothing was changed')
    }
    expect((await gateway.call('GET', '/readyz')).body.event_log).to.equal('denied')
    expect(await metric('signalbox_event_log_followed')).to.equal(0)
    const lines = readLog(gateway).filter(({ level }) => Number(level) >= 40)
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include({ kind: 'denied' })
    expect((await ask()).status).to.equal(200)

    server.accept()
    expect((await addRule('allowed')).status).to.equal(201)
    expect((await gateway.call('GET', '/readyz')).body.event_log).to.equal('following')
  })

  it('shows credentials that stop being valid, and goes on when they are valid again', async () => {
    const { tls, caFile } = await readTestTls()
    const users = { signalbox: { password: 'right' } }
    const secured = await startEventStore({ tls, users })
    const EVENTSTORE_URL = `esdb://signalbox:right@127.0.0.1:${secured.port}?tlsCAFile=${encodeURIComponent(caFile)}`
    const own = await startGatewayOnFiles({ EVENTSTORE_URL })
    const readiness = async () => (await own.call('GET', '/readyz')).body.event_log
    secured.setUsers({ signalbox: { password: 'changed' } })

    const user = { name: 'Ada', plan: 'free' }
    // Within a quarter of a second, because the server checks the password at the start of a call.
    await waitUntil(async () => {
      const { headers } = await own.call('POST', '/admin/users', user, AS_ADMIN)
      return headers.get('x-error-code') === 'event_log_access_denied'
    })
    expect(await readiness()).to.equal('denied')
    secured.dropConnections()
    await waitUntil(async () => (await own.call('POST', '/admin/users', user, AS_ADMIN)).status === 503)
    expect(await readiness()).to.equal('denied')
    expect(own.stderr()).not.to.contain('right@')
    secured.setUsers(users)
    await waitUntil(async () => (await own.call('POST', '/admin/users', user, AS_ADMIN)).status === 201)
    expect(await readiness()).to.equal('following')
    await own.stop()
    await secured.stop()
  })

  it('writes one log line per outage, however many changes are refused', async () => {
    await server.stop()
    await waitUntil(async () => (await gateway.call('GET', '/readyz')).body.event_log === 'away')
    await Promise.all(Array.from({ length: 50 }, (_, n) => addRule(`away ${n}`)))
    for (let n = 0; n < 3; n++) expect((await addRule('again')).status).to.equal(503)

    const rule = '/v1/firewall-rules/999'
    expect((await gateway.call('PATCH', rule, { priority: 1 })).status).to.equal(503)
    expect(readLog(gateway).filter(({ level }) => Number(level) >= 40)).to.have.length(1)
    server = await startEventStore({ port: server.port, file })
    await logged(gateway, 'event log available again')
  })

  it('exports what comes after any number', async () => {
    const run = async (after: number) => {
      const { stdout } = await runCommand(['log', 'export', '--after', String(after)], {
        ...environment,
        DATA_DIR: await makeFolder(),
      })
      return stdout.split('\n').slice(0, -1)
    }
    const all = await run(0)
    const middle = JSON.parse(all[5] ?? '').position

    expect(await run(middle)).to.deep.equal(all.slice(6))
    expect(await run(middle + 1)).to.deep.equal(all.slice(6))
    expect(await run(middle - 1)).to.deep.equal(all.slice(5))
  })
})
