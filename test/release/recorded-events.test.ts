import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { openLog } from '../../config/gateway/state.ts'
import type { EventLog } from '../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import { createMemoryLog, createMemoryStorage, type MemoryStorage } from '../../core/event-log/memory.ts'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { CHECKPOINTS_STREAM, readToEnd } from '../../core/event-log/streams.ts'
import { formatVerifierKey, originOf, signCheckpoint } from '../../core/event-log/transparency/checkpoint.ts'
import { hashEventLeaf } from '../../core/event-log/transparency/event-leaf.ts'
import { openSigningKey } from '../../core/event-log/transparency/keys.ts'
import { MerkleTree } from '../../core/event-log/transparency/merkle-tree.ts'
import { createMetadata } from '../../core/events/codec.ts'
import { readLogId } from '../../core/events/log-events.ts'
import { UNFOLLOWED_STREAMS } from '../../projections/events/streams.ts'
import { routingRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { createLogFolder } from '../support/data-folder.ts'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { openSigner } from '../support/evidence/signed-log.ts'
import { copyFolder, makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { waitUntil } from '../support/wait.ts'

const RULES = ['first', 'second', 'third']

async function createRules(gateway: RunningGateway, names: readonly string[] = RULES): Promise<void> {
  for (const name of names)
    expect((await gateway.call('POST', '/v1/routing-rules', routingRuleBody({ name }))).status).to.equal(201)
}

/** Resolves when the hashes of all events up to a position are in the data folder. */
async function recorded(dataDir: string, position: number): Promise<void> {
  const folder = path.join(dataDir, 'transparency')
  await waitUntil(async () => {
    const [id] = await readdir(folder).catch(() => [])
    if (id === undefined) return false
    const positions = await readFile(path.join(folder, id, 'positions')).catch(() => Buffer.alloc(0))
    return positions.length >= 8 && positions.readUInt32BE(positions.length - 4) >= position
  })
}

async function newestPosition(gateway: RunningGateway): Promise<number> {
  return (await gateway.call('GET', '/v1/audit?limit=1')).body.data[0].position
}

function askForCheckpoint(gateway: RunningGateway) {
  return fetch(`${gateway.url}/admin/audit/checkpoint`, { method: 'POST', headers: AS_ADMIN })
}

/** Signs the events of a log with another key, whatever its other checkpoints say. */
async function appendForeignCheckpoint(log: EventLog): Promise<void> {
  const tree = new MerkleTree()
  for await (const record of readToEnd(log)) tree.append(hashEventLeaf(record))
  const origin = originOf((await readLogId(log)) ?? '')
  const key = await openSigningKey(await makeFolder(), origin)
  const note = signCheckpoint({ origin, size: tree.size, root: tree.root() }, key.privateKey)
  const event = { type: 'CheckpointSigned', data: { note, key: formatVerifierKey(key), positions: '' } }
  const metadata = createMetadata({ actor: SYSTEM_ACTOR }, '2026-01-01T00:00:00.000Z')
  await log.append(CHECKPOINTS_STREAM, [event], { expectedRevision: 'any', metadata })
}

/** Runs SQL on the file of a log, as a program that has access to it. */
function alter(file: string, sql: string): void {
  const database = new SqliteDatabase(file)
  database.exec(sql)
  database.close()
}

describe('events behind the newest checkpoint', () => {
  let original: RunningGateway
  let position: number
  let dataDir: string
  let gateway: RunningGateway | undefined

  before(async () => {
    original = await startGatewayOnFiles()
    await createRules(original)
    position = await newestPosition(original)
    await recorded(original.dataDir, position)
  })
  after(() => original.stop())
  beforeEach(async () => {
    // What a crash leaves: nothing was signed.
    dataDir = await copyFolder(original.dataDir)
  })
  afterEach(async () => {
    await gateway?.stop()
    gateway = undefined
  })

  const events = () => path.join(dataDir, 'events.db')
  const start = async () => {
    gateway = await startGatewayOnFiles({}, { dataDir, demoKey: original.demoKey })
    return gateway
  }
  const verify = () => runCommand(['log', 'verify'], { DATA_DIR: dataDir })
  const countCheckpoints = () => {
    const database = new SqliteDatabase(events())
    const sql = "SELECT count(*) FROM events WHERE stream = 'checkpoints'"
    const count = database.prepare<[], number>(sql).pluck().get()
    database.close()
    return count
  }

  it('are not an issue if nobody changed them', async () => {
    const { code, stdout } = await verify()
    expect(stdout).to.contain(`Recorded hashes cover ${position} of ${position} events`)
    expect(code).to.equal(0)
    const checkpoint = await (await askForCheckpoint(await start())).text()
    expect(Number(checkpoint.split('\n')[1])).to.be.at.least(position)
    await gateway?.stop()
    expect((await verify()).code).to.equal(0)
  })

  const last = 'position = (SELECT max(position) FROM events)'
  const rewritten = `UPDATE events SET metadata = replace(metadata, '"demo"', '"root"') WHERE ${last}`
  const ATTACKS: Readonly<Record<string, readonly [sql: string, issue: RegExp, isSigned?: true]>> = {
    'the newest one was changed': [rewritten, /was changed/],
    'the first one was changed': [
      `UPDATE events SET data = replace(data, '"demo"', '"Demo"') WHERE type = 'UserCreated'`,
      /was changed/,
    ],
    'one was removed': [`DELETE FROM events WHERE position = 4`, /was removed/],
    'the newest was removed': [
      `DELETE FROM events WHERE ${last}`,
      /was removed from the end|was changed, removed or moved/,
    ],
    'the newest was removed without a trace in the file': [
      `DELETE FROM events WHERE ${last}; UPDATE sqlite_sequence SET seq = seq - 1`,
      /was removed from the end|was changed, removed or moved/,
    ],
    'the newest one was changed, and a checkpoint signed with another key': [rewritten, /was changed/, true],
    'the newest one was changed, and the log looks as if it were imported': [
      `${rewritten};
       INSERT INTO events (stream, revision, type, data, metadata)
       SELECT stream, 1, type, json_object('id', 'log_another'), metadata FROM events WHERE position = 1`,
      /was changed/,
    ],
    'the newest was removed, and the log looks as if it were imported': [
      `DELETE FROM events WHERE ${last};
       INSERT INTO events (stream, revision, type, data, metadata)
       SELECT stream, 1, type, json_object('id', 'log_another'), metadata FROM events WHERE position = 1`,
      /was changed, removed or moved/,
    ],
    'the log got another id': [
      `UPDATE events SET data = json_object('id', 'log_another') WHERE position = 1`,
      /The event log has the id log_another, but the data folder/,
    ],
  }
  /** Signs the changed log elsewhere, with another key, and puts it in the place of the log. */
  async function signElsewhere(): Promise<void> {
    const other = await makeFolder()
    const names = (await readdir(dataDir)).filter((name) => name.startsWith('events.db'))
    for (const name of names) await rename(path.join(dataDir, name), path.join(other, name))
    const log = await openLog({ data_dir: other, eventstore_url: null })
    await (await openSigner(log, other))()
    await log.close()
    for (const name of names)
      await rename(path.join(other, name), path.join(dataDir, name)).catch(() => undefined)
  }
  for (const [title, [sql, issue, isSigned]] of Object.entries(ATTACKS))
    it(`stop a start from signing: ${title}`, async () => {
      alter(events(), sql)
      if (isSigned) await signElsewhere()
      const { code, stderr } = await verify()
      expect(code).to.equal(1)
      expect(stderr).to.match(issue)

      const signed = countCheckpoints()
      const started = await start()
      await started.wrote('event log contradicts its evidence')
      const line = started
        .stderr()
        .split('\n')
        .find((text) => text.includes('contradicts its evidence'))
      expect(JSON.parse(line ?? '')).to.have.property('level', 60)
      expect(JSON.parse(line ?? '').reason).to.match(issue)
      const refused = await askForCheckpoint(started)
      expect(refused.status).to.equal(503)
      expect(await refused.text()).to.match(issue)
      expect(refused.headers.get('x-error-code')).to.equal('event_log_changed')
      const { body } = await started.call('GET', '/admin/status', undefined, AS_ADMIN)
      const found = body.data.attention.find(
        ({ code }: { code: string }) => code === 'event_log_contradicted',
      )
      expect(found.severity).to.equal('error')
      const page = await fetch(`${started.url}/metrics`, { headers: AS_ADMIN })
      expect(await page.text()).to.match(/^signalbox_event_log_contradicted 1$/m)
      await started.call('POST', '/admin/users', { name: 'later', plan: 'free' }, AS_ADMIN)
      await started.stop()
      gateway = undefined
      expect(countCheckpoints()).to.equal(signed)
      expect((await verify()).stderr).to.match(issue)
      const command = await runCommand(['log', 'checkpoint'], { DATA_DIR: dataDir })
      expect(command.code).to.equal(1)
      expect(command.stderr).to.match(issue)
      expect(countCheckpoints()).to.equal(signed)
    })

  it('are named by position, and signed again once the log was restored', async () => {
    const copy = await copyFolder(dataDir)
    alter(events(), rewritten)
    const refused = await start()
    await refused.wrote(`"position":${position}`)
    await refused.stop()

    for (const name of await readdir(copy))
      if (name.startsWith('events.db')) await rename(path.join(copy, name), path.join(dataDir, name))
    const again = await start()
    await waitUntil(
      async () => (await fetch(`${again.url}/admin/audit/checkpoint`, { headers: AS_ADMIN })).ok,
    )
    // The newest checkpoint is that of before, so it is there before the contradiction is gone.
    await waitUntil(async () => {
      const page = await fetch(`${again.url}/metrics`, { headers: AS_ADMIN })
      return /^signalbox_event_log_contradicted 0$/m.test(await page.text())
    })
  })

  it('that are changed while a gateway runs are found when it is asked, and by the next start', async () => {
    const started = await start()
    await started.call('POST', '/admin/users', { name: 'later', plan: 'free' }, AS_ADMIN)
    await recorded(dataDir, position + 2)
    alter(events(), rewritten.replace(last, `position = ${position}`))
    const signed = countCheckpoints()
    expect((await askForCheckpoint(started)).status).to.equal(503)
    await started.call('POST', '/admin/users', { name: 'last', plan: 'free' }, AS_ADMIN)
    await started.stop()
    expect(countCheckpoints()).to.equal(signed)
    expect((await verify()).stderr).to.match(/was changed/)
    const again = await start()
    await again.wrote(`"position":${position}`)
    expect((await askForCheckpoint(again)).status).to.equal(503)
  })

  for (const file of ['hashes', 'positions'])
    it(`are not signed if ${file} of their records were cut off`, async () => {
      const [id = ''] = await readdir(path.join(dataDir, 'transparency'))
      const name = path.join(dataDir, 'transparency', id, file)
      await rm(name)
      const { code, stderr } = await verify()
      expect(code).to.equal(1)
      expect(stderr).to.contain(`transparency/${id}`)
      const started = await start()
      await started.wrote('event log contradicts its evidence')
      const refused = await askForCheckpoint(started)
      expect(refused.status).to.equal(503)
      expect(await refused.text()).to.contain(`transparency/${id}`)
    })

  it('are signed when asked for, by a request and a command', async () => {
    const started = await start()
    const first = await askForCheckpoint(started)
    expect(first.status).to.equal(200)
    expect(first.headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    const note = await first.text()
    expect(await (await askForCheckpoint(started)).text()).to.equal(note)
    await createRules(started, ['later'])
    const { stdout } = await runCommand(['log', 'checkpoint'], { DATA_DIR: dataDir })
    expect(Number(stdout.split('\n')[1])).to.be.above(Number(note.split('\n')[1]))
    expect(await (await askForCheckpoint(started)).text()).to.equal(stdout)
    expect((await started.call('POST', '/admin/audit/checkpoint')).status).to.equal(401)
    await started.stop()
    gateway = undefined
    expect((await verify()).code).to.equal(0)
  })
})

describe('events behind the newest checkpoint of other logs', () => {
  const openOn = (storage: MemoryStorage) => async (): Promise<EventLog> =>
    createMemoryLog({ storage, unfollowedStreams: UNFOLLOWED_STREAMS })

  it('are compared in memory', async () => {
    const storage = createMemoryStorage()
    const first = await startGateway({}, { log: openOn(storage) })
    await createRules(first)
    const position = await newestPosition(first)
    await recorded(first.dataDir, position)
    const dataDir = await copyFolder(first.dataDir)
    const { subscribers, ...contents } = storage
    const copy = { ...structuredClone(contents), subscribers: new Set<never>() }
    const event = copy.history.find((each) => each.position === position) as { metadata: string }
    event.metadata = event.metadata.replace('"demo"', '"root"')
    const second = await startGateway({}, { log: openOn(copy), dataDir, demoKey: first.demoKey })
    await second.wrote(`"position":${position}`)
    expect((await askForCheckpoint(second)).status).to.equal(503)
    await Promise.all([first.stop(), second.stop()])
  })

  it('are compared on EventStoreDB', async () => {
    const folder = await makeFolder()
    const servers: EventStore[] = []
    const serve = async (file: string) => {
      const server = await startEventStore({ file })
      servers.push(server)
      return { EVENTSTORE_URL: server.connectionString }
    }
    const first = await startGateway(await serve(path.join(folder, 'server.db')))
    await createRules(first)
    const position = await newestPosition(first)
    await recorded(first.dataDir, position)
    const [dataDir, copy] = [await copyFolder(first.dataDir), await copyFolder(folder)]
    const file = path.join(copy, 'server.db')
    alter(
      file,
      `UPDATE events SET metadata = CAST(replace(CAST(metadata AS TEXT), '"demo"', '"root"') AS BLOB)
        WHERE position = ${position}`,
    )
    const environment = await serve(file)
    const second = await startGateway(environment, { dataDir, demoKey: first.demoKey })
    await second.wrote('event log contradicts its evidence')
    expect((await askForCheckpoint(second)).status).to.equal(503)
    const { code, stderr } = await runCommand(['log', 'verify'], { DATA_DIR: dataDir, ...environment })
    expect(code).to.equal(1)
    expect(stderr).to.contain(`at position ${position}, was changed`)
    await Promise.all([first.stop(), second.stop()])
    await Promise.all(servers.map((server) => server.stop()))
  })
})

describe('missing evidence', () => {
  let original: RunningGateway
  let dataDir: string

  before(async () => {
    original = await startGatewayOnFiles()
    await createRules(original)
    await original.stop()
  })
  beforeEach(async () => {
    dataDir = await copyFolder(original.dataDir)
  })
  const verify = () => runCommand(['log', 'verify'], { DATA_DIR: dataDir })
  const remove = async (name: string) => rm(path.join(dataDir, name), { recursive: true })
  const removeCheckpoints = () =>
    alter(path.join(dataDir, 'events.db'), "DELETE FROM events WHERE stream = 'checkpoints'")

  it('of a log that was signed is found, and stops the gateway from signing', async () => {
    removeCheckpoints()
    alter(path.join(dataDir, 'events.db'), 'UPDATE sqlite_sequence SET seq = seq - 1')
    await remove('transparency')
    const { code, stdout, stderr } = await verify()
    expect(code).to.equal(1)
    expect(stderr).to.match(/^Evidence is missing: a key in the folder keys has signed/)
    expect(stdout).not.to.contain('No checkpoint was signed yet')
    for (let attempt = 0; attempt < 2; attempt++) {
      const gateway = await startGatewayOnFiles({}, { dataDir, demoKey: original.demoKey })
      await gateway.wrote('Evidence is missing')
      expect((await askForCheckpoint(gateway)).status).to.equal(503)
      await gateway.stop()
    }
    expect((await verify()).code).to.equal(1)
  })

  it('is found where only checkpoints were removed, and where their hashes are there', async () => {
    removeCheckpoints()
    const { code, stderr } = await verify()
    expect(code).to.equal(1)
    expect(stderr).to.contain('was removed from the end')
  })

  it('is not replaced by checkpoints of another key', async () => {
    await remove('transparency')
    const sql = `UPDATE events SET data = replace(data, '"demo"', '"Demo"') WHERE type = 'UserCreated'`
    alter(path.join(dataDir, 'events.db'), sql)
    const log = await openLog({ data_dir: dataDir, eventstore_url: null })
    await appendForeignCheckpoint(log)
    await log.close()
    const gateway = await startGatewayOnFiles({}, { dataDir, demoKey: original.demoKey })
    await gateway.wrote('event log contradicts its evidence')
    expect((await askForCheckpoint(gateway)).status).to.equal(503)
    await gateway.stop()
  })

  it('is no issue of a backup, nor of a key that has not signed yet', async () => {
    await remove('transparency')
    expect(await verify()).to.include({ code: 0, stderr: '' })
    const gateway = await startGatewayOnFiles({}, { dataDir, demoKey: original.demoKey })
    expect((await askForCheckpoint(gateway)).status).to.equal(200)
    await gateway.stop()

    dataDir = await createLogFolder()
    await runCommand(['users', 'add', '--name', 'Ada', '--plan', 'paid'], { DATA_DIR: dataDir })
    expect((await runCommand(['log', 'key'], { DATA_DIR: dataDir })).code).to.equal(0)
    const { code, stdout } = await verify()
    expect(stdout).to.contain('No checkpoint was signed yet')
    expect(code).to.equal(0)
  })

  it('is no issue of a log that was imported where its events were recorded', async () => {
    const { stdout } = await runCommand(['log', 'export'], { DATA_DIR: dataDir })
    const file = path.join(dataDir, 'events.jsonl')
    await writeFile(file, stdout)
    const kept = ['keys', 'transparency', 'events.jsonl']
    for (const name of await readdir(dataDir)) if (!kept.includes(name)) await remove(name)
    const environment = { DATA_DIR: dataDir }
    expect((await runCommand(['log', 'import', file], environment)).code).to.equal(0)
    expect(await verify()).to.include({ code: 0, stderr: '' })
    for (let start = 0; start < 2; start++) {
      const gateway = await startGatewayOnFiles({}, { dataDir, demoKey: original.demoKey })
      await createRules(gateway, [`start ${start}`])
      expect((await askForCheckpoint(gateway)).status).to.equal(200)
      await gateway.stop()
    }
    expect(await verify()).to.include({ code: 0, stderr: '' })
  })

  it('in a file stops an import that is not told so', async () => {
    const { stdout } = await runCommand(['log', 'export'], { DATA_DIR: dataDir })
    const file = path.join(dataDir, 'events.jsonl')
    const lines = stdout.trimEnd().split('\n')
    const importInto = async (folder: string, ...options: string[]) =>
      runCommand(['log', 'import', file, ...options], { DATA_DIR: folder })
    await writeFile(file, `${lines.filter((line) => !line.includes('"stream":"checkpoints"')).join('\n')}\n`)
    const target = await makeFolder()
    const refused = await importInto(target)
    expect(refused.code).to.equal(1)
    expect(refused.stderr).to.contain('holds no checkpoint').and.to.contain('--without-checkpoints')
    expect((await runCommand(['log', 'export'], { DATA_DIR: target })).stdout).to.equal('')
    const accepted = await importInto(target, '--without-checkpoints')
    expect(accepted.stderr).to.equal('')
    expect(accepted.code).to.equal(0)

    await writeFile(file, stdout)
    const whole = await importInto(await makeFolder())
    expect(whole.code).to.equal(0)
    expect(whole.stdout).to.match(/1 checkpoint; the newest that matches covers \d+ of \d+ events/)
  })

  it('behind the newest checkpoint of a file stops an import, too, if it is more than a gateway leaves', async () => {
    const line = (await runCommand(['log', 'export'], { DATA_DIR: dataDir })).stdout.trimEnd().split('\n')
    const { position, ...event } = JSON.parse(line.find((text) => text.includes('"UserCreated"')) ?? '')
    const file = path.join(dataDir, 'events.jsonl')
    const more = Array.from({ length: 1001 }, (_, at) => {
      const userId = 1000 + at
      const data = { ...event.data, userId }
      return JSON.stringify({ position: 1000 + at, ...event, stream: `user-${userId}`, revision: 0, data })
    })
    const importFrom = async (count: number) => {
      await writeFile(file, `${[...line, ...more.slice(0, count)].join('\n')}\n`)
      return runCommand(['log', 'import', file], { DATA_DIR: await makeFolder() })
    }
    const refused = await importFrom(1001)
    expect(refused.code).to.equal(1)
    expect(refused.stderr).to.contain('1002 events behind the newest checkpoint')
    const accepted = await importFrom(900)
    expect(accepted.code).to.equal(0)
    expect(accepted.stdout).to.contain('No checkpoint covers the last 901 events of the file.')
  })
})
