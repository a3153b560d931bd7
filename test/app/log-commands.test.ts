import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { CLI_ACTOR } from '../../core/event-log/actor.ts'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { routingRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { createLogFolder } from '../support/data-folder.ts'
import { copyFolder } from '../support/folders.ts'
import { startGatewayOnFiles } from '../support/gateway.ts'

describe('commands on the event log', () => {
  let original: string
  let key: string
  /** A copy of `original`, for one test. */
  let dataDir: string

  before(async () => {
    original = await createLogFolder()
    const added = await runCommand(['users', 'add', '--name', 'Ada', '--plan', 'paid'], {
      DATA_DIR: original,
    })
    key = JSON.parse(added.stdout).key
  })
  beforeEach(async () => {
    dataDir = await copyFolder(original)
  })

  const run = (...args: string[]) => runCommand(['log', ...args], { DATA_DIR: dataDir })
  const alter = (sql: string) => {
    const database = new SqliteDatabase(path.join(dataDir, 'events.db'))
    database.exec(sql)
    database.close()
  }

  describe('"log export"', () => {
    it('writes every event as a line of JSON, without keys', async () => {
      const { code, stdout } = await run('export')

      const events = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(code).to.equal(0)
      expect(events.map(({ type }) => type)).to.deep.equal([
        'LogCreated',
        'IdsReserved',
        'UserCreated',
        'KeyIssued',
      ])
      expect(events[2]).to.have.all.keys('position', 'stream', 'revision', 'type', 'data', 'metadata')
      expect(events[2]).to.deep.include({
        position: 3,
        stream: 'user-1',
        revision: 0,
        data: { userId: 1, name: 'Ada', plan: 'paid' },
      })
      expect(events[2].metadata).to.deep.include({ actor: CLI_ACTOR, schema: 1 })
      expect(stdout).not.to.contain(key)
    })

    it('starts after a position', async () => {
      const { stdout } = await run('export', '--after', '3')

      expect(JSON.parse(stdout)).to.include({ position: 4, type: 'KeyIssued' })
    })

    it('writes nothing for an empty log, and refuses an invalid position', async () => {
      const empty = await runCommand(['log', 'export'], { DATA_DIR: await createLogFolder() })
      expect(empty).to.include({ code: 0, stdout: '' })
      expect((await run('export', '--after', 'yesterday')).code).to.equal(2)
    })
  })

  describe('"log verify"', () => {
    it('reports the events that it has checked', async () => {
      const { code, stdout, stderr } = await run('verify')

      expect(stderr).to.equal('')
      expect(stdout).to.equal(
        '4 events in 3 streams, the newest at position 4.\n' +
          'No checkpoint was signed yet, so changed events cannot be found.\nNo issues found.\n',
      )
      expect(code).to.equal(0)
    })

    it('counts events of a newer version, without an error', async () => {
      alter(
        `INSERT INTO events SELECT NULL, stream, 2, 'InventedLater', data, metadata FROM events WHERE position = 4`,
      )

      const { code, stdout } = await run('verify')

      expect(stdout).to.contain('1 events of a newer version were skipped: InventedLater, schema 1.')
      expect(code).to.equal(0)
    })

    it('finds a gap in the revisions', async () => {
      alter('DELETE FROM events WHERE position = 3')

      const { code, stderr } = await run('verify')

      expect(stderr).to.equal('Event 1 of user-1, at position 4, should be event 0 of its stream.\n')
      expect(code).to.equal(1)
    })

    it('finds an event in the stream of another user, and an id assigned twice', async () => {
      alter(
        `INSERT INTO events SELECT NULL, 'user-2', 0, type, data, metadata FROM events WHERE position = 3`,
      )

      const { code, stderr } = await run('verify')

      expect(stderr).to.contain('Event 0 of user-2, at position 5, belongs to stream user-1.')
      expect(stderr).to.contain('Event 0 of user-2, at position 5, assigns the id 1, which is already taken.')
      expect(code).to.equal(1)
    })

    describe('with snapshots', () => {
      let originalWithSnapshot: string
      let snapshot: string

      before(async () => {
        originalWithSnapshot = await copyFolder(original)
        const gateway = await startGatewayOnFiles({}, { dataDir: originalWithSnapshot, demoKey: key })
        const newRule = routingRuleBody({ name: 'a rule', action_json: { set_mode: 'cost' } })
        const { body } = await gateway.call('POST', '/v1/routing-rules', newRule)
        const rule = `/v1/routing-rules/${body.data.id}`
        await gateway.call('DELETE', rule)
        expect((await gateway.call('POST', `${rule}/revert`, { revision: 1 })).status).to.equal(200)
        await gateway.stop()
      })
      beforeEach(async () => {
        dataDir = await copyFolder(originalWithSnapshot)
        const [name] = await readdir(path.join(dataDir, 'snapshots'))
        snapshot = path.join(dataDir, 'snapshots', name ?? '')
      })

      it('compares them with the events', async () => {
        const { code, stdout } = await run('verify')

        expect(stdout).to.contain(`Snapshot ${path.basename(snapshot)} matches the events.`)
        expect(code).to.equal(0)
      })

      it('finds a damaged one', async () => {
        await writeFile(snapshot, (await readFile(snapshot, 'utf8')).replace('a rule', 'a lie!'))

        const { code, stderr } = await run('verify')

        expect(stderr).to.contain(`Snapshot ${path.basename(snapshot)} is damaged`)
        expect(code).to.equal(1)
      })

      it('finds one that does not match the events', async () => {
        alter(`UPDATE events SET data = replace(data, 'Ada', 'Eve')`)

        const { code, stderr } = await run('verify')

        expect(stderr).to.contain('does not match the events')
        expect(code).to.equal(1)
      })

      it('skips one of another version', async () => {
        await rename(snapshot, snapshot.replace(/-[0-9a-f]{16}/, '-0123456789abcdef'))

        const { code, stdout } = await run('verify')

        expect(stdout).to.contain('was written by another version and was not compared')
        expect(code).to.equal(0)
      })
    })
  })
})
