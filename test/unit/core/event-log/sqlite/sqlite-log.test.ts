import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import {
  type EventLog,
  EventLogUnavailableError,
  type RecordedEvent,
} from '../../../../../core/contract/event-log.ts'
import { SqliteDatabase } from '../../../../../core/event-log/sqlite/database.ts'
import { openSqliteLog, type SqliteLogOptions } from '../../../../../core/event-log/sqlite/sqlite-log.ts'
import { UNFOLLOWED_STREAMS } from '../../../../../projections/events/streams.ts'
import {
  collect,
  eventLogContract,
  metadata,
  numbered,
  type OpenedLog,
  rejection,
  revisions,
} from '../../../../support/event-log-suite.ts'
import { nodeArguments } from '../../../../support/root.ts'
import { ROUNDS } from '../../../../support/rounds.ts'

eventLogContract('the SQLite log', openInTemporaryDirectory)

describe('the SQLite log', () => {
  let directory: string
  let logs: EventLog[]

  beforeEach(async () => {
    directory = await createTemporaryDirectory()
    logs = []
  })

  afterEach(async () => {
    await Promise.all(logs.map((log) => log.close()))
    await rm(directory, { recursive: true })
  })

  async function open(limits: Omit<SqliteLogOptions, 'directory'> = {}): Promise<EventLog> {
    const log = await openSqliteLog({
      directory,
      unfollowedStreams: UNFOLLOWED_STREAMS,
      ...limits,
    })
    logs.push(log)
    return log
  }

  function openFile(): SqliteDatabase {
    return new SqliteDatabase(join(directory, 'events.db'))
  }

  describe('in several processes', () => {
    it('creates a missing directory', async () => {
      const log = await openSqliteLog({ directory: join(directory, 'not', 'there') })
      logs.push(log)

      await log.append('user-1', [numbered(1)], { expectedRevision: -1, metadata })
    })

    it('can be opened by several processes while the file does not exist', async () => {
      const opened = await Promise.all(Array.from({ length: 4 }, () => open()))

      await Promise.all(
        opened.map((log) => log.append('user-1', [numbered(1)], { expectedRevision: 'any', metadata })),
      )

      expect(revisions(await collect(opened[0]!.read('user-1')))).to.deep.equal([0, 1, 2, 3])
    })

    it('checks the expected revision against appends of other processes', async () => {
      const [one, other] = await Promise.all([open(), open()])

      const racing = [one, other].flatMap((log) =>
        Array.from({ length: 8 }, () =>
          log.append('user-1', [numbered(1)], { expectedRevision: -1, metadata }),
        ),
      )
      const outcomes = await Promise.allSettled(racing)

      expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(1)
    })

    it('delivers events of another process', async () => {
      const log = await open()
      const leaving = new AbortController()
      const items = log.subscribe(0, leaving.signal)[Symbol.asyncIterator]()
      await items.next()
      const { child, lines } = await startProcess('append-on-demand', directory)

      for (let n = 0; n < 15; n++) {
        child.stdin?.write(`line ${n}\n`)
        const { data } = (await items.next()).value as RecordedEvent
        expect(data.line).to.equal(`line ${n}`)
      }
      leaving.abort()
      child.stdin?.end()
      await once(child, 'exit')
      lines.close()
    })

    it('lets an idle process exit without closing the log', async () => {
      const { child } = await startProcess('append-and-leave', directory)

      expect(await once(child, 'exit')).to.deep.equal([0, null])
    })
  })

  describe('when its process is killed', () => {
    it('keeps every acknowledged event and no partial append', async () => {
      const acknowledged: number[] = []
      for (const limit of ROUNDS.killedAfter) {
        const { child, lines } = await startProcess('append-until-killed', directory)
        let acknowledgements = 0
        lines.on('line', (position) => {
          acknowledged.push(Number(position))
          acknowledgements += 1
          if (acknowledgements === limit) child.kill('SIGKILL')
        })
        await once(lines, 'close')
      }

      const written = await readAll(await open())

      expect(written.map(({ position }) => position)).to.include.members(acknowledged)
      for (const stream of ['pairs-1', 'pairs-2', 'pairs-3', 'pairs-4']) {
        const events = written.filter((event) => event.stream === stream)
        expect(revisions(events)).to.deep.equal(events.map((_, index) => index))
        const halves = events.map(({ data }) => data.half)
        expect(halves).to.deep.equal(halves.map((_, index) => (index % 2 === 0 ? 'first' : 'second')))
        expect(halves.at(-1)).to.equal('second')
      }
    })
  })

  describe('when another process holds the write lock', () => {
    let holder: SqliteDatabase

    beforeEach(async () => {
      await open()
      holder = openFile()
      holder.exec('BEGIN IMMEDIATE')
    })

    afterEach(() => {
      holder.close()
    })

    it('waits without blocking the event loop', async () => {
      const log = await open()
      let settled = 0
      const appends = Array.from({ length: 2000 }, async (_, n) => {
        await log.append(`user-${n}`, [numbered(n)], { expectedRevision: -1, metadata })
        settled += 1
      })

      for (let tick = 0; tick < 20; tick++) await sleep(5)
      expect(settled).to.equal(0)
      holder.exec('ROLLBACK')

      await Promise.all(appends)
      expect(settled).to.equal(2000)
    })

    it('fails after the timeout, and writes again once the lock is released', async () => {
      const log = await open({ busyTimeout: 30 })

      const error = await rejection(log.append('user-1', [numbered(1)], { expectedRevision: -1, metadata }))
      expect(error).to.be.instanceOf(EventLogUnavailableError).and.include({ diskFull: false })
      expect(error).to.have.nested.property('cause.code', 'SQLITE_BUSY')
      holder.exec('ROLLBACK')

      await log.append('user-1', [numbered(1)], { expectedRevision: -1, metadata })
    })
  })

  describe('when the disk is full', () => {
    const large = { type: 'Large', data: { text: 'x'.repeat(100_000) } }

    it('reports it and writes nothing of the append', async () => {
      const log = await open({ maxPages: 20 })

      const error = await rejection(
        log.append('user-1', [numbered(1), large], { expectedRevision: -1, metadata }),
      )

      expect(error).to.be.instanceOf(EventLogUnavailableError).and.include({ diskFull: true })
      expect(error).to.have.nested.property('cause.code', 'SQLITE_FULL')
      expect(await collect(log.read('user-1'))).to.deep.equal([])
    })

    it('still writes appends that fit, even in a batch with one that does not', async () => {
      const log = await open({ maxPages: 20 })

      const outcomes = await Promise.allSettled([
        log.append('user-1', [numbered(1)], { expectedRevision: -1, metadata }),
        log.append('user-2', [large], { expectedRevision: -1, metadata }),
        log.append('user-3', [numbered(3)], { expectedRevision: -1, metadata }),
      ])

      expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled'])
    })

    it('writes again once there is space', async () => {
      const log = await open({ maxPages: 40 })
      await log.append('filler-1', [large], { expectedRevision: -1, metadata })
      const append = () => log.append('user-1', [large], { expectedRevision: -1, metadata })
      await rejection(append())
      openFile().exec('DELETE FROM events').close()

      expect(await append()).to.include({ revision: 0, position: 2 })
    })
  })

  describe('when its thread exits', () => {
    let log: EventLog
    let thread: Worker

    beforeEach(async () => {
      const started = once(process, 'worker')
      log = await open()
      thread = (await started)[0] as Worker
    })

    it('rejects requests in flight and all later ones', async () => {
      const append = log.append('user-1', [numbered(1)], { expectedRevision: -1, metadata })
      const outcome = rejection(append)
      await thread.terminate()

      expect(await outcome).to.be.instanceOf(EventLogUnavailableError)
      expect(await rejection(collect(log.read('user-1')))).to.be.instanceOf(EventLogUnavailableError)
    })

    it('fails subscriptions', async () => {
      const items = log.subscribe(0, new AbortController().signal)[Symbol.asyncIterator]()
      await items.next()
      const waiting = rejection(items.next())
      await thread.terminate()

      expect(await waiting).to.be.instanceOf(EventLogUnavailableError)
    })

    it('can still be closed', async () => {
      await thread.terminate()

      await log.close()
    })
  })

  describe('does not open', () => {
    it('a file of a newer version, and does not change it', async () => {
      const newer = openFile()
      newer.pragma('user_version = 99')
      newer.close()

      const error = await rejection(open())

      expect(error).to.be.instanceOf(EventLogUnavailableError)
      expect(error).to.have.property('message').that.includes('newer version of Signalbox')
      const file = openFile()
      expect(file.pragma('journal_mode', { simple: true })).to.equal('delete')
      file.close()
    })

    it('a file that is not a database', async () => {
      await writeFile(
        join(directory, 'events.db'),
        'Not a database, but long enough to be taken for one.'.repeat(20),
      )

      const error = await rejection(open())

      expect(error).to.be.instanceOf(EventLogUnavailableError)
      expect(error).to.have.nested.property('cause.code', 'SQLITE_NOTADB')
    })

    it('a directory that cannot be created', async () => {
      await writeFile(join(directory, 'file'), '')

      const error = await rejection(openSqliteLog({ directory: join(directory, 'file', 'data') }))

      expect(error).to.be.instanceOf(EventLogUnavailableError)
    })
  })
})

async function openInTemporaryDirectory(): Promise<OpenedLog> {
  const directory = await createTemporaryDirectory()
  let log = await openSqliteLog({
    directory,
    unfollowedStreams: UNFOLLOWED_STREAMS,
  })
  return {
    log,
    async reopen() {
      await log.close()
      log = await openSqliteLog({
        directory,
        unfollowedStreams: UNFOLLOWED_STREAMS,
      })
      return log
    },
    async dispose() {
      await log.close()
      await rm(directory, { recursive: true })
    },
  }
}

function createTemporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'signalbox-log-'))
}

interface StartedProcess {
  readonly child: ChildProcess
  readonly lines: Interface
}

/** Runs a fixture in its own process and waits for its first line of output. */
async function startProcess(fixture: string, directory: string): Promise<StartedProcess> {
  const script = nodeArguments(`test/unit/core/event-log/sqlite/fixtures/${fixture}`)
  const child = spawn(process.execPath, [...script, directory], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  return { child, lines }
}

async function readAll(log: EventLog): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const item of log.subscribe(0, new AbortController().signal)) {
    if (item === 'caught-up') break
    events.push(item)
  }
  return events
}
