import { cp, readdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { openLog } from '../../config/gateway/state.ts'
import { CLI_ACTOR } from '../../core/event-log/actor.ts'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { runCommand } from '../support/command.ts'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { buildSignedLog, openSigner } from '../support/evidence/signed-log.ts'
import { copyFolder, makeFolder } from '../support/folders.ts'

describe('a rewritten history', () => {
  let original: string
  /** The checkpoint that an auditor saved. */
  let saved: string
  let dataDir: string

  before(async () => {
    original = await makeFolder()
    await buildSignedLog({ data_dir: original, eventstore_url: null })
    saved = path.join(await makeFolder(), 'checkpoint.txt')
    await writeFile(saved, newestNote(original))
  })
  beforeEach(async () => {
    dataDir = await copyFolder(original)
  })

  const verify = (...options: readonly string[]) =>
    runCommand(['log', 'verify', ...options], { DATA_DIR: dataDir })
  const verifySaved = () => verify('--checkpoint', saved)

  /**
   * Changes an event, removes what tells that checkpoints were signed, and signs all checkpoints again, with
   * the keys that are in the folder.
   */
  async function rewrite(): Promise<void> {
    await rm(path.join(dataDir, 'transparency'), { recursive: true })
    for (const name of await readdir(path.join(dataDir, 'keys')).catch(() => []))
      if (name.endsWith('.pub')) await rm(path.join(dataDir, 'keys', name))
    const database = new SqliteDatabase(path.join(dataDir, 'events.db'))
    database.exec(`UPDATE events SET metadata = replace(metadata, '"admin"', '"nobody"') WHERE position = 9;
      DELETE FROM events WHERE stream = 'checkpoints'`)
    database.close()
    const log = await openLog({ data_dir: dataDir, eventstore_url: null })
    await (await openSigner(log, dataDir))()
    await log.close()
  }

  it('does not extend a saved checkpoint, which the original does', async () => {
    const { code, stdout } = await verifySaved()
    expect(stdout).to.match(/The log extends the saved checkpoint over \d+ events\./)
    expect(code).to.equal(0)
  })

  it('passes alone if the signing key is known, and is found with a saved checkpoint', async () => {
    await rewrite()
    expect((await verify()).code).to.equal(0)
    const { code, stderr } = await verifySaved()
    expect(stderr).to.match(
      /^The log does not extend the saved checkpoint: its first \d+ events were rewritten\.\n$/,
    )
    expect(code).to.equal(1)
  })

  it('is found with another key, also without a saved checkpoint', async () => {
    const keys = await copyFolder(path.join(dataDir, 'keys'))
    await rm(path.join(dataDir, 'keys'), { recursive: true })
    await rewrite()
    // Nobody who has only the log can replace the keys of the one who verifies.
    await rm(path.join(dataDir, 'keys'), { recursive: true })
    await cp(keys, path.join(dataDir, 'keys'), { recursive: true })
    expect((await verify()).stderr).to.contain('was signed with an unknown key: signalbox/log_')
    expect((await verifySaved()).stderr).to.contain('The log does not extend the saved checkpoint')
  })

  it('is found if the keys were replaced, too', async () => {
    await rm(path.join(dataDir, 'keys'), { recursive: true })
    await rewrite()
    expect((await verify()).code).to.equal(0)
    expect((await verifySaved()).code).to.equal(1)
  })

  it('is found if it is shorter, or of another log', async () => {
    const database = new SqliteDatabase(path.join(dataDir, 'events.db'))
    database.exec('DELETE FROM events WHERE position > 30; UPDATE sqlite_sequence SET seq = 30')
    database.close()
    await rm(path.join(dataDir, 'transparency'), { recursive: true })
    expect((await verify()).code).to.equal(0)
    expect((await verifySaved()).stderr).to.match(
      /The log has 30 events, fewer than the \d+ of the saved checkpoint/,
    )

    dataDir = await makeFolder()
    await buildSignedLog({ data_dir: dataDir, eventstore_url: null })
    expect((await verifySaved()).stderr).to.contain('The saved checkpoint is of another log')
  })

  it('refuses a file that is not a checkpoint', async () => {
    const { code, stderr } = await verify('--checkpoint', path.join(dataDir, 'events.db'))
    expect(stderr).to.contain('is not a checkpoint')
    expect(code).to.equal(1)
  })
})

describe('two nodes that sign checkpoints over one log', () => {
  let server: EventStore | undefined

  after(() => server?.stop())

  it('sign one after the other, each with its key', async function () {
    this.timeout(180_000)
    server = await startEventStore()
    const eventstore_url = server.connectionString
    const [first, second] = [await makeFolder(), await makeFolder()]
    await buildSignedLog({ data_dir: first, eventstore_url })
    const logs = await Promise.all([first, second].map((data_dir) => openLog({ data_dir, eventstore_url })))
    const [signFirst, signSecond] = [await openSigner(logs[0]!, first), await openSigner(logs[1]!, second)]
    await Promise.all([signFirst(), signSecond()])
    await signSecond()
    const metadata = { actor: CLI_ACTOR, time: '2026-01-01T00:00:00.000000Z', schema: 1 }
    const plan = { type: 'PlanChanged', data: { userId: 1, plan: 'free' } }
    await logs[0]!.append('user-1', [plan], { expectedRevision: 'any', metadata })
    await signSecond()
    await signSecond()

    const verify = () => runCommand(['log', 'verify'], { DATA_DIR: first, EVENTSTORE_URL: eventstore_url })
    const unknown = await verify()
    expect(unknown.stderr).to.contain('was signed with an unknown key').and.to.contain('in a file *.pub')
    const { stdout: key } = await runCommand(['log', 'key'], {
      DATA_DIR: second,
      EVENTSTORE_URL: eventstore_url,
    })
    await writeFile(path.join(first, 'keys', 'second.pub'), key)
    const { code, stdout } = await verify()
    expect(stdout).to.match(/5 checkpoints; the newest that matches covers (\d+) of/)
    expect(code).to.equal(0)
    await Promise.all(logs.map((log) => log.close()))
  })
})

function newestNote(dataDir: string): string {
  const database = new SqliteDatabase(path.join(dataDir, 'events.db'))
  const data = database
    .prepare<[], string>(
      "SELECT data FROM events WHERE stream = 'checkpoints' ORDER BY revision DESC LIMIT 1",
    )
    .pluck()
    .get()
  database.close()
  return JSON.parse(data ?? '').note
}
