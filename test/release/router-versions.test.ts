import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { openLog } from '../../config/gateway/state.ts'
import type { RecordedEvent } from '../../core/contract/index.ts'
import { openSqliteLog } from '../../core/event-log/sqlite/sqlite-log.ts'
import { ALL_STREAMS, readToEnd } from '../../core/event-log/streams.ts'
import type { RouterEvent } from '../../projections/events/routers.ts'
import { runCommand } from '../support/command.ts'
import { startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { asAdmin } from '../support/policies.ts'
import {
  goodAt,
  trainedData,
  versionTrained,
  writeRouterEvents,
  writeVersions,
  writeWeights,
} from '../support/routers.ts'
import { listSnapshots } from '../support/rule-patterns.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const CHEAP = 'ministral-3b-2512'
const LEARNED = `${UNLIMITED}routing: { learned: "on" }\n`
const EVERYONE = { everyone: true } as const

/** Shared by several nodes and data folders, whose files differ. */
const FEATURES_KEY = 'the key of features in tests of versions'

const ask = async (gateway: RunningGateway, content = 'write a haiku') => {
  const body = { model: 'auto:quality', messages: [{ role: 'user', content }] }
  const answer = await gateway.call('POST', '/v1/chat/completions', body)
  expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
  return { model: answer.body.model, version: answer.body.signalbox.router?.version ?? 0 }
}

const activated = (version: number): RouterEvent => ({
  type: 'RouterActivated',
  data: { version, scope: EVERYONE },
})

/** Versions that are good at haikus and at theorems. */
const versionData = (version: number, folder: string, featuresKey?: string) =>
  trainedData(version, folder, {
    models: { [CHEAP]: goodAt(version % 2 === 1 ? 'haiku' : 'theorem', folder, featuresKey) },
    featuresKey,
  })

describe('versions of routers on two nodes', () => {
  it('decide on each node as its state says, which is the same as of each position', async function () {
    this.timeout(180_000)
    const server = await startEventStore()
    const { connectionString } = server
    const settings = { ...(await withSettings(LEARNED)), EVENTSTORE_URL: connectionString, FEATURES_KEY }
    const first = await startGateway(settings)
    const second = await startGateway(settings, { dataDir: await makeFolder(), demoKey: first.demoKey })
    try {
      const log = await openLog({ data_dir: first.dataDir, eventstore_url: connectionString })
      const versions = [1, 2].map((version) => versionData(version, first.dataDir, FEATURES_KEY))
      await writeVersions(first.dataDir, versions, log)
      await log.close()
      await waitUntil(async () => (await list(second)).length === 2)
      await waitUntil(async () => (await list(first)).length === 2)
      const observe = async (node: RunningGateway) => {
        const before = await activeVersion(node)
        const answer = await ask(node)
        if (before === (await activeVersion(node))) expect(answer.version).to.equal(before)
        if (answer.version === 1) expect(answer.model).to.equal(CHEAP)
      }
      const positions: number[] = []
      for (const [index, version] of [1, 2, 1, 2].entries()) {
        const [node, other] = index % 2 === 0 ? [first, second] : [second, first]
        const observed = [first, second, first, second].map(observe)
        const { status } = await asAdmin(node, 'POST', activatePath(version))
        expect(status).to.equal(200)
        expect(await ask(node)).to.include({ version })
        positions.push(await newestPosition(node))
        await waitUntil(async () => (await activeVersion(other)) === version)
        expect(await ask(other)).to.include({ version })
        await Promise.all(observed)
      }
      for (const node of [first, second]) {
        const active = await Promise.all(positions.map((position) => activeVersion(node, position)))
        expect(active).to.deep.equal([1, 2, 1, 2])
      }
    } finally {
      await Promise.all([first.stop(), second.stop()])
      await server.stop()
    }
  })
})

const activatePath = (version: number) => `/admin/routers/${version}/activate`
const list = async (
  gateway: RunningGateway,
  asOf?: number,
): Promise<{ version: number; is_active: boolean }[]> => {
  const query = asOf === undefined ? '' : `?as_of=${asOf}`
  return (await asAdmin(gateway, 'GET', `/admin/routers${query}`)).body.data
}
const activeVersion = async (gateway: RunningGateway, asOf?: number) =>
  (await list(gateway, asOf)).find(({ is_active }) => is_active)?.version ?? 0

async function newestPosition(gateway: RunningGateway): Promise<number> {
  const { body } = await asAdmin(gateway, 'GET', '/admin/audit?kind=router&limit=1')
  return body.data[0].position
}

describe('a damaged version that is active in the log', () => {
  it('leaves the one before active, is logged and counted, also after a restart', async () => {
    const settings = await withSettings(LEARNED)
    const first = await startGateway(settings)
    const { dataDir, demoKey } = first
    const damaged = { ...versionData(2, dataDir), checksum: 'a'.repeat(64) }
    await writeVersions(dataDir, [versionData(1, dataDir), damaged])
    await writeRouterEvents(dataDir, [activated(1), activated(2)])
    // A change of an operator waits until this node has applied all events before it.
    await newUser(first)

    const check = async (gateway: RunningGateway) => {
      expect(await ask(gateway)).to.include({ model: CHEAP, version: 1 })
      expect(gateway.stderr()).to.match(/"version":2.*version of the router refused/)
      expect(await refusedCount(gateway)).to.equal('1')
      // A request refuses nothing once more.
      await ask(gateway)
      expect(await refusedCount(gateway)).to.equal('1')
    }
    await check(first)
    await first.stop()

    const second = await startGateway(settings, { dataDir, demoKey })
    await check(second)
    await second.stop()
  })
})

async function refusedCount(gateway: RunningGateway): Promise<string | undefined> {
  const text = await (await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })).text()
  return /^signalbox_router_versions_refused_total (\d+)$/m.exec(text)?.[1]
}

describe('a log with versions of routers', () => {
  let settings: Record<string, string>
  let gateway: RunningGateway
  let dataDir: string
  before(async () => {
    settings = { ...(await withSettings(LEARNED)), FEATURES_KEY }
    gateway = await startGatewayOnFiles(settings)
    dataDir = gateway.dataDir
    const log = await openLog({ data_dir: dataDir, eventstore_url: null })
    await writeVersions(
      dataDir,
      [1, 2].map((version) => versionData(version, dataDir, FEATURES_KEY)),
      log,
    )
    await log.close()
    await newUser(gateway)
    for (const version of [2, 1]) await asAdmin(gateway, 'POST', activatePath(version), {})
    expect((await ask(gateway)).version).to.equal(1)
    await gateway.stop()
  })

  const demoKey = () => gateway.demoKey
  const verify = (folder: string) => runCommand(['log', 'verify'], { DATA_DIR: folder })

  /** Starts a gateway on a folder, which must use version 1 and can take it back. Returns what it logged. */
  async function startsWithVersion(folder: string): Promise<string> {
    const started = await startGatewayOnFiles(settings, { dataDir: folder, demoKey: demoKey() })
    try {
      expect(await ask(started)).to.include({ model: CHEAP, version: 1 })
      const rolledBack = await asAdmin(started, 'POST', '/admin/routers/rollback', {})
      expect(rolledBack.body.data).to.deep.equal({ version: 2 })
      expect(await ask(started)).to.include({ version: 2 })
      const again = await asAdmin(started, 'POST', activatePath(1), {})
      expect(again.status).to.equal(200)
      return started.stderr()
    } finally {
      await started.stop()
    }
  }

  it('is verified, weights included', async () => {
    expect((await verify(dataDir)).stdout).to.contain('No issues found')

    const folder = await makeFolder()
    const changed = versionData(3, dataDir, FEATURES_KEY)
    const log = await openSqliteLog({ directory: folder })
    await writeWeights(log, changed.checksum, versionData(2, dataDir, FEATURES_KEY).models)
    await writeRouterEvents(
      folder,
      [1, 3].map((version) => versionTrained(versionData(version, dataDir))),
      log,
    )
    await log.close()
    const { code, stderr } = await verify(folder)
    expect(code).to.equal(1)
    expect(stderr).to.match(/Event 0 of router-weights-\w+, .* has weights that do not match the name/)
    expect(stderr).to.match(/Event 0 of routers, .* has no weights in the log/)
  })

  it('has no weights in what every node follows', async () => {
    const log = await openLog({ data_dir: dataDir, eventstore_url: null })
    const followed: string[] = []
    for await (const event of readToEnd(log)) followed.push(JSON.stringify(event))
    const all: RecordedEvent[] = []
    for await (const event of readToEnd(log, 0, ALL_STREAMS)) all.push(event)
    await log.close()

    expect(followed.filter((text) => text.includes('RouterTrained'))).to.have.length(2)
    for (const text of followed) expect(text).not.to.contain('"weights"')
    const weights = all.filter(({ stream }) => stream.startsWith('router-weights-'))
    expect(weights).to.have.length(2)
    for (const { data } of weights) expect(JSON.stringify(data)).to.contain('"weights"')
  })

  it('is exported and imported with its versions', async function () {
    this.timeout(180_000)
    const { stdout } = await runCommand(['log', 'export'], { DATA_DIR: dataDir })
    for (const secret of [FEATURES_KEY, gateway.demoKey, 'haiku']) expect(stdout).not.to.contain(secret)
    const file = path.join(await makeFolder(), 'events.jsonl')
    await writeFile(file, stdout)
    const folder = await makeFolder()
    expect(await runCommand(['log', 'import', file], { DATA_DIR: folder })).to.include({
      code: 0,
      stderr: '',
    })
    await startsWithVersion(folder)
    expect((await verify(folder)).stdout).to.contain('No issues found')
  })

  it('is backed up with its versions', async function () {
    this.timeout(180_000)
    const folder = await makeFolder()
    expect(await runCommand(['log', 'backup', folder], { DATA_DIR: dataDir })).to.include({ code: 0 })
    await startsWithVersion(folder)
  })

  it('starts from a snapshot with its versions, and without one that lacks them', async function () {
    this.timeout(180_000)
    const [name = ''] = await listSnapshots(dataDir)
    const file = path.join(dataDir, 'snapshots', name)
    const text = await readFile(file, 'utf8')
    expect(text).to.contain('\n#routers\n')
    expect(await startsWithVersion(dataDir)).not.to.contain('snapshot skipped')

    // As it was before there were routers.
    const names = await listSnapshots(dataDir)
    const positionOf = (file: string) => Number.parseInt(file, 10)
    const [newer = ''] = names.sort((a, b) => positionOf(b) - positionOf(a))
    const newest = path.join(dataDir, 'snapshots', newer)
    await writeFile(newest, withoutRouters(await readFile(newest, 'utf8')))
    expect(await startsWithVersion(dataDir)).to.contain('it has no part routers')
  })
})

/** Returns a valid snapshot without the part of routers. */
function withoutRouters(snapshot: string): string {
  const content = snapshot.slice(0, -65).replace(/\n#routers\n[^#]*(?=\n#)/, '')
  return `${content}${createHash('sha256').update(content).digest('hex')}\n`
}
