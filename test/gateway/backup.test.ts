import { execFileSync, spawnSync } from 'node:child_process'
import { cp, open, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { openSqliteLog } from '../../core/event-log/sqlite/sqlite-log.ts'
import { EXPIRING_STREAMS } from '../../core/events/streams.ts'
import { makeFolder, type RunningGateway, runSignalbox, startGateway } from '../support/gateway.ts'

/** Copies the data folder of a running gateway into an empty folder, with the commands of docs/operations.md. */
type BackUp = (dataDir: string, folder: string) => Promise<void> | void

const withCommand: BackUp = async (dataDir, folder) => {
  const { code, stdout, stderr } = await runSignalbox(['log', 'backup', folder], { DATA_DIR: dataDir })
  expect(stderr).to.equal('')
  expect(code).to.equal(0)
  expect(stdout).to.match(
    /^responses\.db: 1 stored responses\.\nevents\.db: \d+ events, the newest at position \d+\.\n$/,
  )
}

const withSqlite =
  (command: (copy: string) => string): BackUp =>
  (dataDir, folder) => {
    for (const file of ['responses.db', 'events.db'])
      execFileSync('sqlite3', [path.join(dataDir, file), command(path.join(folder, file))])
  }

describe('a backup of a gateway that takes changes, restored into another folder', () => {
  describe('with "log backup"', () => holdsWhatWasAcknowledged(withCommand))

  describe('with the sqlite3 command (skipped where it is not installed)', () => {
    before(function () {
      if (spawnSync('sqlite3', ['--version']).error) this.skip()
    })

    describe('VACUUM INTO', () => holdsWhatWasAcknowledged(withSqlite((copy) => `VACUUM INTO '${copy}'`)))
    describe('.backup', () => holdsWhatWasAcknowledged(withSqlite((copy) => `.backup '${copy}'`)))
  })
})

function holdsWhatWasAcknowledged(backUp: BackUp): void {
  it('holds every rule acknowledged before, with the same ETags and audit, and nothing is wrong with it', async function () {
    this.timeout(60_000)
    const gateway = await startGateway()
    const response = await storeResponse(gateway)
    const writers = startWriters(gateway)
    await writers.until(60)
    const acknowledged = new Map(writers.acknowledged)
    const folder = await makeFolder()
    await backUp(gateway.dataDir, folder)
    await writers.until(acknowledged.size + 20)
    await writers.stop()

    await expectVerified(folder)
    const restored = await startRestored(gateway, folder)
    await expectAcknowledged(restored, acknowledged)
    await expectSameAsOf(gateway, restored, newestPosition(folder))
    expect((await restored.call('GET', `/v1/responses/${response}`)).status).to.equal(200)
    await gateway.stop()
    expect((await createRule(restored, 'afterwards')).status).to.equal(201)
    await restored.stop()
  })
}

describe('a copy of the data folder', () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    it(`of a gateway that was stopped with ${signal} holds everything`, async function () {
      this.timeout(60_000)
      const gateway = await startGateway()
      const response = await storeResponse(gateway)
      const writers = startWriters(gateway)
      await writers.until(40)
      await writers.stop()
      await gateway.stop(signal)
      const folder = await makeFolder()
      await cp(gateway.dataDir, folder, { recursive: true })

      await expectVerified(folder)
      const original = await startGateway({}, { dataDir: gateway.dataDir, demoKey: gateway.demoKey })
      const restored = await startRestored(gateway, folder)
      await expectAcknowledged(restored, writers.acknowledged)
      await expectSameAsOf(original, restored, newestPosition(folder))
      expect((await restored.call('GET', `/v1/responses/${response}`)).status).to.equal(200)
      await Promise.all([original.stop(), restored.stop()])
    })
  }
})

describe('"log backup"', () => {
  let dataDir: string

  beforeEach(async () => {
    dataDir = await makeFolder()
    await runSignalbox(['users', 'add', '--name', 'Ada', '--plan', 'paid'], { DATA_DIR: dataDir })
    const log = await openSqliteLog({ directory: dataDir, expiringStreams: EXPIRING_STREAMS })
    const metadata = { actor: 'system', time: new Date().toISOString(), schema: 1 }
    await log.append('response-1', [{ type: 'Any', data: {} }], {
      expectedRevision: -1,
      metadata,
      maxAge: 3600,
    })
    await log.close()
  })

  const backUp = (operands: string[], environment: Record<string, string> = {}) =>
    runSignalbox(['log', 'backup', ...operands], { DATA_DIR: dataDir, ...environment })
  const within = async (name: string) => path.join(await makeFolder(), name)

  it('makes the folder, for its owner alone, and leaves nothing in it but the two files', async () => {
    const folder = await within('deep/backup')

    expect(await backUp([folder])).to.include({ code: 0, stderr: '' })
    expect((await readdir(folder)).sort()).to.deep.equal(['events.db', 'responses.db'])
    expect((await stat(folder)).mode & 0o777).to.equal(0o700)
  })

  it('leaves the stored responses out when it is asked to', async () => {
    const folder = await within('backup')

    const { stdout } = await backUp([folder, '--history-only'])
    expect(stdout).to.equal('events.db: 3 events, the newest at position 3.\n')
    expect(await readdir(folder)).to.deep.equal(['events.db'])
  })

  it('never writes over a backup, nor over the log itself', async () => {
    const folder = await within('backup')
    await backUp([folder])

    for (const taken of [folder, dataDir]) {
      const { code, stderr } = await backUp([taken])
      expect(stderr).to.equal(`${taken} is not empty: choose an empty or new folder for the backup\n`)
      expect(code).to.equal(1)
    }
  })

  it('fails and leaves no file behind when the log is damaged', async () => {
    const file = await open(path.join(dataDir, 'events.db'), 'r+')
    await file.write(Buffer.alloc(2048, 0xff), 0, 2048, 4096)
    await file.close()
    const folder = await within('backup')

    const { code, stderr } = await backUp([folder])
    expect(stderr).to.contain('the backup failed: ')
    expect(code).to.equal(1)
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('says what is missing: a log, a folder, or the right to the files of a server', async () => {
    const empty = await makeFolder()
    const folder = await within('backup')

    const noLog = await backUp([folder], { DATA_DIR: empty })
    expect(noLog).to.include({ code: 1, stderr: `no event log found in ${empty}\n` })
    expect(await readdir(empty)).to.deep.equal([])
    expect((await backUp([])).code).to.equal(2)
    const server = await backUp([folder], { EVENTSTORE_URL: 'esdb://127.0.0.1:9?tls=false' })
    expect(server.stderr).to.contain('Back up that server')
    expect(server.code).to.equal(1)
  })
})

const rule = (name: string) => ({
  name,
  is_enabled: true,
  scope: 'prompt',
  type: 'substring',
  pattern: name,
  action: 'warn',
  priority: 0,
})

function createRule(gateway: RunningGateway, name: string) {
  return gateway.call('POST', '/v1/firewall-rules', rule(name))
}

async function storeResponse(gateway: RunningGateway): Promise<string> {
  return (await gateway.call('POST', '/v1/responses', { input: 'Keep this.' })).body.id
}

/** Four writers that create rules, change every second one, and note what was acknowledged, with its ETag. */
function startWriters(gateway: RunningGateway) {
  const acknowledged = new Map<number, { name: string; etag: string | null }>()
  let isOver = false
  let failure: unknown
  async function write(writer: number): Promise<void> {
    for (let n = 0; !isOver; n++) {
      const name = `writer ${writer} rule ${n}`
      const { status, body, headers } = await createRule(gateway, name)
      expect(status).to.equal(201)
      const { id } = body.data
      if (n % 2 === 0) acknowledged.set(id, { name, etag: headers.get('etag') })
      else {
        const changed = await gateway.call('PATCH', `/v1/firewall-rules/${id}`, { priority: n })
        expect(changed.status).to.equal(200)
        acknowledged.set(id, { name, etag: changed.headers.get('etag') })
      }
    }
  }
  const writers = Promise.all([0, 1, 2, 3].map(write)).catch((error) => {
    failure = error
  })
  return {
    acknowledged,
    async until(count: number) {
      while (acknowledged.size < count && failure === undefined) await new Promise(setImmediate)
    },
    async stop() {
      isOver = true
      await writers
      if (failure !== undefined) throw failure
    },
  }
}

/** As docs/operations.md says: the backup becomes the data folder. */
async function startRestored(original: RunningGateway, backup: string): Promise<RunningGateway> {
  const dataDir = path.join(await makeFolder(), 'data')
  await cp(backup, dataDir, { recursive: true })
  return startGateway({}, { dataDir, demoKey: original.demoKey })
}

async function expectVerified(folder: string): Promise<void> {
  const { code, stdout, stderr } = await runSignalbox(['log', 'verify'], { DATA_DIR: folder })
  expect(stderr).to.equal('')
  expect(stdout).to.contain('No issues found.')
  expect(code).to.equal(0)
}

async function expectAcknowledged(
  gateway: RunningGateway,
  acknowledged: ReadonlyMap<number, { name: string; etag: string | null }>,
): Promise<void> {
  for (const [id, { name, etag }] of acknowledged) {
    const { status, body, headers } = await gateway.call('GET', `/v1/firewall-rules/${id}`)
    expect(status, name).to.equal(200)
    expect(body.data.name).to.equal(name)
    expect(headers.get('etag'))
      .to.equal(etag)
      .and.to.match(/^"\d+"$/)
  }
}

/** The restored gateway has now what the original had at the backup's newest event, no more and no less. */
async function expectSameAsOf(original: RunningGateway, restored: RunningGateway, position: number) {
  const rules = await restored.call('GET', '/v1/firewall-rules')
  const then = await original.call('GET', `/v1/firewall-rules?as_of=${position}`)
  expect(rules.body.data).to.not.have.length(0)
  expect(rules.body).to.deep.equal(then.body)
  const trail = await readTrail(restored, '')
  expect(trail).to.deep.equal(await readTrail(original, `&until=${position}`))
  expect(trail.length).to.be.above(rules.body.data.length)
}

async function readTrail(gateway: RunningGateway, filter: string): Promise<unknown[]> {
  const entries: unknown[] = []
  let cursor = ''
  do {
    const { status, body } = await gateway.call('GET', `/v1/audit?limit=500${filter}${cursor}`)
    expect(status).to.equal(200)
    entries.push(...body.data)
    cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
  } while (cursor !== '')
  return entries
}

function newestPosition(folder: string): number {
  const database = new SqliteDatabase(path.join(folder, 'events.db'))
  const position = database.prepare('SELECT max(position) FROM events').pluck().get()
  database.close()
  return Number(position)
}
