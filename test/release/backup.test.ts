import { execFile, spawnSync } from 'node:child_process'
import { cp, open, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { createDataFolder, createLogFolder } from '../support/data-folder.ts'
import { copyFolder, makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { runSignalbox, startGatewayProcess } from '../support/gateway-process.ts'
import { skip } from '../support/skip.ts'
import { waitUntil } from '../support/wait.ts'

/** Copies the data folder of a running gateway with a command from docs/guides/install.md. */
type BackUp = (dataDir: string, folder: string) => Promise<void>

const withCommand: BackUp = async (dataDir, folder) => {
  const { code, stdout, stderr } = await runSignalbox(['log', 'backup', folder], { DATA_DIR: dataDir })
  expect(stderr).to.equal('')
  expect(code).to.equal(0)
  expect(stdout).to.match(/^ledger\.db: \d+ requests, 1 stored responses\.\n/)
  expect(stdout).to.match(/\nevents\.db: \d+ events, the newest at position \d+\.\n$/)
}

const withSqlite =
  (command: (copy: string) => string): BackUp =>
  async (dataDir, folder) => {
    for (const file of ['ledger.db', 'events.db'])
      await promisify(execFile)('sqlite3', [path.join(dataDir, file), command(path.join(folder, file))])
  }

describe('a backup of a gateway under writes, restored into another folder', () => {
  describe('with "log backup"', () => containsAcknowledgedChanges(withCommand))

  describe('with the sqlite3 command', () => {
    before(function () {
      if (spawnSync('sqlite3', ['--version']).error) skip(this, 'sqlite3 is not installed')
    })

    describe('VACUUM INTO', () => containsAcknowledgedChanges(withSqlite((copy) => `VACUUM INTO '${copy}'`)))
    describe('.backup', () => containsAcknowledgedChanges(withSqlite((copy) => `.backup '${copy}'`)))
  })
})

const listRequests = async ({ call }: RunningGateway) => (await call('GET', '/v1/requests')).body.data

function containsAcknowledgedChanges(backUp: BackUp): void {
  it('contains every rule acknowledged before, with the same ETags and audit entries', async function () {
    this.timeout(180_000)
    const gateway = await startGatewayOnFiles()
    const response = await storeResponse(gateway)
    const recorded = await listRequests(gateway)
    expect(recorded).to.have.length(1)
    const writers = startWriters(gateway)
    await writers.until(30)
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
    expect(await listRequests(restored)).to.deep.equal(recorded)
    await gateway.stop()
    expect((await createRule(restored, 'afterwards')).status).to.equal(201)
    await restored.stop()
  })
}

describe('a copy of the data folder', () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    it(`of a gateway that was stopped with ${signal} is complete`, async function () {
      this.timeout(180_000)
      const gateway = await startGatewayProcess()
      const response = await storeResponse(gateway)
      const writers = startWriters(gateway)
      await writers.until(40)
      await writers.stop()
      await gateway.stop(signal)
      const folder = await copyFolder(gateway.dataDir)

      await expectVerified(folder)
      const original = await startGatewayOnFiles({}, { dataDir: gateway.dataDir, demoKey: gateway.demoKey })
      const restored = await startRestored(gateway, folder)
      await expectAcknowledged(restored, writers.acknowledged)
      await expectSameAsOf(original, restored, newestPosition(folder))
      expect((await restored.call('GET', `/v1/responses/${response}`)).status).to.equal(200)
      await Promise.all([original.stop(), restored.stop()])
    })
  }
})

describe('"log backup"', () => {
  let original: string
  /** A copy of `original`, for one test. */
  let dataDir: string

  before(async () => {
    original = await createLogFolder()
    await runCommand(['users', 'add', '--name', 'Ada', '--plan', 'paid'], { DATA_DIR: original })
    await cp(
      path.join(await createDataFolder({ hasLog: false }), 'ledger.db'),
      path.join(original, 'ledger.db'),
    )
  })
  beforeEach(async () => {
    dataDir = await copyFolder(original)
  })

  const backUp = (operands: string[], environment: Record<string, string> = {}) =>
    runCommand(['log', 'backup', ...operands], { DATA_DIR: dataDir, ...environment })
  const within = async (name: string) => path.join(await makeFolder(), name)

  it('creates the folder, readable by its owner only, with the two files', async () => {
    const folder = await within('deep/backup')

    expect(await backUp([folder])).to.include({ code: 0, stderr: '' })
    expect((await readdir(folder)).sort()).to.deep.equal(['events.db', 'ledger.db'])
    expect((await stat(folder)).mode & 0o777).to.equal(0o700)
  })

  it('omits the ledger with --history-only', async () => {
    const folder = await within('backup')

    const { stdout } = await backUp([folder, '--history-only'])
    expect(stdout).to.equal('events.db: 4 events, the newest at position 4.\n')
    expect(await readdir(folder)).to.deep.equal(['events.db'])
  })

  it('overwrites neither a backup nor the log', async () => {
    const folder = await within('backup')
    await backUp([folder])

    for (const taken of [folder, dataDir]) {
      const { code, stderr } = await backUp([taken])
      expect(stderr).to.equal(`${taken} is not empty: choose an empty or new folder for the backup\n`)
      expect(code).to.equal(1)
    }
  })

  it('fails and leaves no file when the log is damaged', async () => {
    const file = await open(path.join(dataDir, 'events.db'), 'r+')
    await file.write(Buffer.alloc(2048, 0xff), 0, 2048, 4096)
    await file.close()
    const folder = await within('backup')

    const { code, stderr } = await backUp([folder])
    expect(stderr).to.contain('the backup failed: ')
    expect(code).to.equal(1)
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('reports a missing log, a missing folder, and an event log on a server', async () => {
    const empty = await makeFolder()
    const folder = await within('backup')

    const noLog = await backUp([folder], { DATA_DIR: empty })
    expect(noLog.code).to.equal(1)
    expect(noLog.stderr).to.contain(`There is no gateway in ${empty}: `)
    expect(await readdir(empty)).to.deep.equal([])
    expect((await backUp([])).code).to.equal(2)
    const server = await backUp([folder], { EVENTSTORE_URL: 'esdb://127.0.0.1:9?tls=false' })
    expect(server.stderr).to.contain('Back up that server')
    expect(server.code).to.equal(1)
  })
})

const rule = (name: string) => firewallRuleBody({ name, pattern: name, action: 'warn' })

function createRule(gateway: RunningGateway, name: string) {
  return gateway.call('POST', '/v1/firewall-rules', rule(name))
}

async function storeResponse(gateway: RunningGateway): Promise<string> {
  return (await gateway.call('POST', '/v1/responses', { input: 'Keep this.' })).body.id
}

/** Starts four writers that create rules and change every second one. Records acknowledged ETags. */
function startWriters(gateway: RunningGateway) {
  const acknowledged = new Map<number, { name: string; etag: string | null }>()
  let isStopped = false
  let failure: unknown
  async function write(writer: number): Promise<void> {
    for (let n = 0; !isStopped; n++) {
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
      await waitUntil(() => acknowledged.size >= count || failure !== undefined)
    },
    async stop() {
      isStopped = true
      await writers
      if (failure !== undefined) throw failure
    },
  }
}

/** Starts a gateway with the backup as its data folder, as docs/guides/install.md describes. */
async function startRestored(original: RunningGateway, backup: string): Promise<RunningGateway> {
  return startGatewayOnFiles({}, { dataDir: await copyFolder(backup), demoKey: original.demoKey })
}

async function expectVerified(folder: string): Promise<void> {
  const { code, stdout, stderr } = await runCommand(['log', 'verify'], { DATA_DIR: folder })
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

/** Checks that the restored gateway has exactly what the original had at this position. */
async function expectSameAsOf(original: RunningGateway, restored: RunningGateway, position: number) {
  const rules = await restored.call('GET', '/v1/firewall-rules')
  const then = await original.call('GET', `/v1/firewall-rules?as_of=${position}`)
  expect(rules.body.data).to.not.have.length(0)
  expect(rules.body).to.deep.equal(then.body)
  const entries = await readAudit(restored, '')
  expect(entries).to.deep.equal(await readAudit(original, `&until=${position}`))
  expect(entries.length).to.be.above(rules.body.data.length)
}

async function readAudit(gateway: RunningGateway, filter: string): Promise<unknown[]> {
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
