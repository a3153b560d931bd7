import { copyFile, cp, mkdir, rename, rm, truncate, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { copyFolder, makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { readLog } from '../support/gateway-log.ts'
import { patternsOf } from '../support/rule-patterns.ts'
import { createResponse } from '../support/stored-responses.ts'
import { waitUntil } from '../support/wait.ts'

const rule = (pattern: string) => firewallRuleBody({ name: pattern, pattern, action: 'warn' })
const addRule = (gateway: RunningGateway, pattern: string) =>
  gateway.call('POST', '/v1/firewall-rules', rule(pattern))

/** Expects that the gateway serves nothing but its probes, and says why. */
async function expectReplaced(gateway: RunningGateway): Promise<void> {
  await waitUntil(async () => (await gateway.call('GET', '/readyz')).body.event_log === 'replaced')
  const { status, body } = await gateway.call('GET', '/readyz')
  expect(status).to.equal(503)
  expect(body).to.deep.equal({
    status: 'not ready',
    reason: 'the event log was replaced',
    event_log: 'replaced',
  })
  expect((await gateway.call('GET', '/healthz')).status).to.equal(200)
  const requests = [
    gateway.call('POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'hello' }] }),
    gateway.call('GET', '/v1/firewall-rules'),
    addRule(gateway, 'late'),
    gateway.call('GET', '/admin/users', undefined, AS_ADMIN),
    gateway.call('GET', '/metrics'),
    gateway.call('GET', '/nothing'),
  ]
  for (const { status, headers, body } of await Promise.all(requests)) {
    expect(status).to.equal(503)
    expect(headers.get('x-error-code')).to.equal('event_log_replaced')
    expect(body.error.message).to.contain('The event log was replaced by another one')
  }
  const fatal = readLog(gateway).filter(({ level }) => level === 60)
  expect(fatal).to.have.length(1)
  expect(fatal[0]?.msg).to.equal('event log replaced; the gateway must be started again')
}

describe('a gateway whose EventStoreDB is replaced', () => {
  let file: string
  let server: EventStore
  let environment: Record<string, string>
  let gateway: RunningGateway

  beforeEach(async () => {
    file = path.join(await makeFolder(), 'events.db')
    server = await startEventStore({ file })
    environment = { EVENTSTORE_URL: server.connectionString }
    gateway = await startGatewayOnFiles(environment)
    expect((await addRule(gateway, 'first')).status).to.equal(201)
  })

  afterEach(async () => {
    await gateway.stop()
    await server.stop()
  })

  /** Starts the server again, on the same port with the events of a file. */
  const restart = async (events: string) => {
    await server.stop()
    server = await startEventStore({ port: server.port, file: events })
  }

  const backUp = async () => {
    const copy = path.join(await makeFolder(), 'events.db')
    server.store.copyTo(copy)
    return copy
  }

  it('by an empty one serves nothing more', async () => {
    await restart(path.join(await makeFolder(), 'events.db'))

    await expectReplaced(gateway)
    expect(readLog(gateway).at(-1)?.reason ?? gateway.stderr()).to.contain('is now empty')
  })

  it('by that of another gateway serves nothing of it', async () => {
    const other = path.join(await makeFolder(), 'events.db')
    const otherServer = await startEventStore({ file: other })
    const neighbour = await startGatewayOnFiles({ EVENTSTORE_URL: otherServer.connectionString })
    for (let n = 0; n < 5; n++) await addRule(neighbour, `neighbour ${n}`)
    await neighbour.stop()
    await otherServer.stop()
    await restart(other)

    await expectReplaced(gateway)
    await gateway.stop()
    expect(gateway.stderr()).not.to.contain('snapshot written')
  })

  it('by an older copy serves nothing more, and acknowledges no change that is not in force', async () => {
    const copy = await backUp()
    expect((await addRule(gateway, 'second')).status).to.equal(201)
    await restart(copy)
    const answers: number[] = []
    while ((await gateway.call('GET', '/readyz')).body.event_log !== 'replaced') {
      answers.push((await addRule(gateway, `change ${answers.length}`)).status)
      await sleep(5)
    }

    expect(answers).to.not.include(201)
    await expectReplaced(gateway)
  })

  it('by an older copy that went on differently serves nothing more', async () => {
    const copy = await backUp()
    expect((await addRule(gateway, 'ours')).status).to.equal(201)
    await server.stop()
    const other = await startEventStore({ file: copy })
    const neighbour = await startGatewayOnFiles(
      { EVENTSTORE_URL: other.connectionString },
      { demoKey: gateway.demoKey },
    )
    for (let n = 0; n < 5; n++) expect((await addRule(neighbour, `theirs ${n}`)).status).to.equal(201)
    await neighbour.stop()
    await other.stop()
    server = await startEventStore({ port: server.port, file: copy })

    await expectReplaced(gateway)
  })

  it('goes on when the same one comes back', async () => {
    await restart(file)
    await waitUntil(async () => (await addRule(gateway, 'second')).status === 201)

    expect((await patternsOf(gateway)).toSorted()).to.deep.equal(['first', 'second'])
  })

  it('starts on what is there after a restart, without its old snapshots', async () => {
    const copy = await backUp()
    await addRule(gateway, 'second')
    await gateway.stop()
    const { dataDir, demoKey } = gateway
    await restart(copy)
    gateway = await startGatewayOnFiles(environment, { dataDir, demoKey })
    expect(await patternsOf(gateway)).to.deep.equal(['first'])
    expect(gateway.stderr()).to.contain('the log is an older copy')
    await gateway.stop()
    await restart(path.join(await makeFolder(), 'events.db'))

    gateway = await startGatewayOnFiles(environment, { dataDir })
    expect(await patternsOf(gateway)).to.deep.equal([])
    expect(gateway.demoKey).not.to.equal('')
    expect(gateway.stderr()).to.contain('the data folder belonged to another event log')
    expect((await gateway.call('GET', '/v1/firewall-rules', undefined, bearer(demoKey))).status).to.equal(401)
  })
})

describe('a gateway whose embedded event log is replaced', () => {
  let gateway: RunningGateway
  let dataDir: string

  beforeEach(async () => {
    gateway = await startGatewayOnFiles()
    dataDir = gateway.dataDir
    expect((await addRule(gateway, 'first')).status).to.equal(201)
  })

  afterEach(() => gateway.stop())

  const at = (name: string) => path.join(dataDir, name)

  it('by none serves nothing more', async () => {
    for (const name of ['events.db', 'events.db-wal', 'events.db-shm']) await rm(at(name))

    await expectReplaced(gateway)
  })

  it('by another file serves nothing more, and acknowledges no change that is not in force', async () => {
    const neighbour = await startGatewayOnFiles()
    await neighbour.stop()
    await copyFile(path.join(neighbour.dataDir, 'events.db'), at('new'))
    await rename(at('new'), at('events.db'))
    const { status, headers } = await addRule(gateway, 'second')

    expect(status).to.equal(503)
    expect(headers.get('x-error-code')).to.equal('event_log_replaced')
    await expectReplaced(gateway)
  })

  it('by an empty file serves nothing more', async () => {
    await gateway.stop()
    gateway = await startGatewayOnFiles({}, { dataDir, demoKey: gateway.demoKey })
    await truncate(at('events.db'), 0)

    await expectReplaced(gateway)
  })

  describe('while it is stopped', () => {
    let demoKey: string

    beforeEach(async () => {
      demoKey = gateway.demoKey
      expect((await createResponse(gateway, { input: 'kept' })).status).to.equal(200)
      await gateway.stop()
    })

    const expectRefused = async (...parts: readonly string[]) => {
      const error = await startGatewayOnFiles({}, { dataDir }).catch((thrown) => thrown)
      expect(error).to.be.instanceOf(Error)
      for (const part of parts) expect(error.message).to.contain(part)
    }

    for (const [name, change] of [
      ['a missing', (file: string) => rm(file)],
      ['an empty', (file: string) => writeFile(file, '')],
    ] as const) {
      it(`does not start with ${name} events.db beside other files of the log`, async () => {
        await change(at('events.db'))
        await expectRefused(
          `${at('events.db')} is missing or empty`,
          'ledger.db, snapshots, log.json',
          'from a backup',
        )
        await rm(at('log.json'))
        await expectRefused('ledger.db, snapshots', 'from a backup')
        await rm(at('ledger.db'))
        await expectRefused('the folder holds snapshots of', 'from a backup')
        await rm(at('snapshots'), { recursive: true })

        gateway = await startGatewayOnFiles({}, { dataDir })
        expect(await patternsOf(gateway)).to.deep.equal([])
      })
    }

    it('does not start with a folder in the place of log.json, and names it', async () => {
      await rm(at('log.json'))
      await mkdir(at('log.json'))
      await expectRefused(`cannot write ${at('log.json')}`, 'Check that it is a file')
    })

    it('starts on an older copy without its newer snapshots, and shows no response of lost users', async () => {
      const older = await copyFolder(dataDir)
      gateway = await startGatewayOnFiles({}, { dataDir, demoKey })
      const add = (name: string) =>
        gateway
          .call('POST', '/admin/users', { name, plan: 'paid' }, AS_ADMIN)
          .then(({ body }) => body.data.id)
      const keyOf = async (id: number) => {
        const { body } = await gateway.call('POST', `/admin/users/${id}/keys`, undefined, AS_ADMIN)
        return bearer(body.data.key)
      }
      const lost = await add('Ada')
      const made = await gateway.call('POST', '/v1/responses', { input: 'secret' }, await keyOf(lost))
      await gateway.stop()
      await cp(path.join(older, 'events.db'), at('events.db'))

      gateway = await startGatewayOnFiles({}, { dataDir, demoKey })
      expect(gateway.stderr()).to.contain('the log is an older copy')
      const again = await add('Grace')
      expect(again).to.equal(lost)
      const { status } = await gateway.call(
        'GET',
        `/v1/responses/${made.body.id}`,
        undefined,
        await keyOf(again),
      )
      expect(status).to.equal(404)
    })
  })
})

function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}
