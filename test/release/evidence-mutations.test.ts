import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { checkExport } from '../../config/cli/check-export.ts'
import { openLog } from '../../config/gateway/state.ts'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { parseCheckpoint } from '../../core/event-log/transparency/checkpoint.ts'
import { advanceLogTree } from '../../core/event-log/transparency/log-tree.ts'
import { TreeFiles } from '../../core/event-log/transparency/tree-files.ts'
import { readLogId } from '../../core/events/log-events.ts'
import { treeFolder } from '../../projections/transparency/compare-evidence.ts'
import { runCommand } from '../support/command.ts'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { mutateRows } from '../support/evidence/mutate-rows.ts'
import { buildSignedLog, exportToFile } from '../support/evidence/signed-log.ts'
import { copyFolder, makeFolder } from '../support/folders.ts'
import { createRandom, type Random } from '../support/random.ts'
import { ROUNDS } from '../support/rounds.ts'

/**
 * All events up to a position, as far as they say something. Where weights of routers are between two events
 * says nothing: see docs/guides/evidence.md, "What is covered".
 */
function dump(database: SqliteDatabase, end: number): string {
  const sql = `
    SELECT iif(stream LIKE 'router-weights-%', 0, position), stream, revision, type, hex(data), hex(metadata)
      FROM events WHERE position <= ? ORDER BY position`
  return JSON.stringify(database.prepare(sql).raw().all(end))
}

/** The position of the last event that the newest checkpoint covers. */
function coveredPosition(database: SqliteDatabase): number {
  const note = database
    .prepare<[], string>(
      `SELECT json_extract(CAST(data AS TEXT), '$.note') FROM events
        WHERE stream = 'checkpoints' ORDER BY revision DESC LIMIT 1`,
    )
    .pluck()
    .get()
  const size = parseCheckpoint(note ?? '')?.size ?? 0
  return Number(
    database
      .prepare('SELECT position FROM events ORDER BY position LIMIT 1 OFFSET ?')
      .pluck()
      .get(size - 1),
  )
}

describe('a changed event', () => {
  const seed = Number(process.env.SEED ?? 1)

  describe('in the embedded log', () => {
    let dataDir: string
    let original: Buffer
    const fileOf = (folder: string) => path.join(folder, 'events.db')
    const verify = () => runCommand(['log', 'verify'], { DATA_DIR: dataDir })
    const restore = () => {
      writeFileSync(fileOf(dataDir), original)
      for (const suffix of ['-wal', '-shm']) rmSync(fileOf(dataDir) + suffix, { force: true })
    }
    const open = () => new SqliteDatabase(fileOf(dataDir))
    function read<Value>(run: (database: SqliteDatabase) => Value): Value {
      const database = open()
      try {
        return run(database)
      } finally {
        database.close()
      }
    }

    before(async () => {
      dataDir = await makeFolder()
      await buildSignedLog({ data_dir: dataDir, eventstore_url: null })
      expect(await verify()).to.include({ code: 0, stderr: '' })
      original = readFileSync(fileOf(dataDir))
    })

    it(`is found after ${ROUNDS.mutations} changes of rows`, async function () {
      this.timeout(0)
      const random = createRandom(seed)
      const missed: string[] = []
      let found = 0
      for (let round = 0; round < ROUNDS.mutations; round++) {
        restore()
        const mutation = read((database) => {
          const end = coveredPosition(database)
          const before = dump(database, end)
          const change = mutateRows(database, random, end)
          return dump(database, end) === before ? undefined : change
        })
        if (mutation === undefined) continue
        if ((await verify()).code === 1) found += 1
        else missed.push(mutation)
      }
      expect(missed).to.deep.equal([])
      expect(found).to.be.above(ROUNDS.mutations / 2)
    })

    it(`is found after ${ROUNDS.mutations} changes of bytes of the file, unless no event was changed`, async function () {
      this.timeout(0)
      const random = createRandom(seed + 1)
      restore()
      const end = read(coveredPosition)
      const before = read((database) => dump(database, end))
      const missed: string[] = []
      let found = 0
      for (let round = 0; round < ROUNDS.mutations; round++) {
        restore()
        const bytes = Buffer.from(original)
        const at = random.integer(bytes.length)
        bytes[at] = (bytes[at] ?? 0) ^ (1 + random.integer(255))
        writeFileSync(fileOf(dataDir), bytes)
        const { code } = await verify()
        if (code === 1) found += 1
        else if (read((database) => dump(database, end)) !== before) missed.push(`byte ${at}`)
      }
      expect(missed).to.deep.equal([])
      expect(found).to.be.above(0)
    })

    it('is named with its position', async () => {
      const position = 13
      for (const [sql, expected] of [
        [
          `UPDATE events SET data = replace(data, 'geheim', 'genehm') WHERE stream = 'rules-1'`,
          / of rules-1, at position \d+, was changed/,
        ],
        [
          'UPDATE events SET position = position + 1000 WHERE position >= 30',
          /, at position 1030, was at position 30 when it was recorded\.$/,
        ],
        [`DELETE FROM events WHERE position = ${position}`, /^The event at position 13 was removed\./],
        [
          `UPDATE events SET position = CASE position WHEN 13 THEN -14 ELSE -13 END WHERE position IN (13, 14);
          UPDATE events SET position = -position WHERE position < 0`,
          /, at position 13, was exchanged with the next one\./,
        ],
      ] as const) {
        restore()
        read((database) => database.exec(sql))
        const { code, stderr } = await verify()
        expect(code).to.equal(1)
        expect(stderr.split('\n')[0]).to.match(expected)
      }
    })

    it('is found in an event with weights of a router, too, which are not in the tree', async () => {
      for (const sql of [
        "UPDATE events SET metadata = replace(metadata, 'system', 'sustem')",
        `UPDATE events SET data = json_set(data, '$.more', 1)`,
        'DELETE FROM events',
      ]) {
        restore()
        read((database) => database.exec(`${sql} WHERE stream LIKE 'router-weights-%'`))
        const { code, stderr } = await verify()
        expect(code, sql).to.equal(1)
        expect(stderr).to.match(
          /^Event 1 of routers, at position \d+, has (no weights in|weights whose event was changed)/m,
        )
      }
    })

    it('is between two checkpoints if its hash is not recorded', async () => {
      restore()
      const folder = await copyFolder(dataDir)
      rmSync(path.join(folder, 'transparency'), { recursive: true })
      const database = new SqliteDatabase(fileOf(folder))
      database.exec(`UPDATE events SET metadata = replace(metadata, '2025-', '2024-') WHERE position = 17`)
      database.close()
      const { code, stderr } = await runCommand(['log', 'verify'], { DATA_DIR: folder })
      expect(code).to.equal(1)
      expect(stderr).to.match(
        /Checkpoint 1, at position \d+, does not match: an event after position 12 and up to position 23 was/,
      )
    })

    it('is found behind the newest checkpoint, too, as far as hashes are recorded', async () => {
      restore()
      const folder = await copyFolder(dataDir)
      const settings = { data_dir: folder, eventstore_url: null }
      const log = await openLog(settings)
      const logId = (await readLogId(log)) ?? ''
      const tree = await TreeFiles.open(treeFolder(folder, logId))
      await advanceLogTree(tree, log)
      await Promise.all([tree.close(), log.close()])
      const database = new SqliteDatabase(fileOf(folder))
      const newest = tree.lastPosition
      database.exec(
        `UPDATE events SET metadata = replace(metadata, '2025-', '2024-') WHERE position = ${newest}`,
      )
      const { stderr } = await runCommand(['log', 'verify'], { DATA_DIR: folder })
      expect(stderr)
        .to.contain(`, at position ${newest}, was changed`)
        .and.to.contain('No checkpoint covers it yet.')

      rmSync(path.join(folder, 'transparency'), { recursive: true })
      database.exec(`DELETE FROM events WHERE position = ${newest}`)
      database.close()
      expect((await runCommand(['log', 'verify'], { DATA_DIR: folder })).stderr).to.equal(
        `events.db has assigned position ${newest}, but its newest event is at ${newest - 1}.\n`,
      )
    })
  })

  describe('in a log on EventStoreDB', () => {
    let server: EventStore
    let folder: string
    const fileOf = () => path.join(folder, 'server.db')

    before(async () => {
      folder = await makeFolder()
      server = await startEventStore({ file: fileOf() })
      await buildSignedLog({ data_dir: folder, eventstore_url: server.connectionString })
    })
    after(() => server.stop())
    const verify = () =>
      runCommand(['log', 'verify'], { DATA_DIR: folder, EVENTSTORE_URL: server.connectionString })

    it(`is found after ${ROUNDS.mutations} changes`, async function () {
      this.timeout(0)
      expect(await verify()).to.include({ code: 0, stderr: '' })

      const database = new SqliteDatabase(fileOf())
      database.exec('CREATE TEMP TABLE original AS SELECT * FROM events')
      const end = coveredPosition(database)
      const before = dump(database, end)
      const random = createRandom(seed + 2)
      const missed: string[] = []
      let found = 0
      for (let round = 0; round < ROUNDS.mutations; round++) {
        const mutation = mutateRows(database, random, end)
        if (dump(database, end) !== before) {
          if ((await verify()).code === 1) found += 1
          else missed.push(mutation)
        }
        database.exec('DELETE FROM events; INSERT INTO events SELECT * FROM original')
      }
      expect(missed).to.deep.equal([])
      expect(found).to.be.above(ROUNDS.mutations / 2)
      expect((await verify()).code).to.equal(0)
      database.close()
    })

    it('is found if all events were removed, or the first one', async () => {
      const database = new SqliteDatabase(fileOf())
      database.exec('CREATE TEMP TABLE original AS SELECT * FROM events')
      for (const [condition, expected] of [
        ['true', /^The event log is empty, but \d+ events of it were recorded\.\n$/],
        ["stream = 'log'", /^The event at position \d+ was removed\./m],
      ] as const) {
        database.exec(`DELETE FROM events WHERE ${condition}`)
        const { code, stderr } = await verify()
        expect(code).to.equal(1)
        expect(stderr).to.match(expected)
        database.exec('DELETE FROM events; INSERT INTO events SELECT * FROM original')
      }
      database.close()
    })
  })

  describe('in an export', () => {
    it(`is found after ${ROUNDS.mutations} changes`, async function () {
      this.timeout(0)
      const folder = await makeFolder()
      const settings = { data_dir: folder, eventstore_url: null }
      await buildSignedLog(settings)
      const file = await exportToFile(settings)
      const lines = readFileSync(file, 'latin1').trimEnd().split('\n')
      const notes = lines.filter((line) => line.includes('"stream":"checkpoints"'))
      const saved = parseCheckpoint(
        JSON.parse(Buffer.from(notes.at(-1) ?? '', 'latin1').toString()).data.note,
      )
      const isRefused = async (text: string) => {
        writeFileSync(file, text, 'latin1')
        return checkExport(file, [], { saved }).then(
          () => false,
          () => true,
        )
      }
      expect(await isRefused(`${lines.join('\n')}\n`)).to.equal(false)

      const random = createRandom(seed + 3)
      const missed: string[] = []
      let found = 0
      for (let round = 0; round < ROUNDS.mutations; round++) {
        const changed = mutateLines(lines, random, saved?.size ?? 0)
        if (changed.join() === lines.join()) continue
        if (await isRefused(`${changed.join('\n')}\n`)) found += 1
        else missed.push(changed.join('\n'))
      }
      expect(missed).to.deep.equal([])
      expect(found).to.be.above(ROUNDS.mutations / 2)
    })
  })
})

/** Changes one of the first `end` lines, of one byte per character. */
function mutateLines(lines: readonly string[], random: Random, end: number): readonly string[] {
  const [first, second] = [random.integer(end), random.integer(end)]
  const line = lines[first] ?? ''
  const at = random.integer(line.length)
  const byte = String.fromCharCode(line.charCodeAt(at) ^ (1 + random.integer(255)))
  return random.pick([
    () => lines.with(first, line.slice(0, at) + byte + line.slice(at + 1)),
    () => lines.with(first, line.slice(0, at) + byte + line.slice(at)),
    () => lines.with(first, line.slice(0, at) + line.slice(at + 1)),
    () => lines.toSpliced(first, 1),
    () => lines.toSpliced(first, 0, lines[second] ?? ''),
    () => lines.with(first, lines[second] ?? '').with(second, line),
    () => lines.slice(0, first),
  ])()
}
