import { cp, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { copyFolder, makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { logged } from '../support/gateway-log.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { patternsOf } from '../support/rule-patterns.ts'
import { createResponse, idIn, replay } from '../support/stored-responses.ts'
import { waitUntil } from '../support/wait.ts'

const createRule = async ({ call }: RunningGateway, pattern: string) => {
  const { status } = await call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern, action: 'warn' }))
  expect(status).to.equal(201)
}

const send = async ({ call }: RunningGateway) =>
  expect((await call('POST', '/v1/chat/completions', chatBody('Hello'))).status).to.equal(200)

const listRequests = async ({ call }: RunningGateway) => (await call('GET', '/v1/requests')).body.data

const FILES = ['events.db', 'ledger.db']

describe('faults of the data folder', () => {
  /** The folder of a gateway that was killed, with one rule, one request and one response, and its key. */
  let killed: string
  let backup: string
  let demoKey: string
  let responseId: string
  let gateway: RunningGateway | undefined

  before(async () => {
    const first = await startGatewayProcess()
    demoKey = first.demoKey
    await createRule(first, 'first')
    await send(first)
    responseId = idIn((await createResponse(first, { input: 'Hello' })).text)
    expect(await listRequests(first)).to.have.length(2)
    backup = path.join(await makeFolder(), 'backup')
    expect((await runCommand(['log', 'backup', backup], { DATA_DIR: first.dataDir })).stderr).to.equal('')
    await createRule(first, 'after the backup')
    await send(first)
    expect(await listRequests(first)).to.have.length(3)
    await first.stop('SIGKILL')
    killed = first.dataDir
  })

  afterEach(async () => {
    await gateway?.stop()
    gateway = undefined
  })

  const startOn = async (dataDir: string) => {
    gateway = await startGatewayOnFiles({}, { dataDir, demoKey })
    return gateway
  }

  const startFails = async (dataDir: string): Promise<Error> => {
    const started = await startOn(dataDir).catch((error: Error) => error)
    if (started instanceof Error) return started
    throw new Error('The gateway has started.')
  }

  it('a backup beside an old write-ahead log: events.db is refused, and used without it', async () => {
    const dataDir = await copyFolder(killed)
    expect((await stat(path.join(dataDir, 'events.db-wal'))).size).to.be.above(0)
    await cp(path.join(backup, 'events.db'), path.join(dataDir, 'events.db'))
    await rm(path.join(dataDir, 'snapshots'), { recursive: true, force: true })
    const { message } = await startFails(dataDir)
    expect(message).to.contain('events.db-wal does not belong to it').and.to.contain('Move ')
    expect((await runCommand(['log', 'verify'], { DATA_DIR: dataDir })).stderr).to.equal(`${message}\n`)
    for (const suffix of ['-wal', '-shm']) await rm(path.join(dataDir, `events.db${suffix}`))
    expect(await patternsOf(await startOn(dataDir))).to.deep.equal(['first'])
  })

  it('a backup beside an old write-ahead log: ledger.db counts as away, and its log line says why', async () => {
    const dataDir = await copyFolder(killed)
    await cp(path.join(backup, 'ledger.db'), path.join(dataDir, 'ledger.db'))
    const started = await startOn(dataDir)
    await send(started)
    for (const path of ['/v1/requests', `/v1/responses/${responseId}`])
      expect((await started.call('GET', path)).status).to.equal(503)
    expect(JSON.parse((await createResponse(started, { input: 'Hello' })).text).store).to.equal(false)
    const [line] = await logged(started, 'request ledger unavailable; records wait in memory')
    expect(line?.reason).to.contain('ledger.db-wal does not belong to it')
  })

  it('a backup beside an old write-ahead log: one by VACUUM INTO is recognized as well', async () => {
    const dataDir = await copyFolder(killed)
    const copy = path.join(await makeFolder(), 'events.db')
    const database = new SqliteDatabase(path.join(backup, 'events.db'))
    database.exec(`VACUUM INTO '${copy}'`)
    database.close()
    await cp(copy, path.join(dataDir, 'events.db'))
    expect((await startFails(dataDir)).message).to.contain('does not belong to it')
  })

  it('a killed process: everything that was acknowledged is there', async () => {
    const started = await startOn(await copyFolder(killed))
    expect(await patternsOf(started)).to.deep.equal(['first', 'after the backup'])
    expect(await listRequests(started)).to.have.length(3)
    expect((await replay(started, responseId, false)).status).to.equal(200)
  })

  for (const name of FILES)
    it(`an empty file: ${name} without a byte, as a full disk leaves it`, async () => {
      const dataDir = await copyFolder(killed)
      for (const suffix of ['-wal', '-shm']) await rm(path.join(dataDir, name + suffix), { force: true })
      await writeFile(path.join(dataDir, name), '')
      if (name === 'events.db') {
        expect((await startFails(dataDir)).message).to.contain('events.db is missing or empty')
        return
      }
      const started = await startOn(dataDir)
      const stored = idIn((await createResponse(started, { input: 'Hello' })).text)
      expect((await replay(started, stored, false)).status).to.equal(200)
      expect(await listRequests(started)).to.have.length(1)
      expect((await started.call('GET', '/readyz')).body.damaged_files ?? []).to.deep.equal([])
    })

  it('files of a newer version: events.db is refused by name and version', async () => {
    const dataDir = await copyFolder(killed)
    const database = new SqliteDatabase(path.join(dataDir, 'events.db'))
    database.pragma('user_version = 7')
    database.close()
    const { message } = await startFails(dataDir)
    expect(message).to.contain('events.db was written by a newer version of Signalbox')
    expect(message).to.contain('its schema version is 7, and this version supports up to 1')
  })

  it('files of a newer version: a newer ledger.db counts as away, and its log line says which version', async () => {
    const dataDir = await copyFolder(killed)
    const database = new SqliteDatabase(path.join(dataDir, 'ledger.db'))
    database.exec("INSERT INTO kysely_migration VALUES ('999-later', '2027-01-01T00:00:00.000Z')")
    database.close()
    const started = await startOn(dataDir)
    await send(started)
    expect((await started.call('GET', '/v1/requests')).status).to.equal(503)
    const [line] = await logged(started, 'request ledger unavailable; records wait in memory')
    expect(line?.reason).to.match(
      /the request ledger was written by another version of Signalbox: its schema is 999-later/,
    )
  })

  it('restored without events.db: the start is refused, and names what lacks it', async () => {
    const dataDir = await copyFolder(killed)
    for (const suffix of ['', '-wal', '-shm']) await rm(path.join(dataDir, `events.db${suffix}`))
    const { message } = await startFails(dataDir)
    expect(message).to.contain('events.db is missing or empty, but the folder holds ledger.db')
    expect((await runCommand(['users', 'list'], { DATA_DIR: dataDir })).stderr).to.equal(`${message}\n`)
  })

  it('restored with events.db alone: rules and keys are there, responses and requests are not', async () => {
    const dataDir = await makeFolder()
    await cp(path.join(backup, 'events.db'), path.join(dataDir, 'events.db'))
    const started = await startOn(dataDir)
    expect(await patternsOf(started)).to.deep.equal(['first'])
    expect((await replay(started, responseId, false)).status).to.equal(404)
    expect(await listRequests(started)).to.deep.equal([])
    await send(started)
    expect(await listRequests(started)).to.have.length(1)
  })

  it('restored without keys and snapshots: a new key signs, and the events are read', async () => {
    const dataDir = await copyFolder(killed)
    for (const name of ['keys', 'snapshots', 'transparency'])
      await rm(path.join(dataDir, name), { recursive: true, force: true })
    const started = await startOn(dataDir)
    expect(await patternsOf(started)).to.deep.equal(['first', 'after the backup'])
    await started.stop()
    gateway = undefined
    expect((await runCommand(['log', 'verify'], { DATA_DIR: dataDir })).stderr).to.equal('')
  })

  it('restored from an older backup: what came later is gone, and the log says that it is an older copy', async () => {
    const dataDir = await copyFolder(killed)
    const first = await startOn(dataDir)
    await first.stop()
    await rm(path.join(dataDir, 'events.db'))
    await cp(path.join(backup, 'events.db'), path.join(dataDir, 'events.db'))
    const started = await startOn(dataDir)
    expect(await patternsOf(started)).to.deep.equal(['first'])
    await started.wrote('the log is an older copy')
    expect((await replay(started, responseId, false)).status).to.equal(200)
  })

  it('restored from an older backup: keys that were issued later are refused, and revoked ones are valid', async () => {
    const first = await startOn(await copyFolder(killed))
    const admin = async (method: string, path: string) =>
      (await first.call(method, path, {}, AS_ADMIN)).body.data
    const [{ keys }] = await admin('GET', '/admin/users')
    const { key: later } = await admin('POST', '/admin/users/1/keys')
    const { status } = await first.call('DELETE', `/admin/keys/${keys[0].id}`, undefined, AS_ADMIN)
    expect(status).to.be.below(300)
    await first.stop()
    const started = await startOn(await copyFolder(backup))
    const sent = async (key: string) => {
      const headers = { authorization: `Bearer ${key}` }
      return (await started.call('POST', '/v1/chat/completions', chatBody('Hello'), headers)).status
    }
    expect([await sent(later), await sent(demoKey)]).to.deep.equal([401, 200])
  })

  it('restored without keys and snapshots: sessions of the console end', async () => {
    const dataDir = await copyFolder(killed)
    const first = await startOn(dataDir)
    const signed = await first.call('POST', '/console/session', {}, AS_ADMIN)
    const cookie = signed.headers.get('set-cookie')?.split(';')[0] ?? ''
    const session = async (on: RunningGateway) =>
      (await on.call('GET', '/console/session', undefined, { authorization: '', cookie })).body.data
    expect(await session(first)).not.to.equal(null)
    await first.stop()
    const again = await startOn(dataDir)
    expect(await session(again)).not.to.equal(null)
    await again.stop()
    await rm(path.join(dataDir, 'keys'), { recursive: true })
    expect(await session(await startOn(dataDir))).to.equal(null)
  })

  it('files of another gateway: its ledger.db is set aside', async () => {
    const other = await startGatewayOnFiles()
    await createResponse(other, { input: 'Hello' })
    await send(other)
    await listRequests(other)
    await other.stop()
    const withLedger = await copyFolder(backup)
    await cp(path.join(other.dataDir, 'ledger.db'), path.join(withLedger, 'ledger.db'))
    const started = await startOn(withLedger)
    expect(await listRequests(started)).to.deep.equal([])
    await started.wrote('the request ledger belonged to another event log; set aside')
  })

  it('a copy of a data folder: both gateways go on with what it held, each for itself', async () => {
    const original = await startGatewayOnFiles({}, { dataDir: await copyFolder(killed), demoKey })
    const copy = await startOn(await copyFolder(original.dataDir))
    await createRule(original, 'of the original')
    await createRule(copy, 'of the copy')
    const kept = ['first', 'after the backup']
    expect(await patternsOf(original)).to.deep.equal([...kept, 'of the original'])
    expect(await patternsOf(copy)).to.deep.equal([...kept, 'of the copy'])
    await original.stop()
  })

  it('two gateways on one data folder: both serve, and follow the changes of the other', async () => {
    const one = await startOn(await copyFolder(killed))
    const other = await startGatewayOnFiles({}, { dataDir: one.dataDir, demoKey })
    await createRule(one, 'of one')
    await waitUntil(async () => (await patternsOf(other)).includes('of one'))
    await createRule(other, 'of the other')
    await waitUntil(async () => (await patternsOf(one)).includes('of the other'))
    await Promise.all([send(one), send(other)])
    await waitUntil(async () => (await listRequests(one)).length === 5)
    await other.stop()
    expect((await runCommand(['log', 'verify'], { DATA_DIR: one.dataDir })).stderr).to.equal('')
  })
})
