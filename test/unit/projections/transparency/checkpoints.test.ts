import { open, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { openLog } from '../../../../config/gateway/state.ts'
import {
  type EventLog,
  EventLogUnavailableError,
  type RecordedEvent,
} from '../../../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../../../core/event-log/actor.ts'
import {
  createMemoryLog,
  createMemoryStorage,
  type MemoryStorage,
} from '../../../../core/event-log/memory.ts'
import { SqliteDatabase } from '../../../../core/event-log/sqlite/database.ts'
import { readToEnd } from '../../../../core/event-log/streams.ts'
import { parseCheckpoint } from '../../../../core/event-log/transparency/checkpoint.ts'
import { ReceivedLeaves } from '../../../../core/event-log/transparency/event-leaf.ts'
import { createTreeVerifier } from '../../../../core/event-log/transparency/verify-tree.ts'
import { ensureLogId } from '../../../../core/events/log-events.ts'
import { createLogger } from '../../../../core/threads/logger.ts'
import { createClock } from '../../../../core/util/clock.ts'
import { type Subscription, subscribeProjections } from '../../../../projections/runtime/subscribe.ts'
import { treeFolder } from '../../../../projections/transparency/compare-evidence.ts'
import { scheduleCheckpoints } from '../../../../projections/transparency/schedule.ts'
import { CheckpointSigner } from '../../../../projections/transparency/sign-checkpoints.ts'
import { type CapturedOutput, captureOutput } from '../../../support/captured-output.ts'
import { runCommand } from '../../../support/command.ts'
import { makeFolder } from '../../../support/folders.ts'
import { itInFull } from '../../../support/rounds.ts'
import { waitUntil } from '../../../support/wait.ts'

const clock = createClock()

const NO_METADATA = { actor: { type: 'root', id: 'root', name: 'root' }, time: '', schema: 1 } as const

function deferred(): [promise: Promise<void>, resolve: () => void] {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return [promise, resolve]
}

describe('checkpoints', () => {
  let storage: MemoryStorage
  let log: EventLog
  let output: CapturedOutput
  let subscription: Subscription
  let dataDir: string
  let logId: string

  beforeEach(async () => {
    storage = createMemoryStorage()
    log = createMemoryLog({ storage })
    output = captureOutput()
    dataDir = await makeFolder()
    logId = await ensureLogId(log, clock())
    subscription = subscribeProjections(log, [], createLogger('silent'), { logId })
    await subscription.caughtUp
  })
  afterEach(async () => {
    await subscription.close()
    await log.close()
  })

  const options = () => ({ dataDir, logId, clock, logger: createLogger('info', { destination: output }) })
  const change = async (count = 1) => {
    const metadata = { actor: ROOT_ACTOR, time: clock(), schema: 1 }
    const event = { type: 'UserCreated', data: { userId: 1, name: 'Ada', plan: 'paid' } }
    const events = Array.from({ length: count }, () => event)
    const { position } = await log.append('user-1', events, { expectedRevision: 'any', metadata })
    await subscription.until(() => subscription.position() >= position)
  }
  const checkpoints = () => storage.streams.get('checkpoints') ?? []
  const sizes = () => checkpoints().map(({ data }) => parseCheckpoint(JSON.parse(data).note)?.size)
  const signed = (count: number) => subscription.until(() => checkpoints().length === count, 5000)
  const sign = async () => {
    const signer = new CheckpointSigner(log, options())
    try {
      await signer.sign()
    } finally {
      await signer.close()
    }
  }
  const readCheckpoints = async () => {
    const known: RecordedEvent[] = []
    for await (const record of log.read('checkpoints')) known.push(record)
    return known
  }
  const verify = async (known?: readonly RecordedEvent[]) => {
    const verifier = createTreeVerifier({
      checkpoints: known ?? (await readCheckpoints()),
      logId,
      accepts: () => true,
    })
    for await (const record of readToEnd(log)) verifier.check(record)
    return verifier
  }

  it('are signed after every 1,000 events, and when the process stops', async () => {
    const scheduler = scheduleCheckpoints(subscription, log, options())
    await change(998)
    await change()
    await signed(1)
    await change(999)
    expect(checkpoints()).to.have.length(1)
    await change()
    await signed(2)
    await change()
    await scheduler.close()
    expect(sizes()).to.deep.equal([1000, 2001, 2003])
  })

  const recordedSize = async () => {
    const file = path.join(treeFolder(dataDir, logId), 'positions')
    return (await stat(file).catch(() => ({ size: 0 }))).size / 8
  }

  it('record events again after an attempt failed', async () => {
    const subscribe = log.subscribe.bind(log)
    const [failed, fail] = deferred()
    log.subscribe = () => {
      fail()
      throw new EventLogUnavailableError('away')
    }
    const scheduler = scheduleCheckpoints(subscription, log, { ...options(), recordMs: 1, retryMs: 1 })
    await failed
    log.subscribe = subscribe
    await waitUntil(async () => (await recordedSize()) === 1)
    await scheduler.close()
  })

  it('are signed over events as they were received, without reading them again', async () => {
    let reads = 0
    const subscribe = log.subscribe.bind(log)
    log.subscribe = (...args) => {
      reads += 1
      return subscribe(...args)
    }
    await change(5)
    const scheduler = scheduleCheckpoints(subscription, log, options())
    await change(994)
    await signed(1)
    const before = reads
    expect(before).to.be.above(0)
    await change(1000)
    await signed(2)
    await change(3)
    await scheduler.close()
    expect(reads).to.equal(before)
    expect(sizes()).to.deep.equal([1000, 2001, 2005])
    expect((await verify()).issues()).to.deep.equal([])
  })

  it('are not signed twice if another node has signed events before they are received here', async () => {
    const received = new ReceivedLeaves(subscription.position())
    const slow = new CheckpointSigner(log, { ...options(), dataDir: await makeFolder(), received })
    await slow.sign()
    await change(5)
    await sign()
    await slow.sign()
    await slow.close()
    expect(sizes()).to.deep.equal([1, 7])
  })

  itInFull('have no gap where events arrive in great number while older ones are read', async () => {
    const received = new ReceivedLeaves(subscription.position())
    subscription.onReceived((record) => received.add(record))
    const signer = new CheckpointSigner(log, { ...options(), received })
    const changeMany = async () => {
      for (let append = 0; append < 15; append++) await change(667)
    }
    await changeMany()
    const subscribe = log.subscribe.bind(log)
    log.subscribe = async function* (...args) {
      for await (const item of subscribe(...args)) {
        if (item === 'caught-up') {
          log.subscribe = subscribe
          await changeMany()
        }
        yield item
      }
    }
    await signer.sign()
    await signer.close()
    expect(sizes()).to.deep.equal([1 + 2 * 15 * 667])
    expect((await verify()).issues()).to.deep.equal([])
  })

  it('cover an event that was written just before the newest one, which has not been received', async () => {
    const received = new ReceivedLeaves(subscription.position())
    let isReceiving = true
    subscription.onReceived((record) => isReceiving && received.add(record))
    const signer = new CheckpointSigner(log, { ...options(), received })
    await change(3)
    const append = log.append.bind(log)
    log.append = async (...args) => {
      log.append = append
      await change()
      isReceiving = false
      return append(...args)
    }
    await signer.sign()
    await signer.sign()
    await signer.sign()
    await signer.close()
    expect(sizes()).to.deep.equal([4, 6])
    expect((await verify()).issues()).to.deep.equal([])
  })

  describe('of an embedded log into which another program has inserted an event', () => {
    const EVENT = { type: 'UserCreated', data: { userId: 1, name: 'Ada', plan: 'paid' } }

    /** Signs a checkpoint over events of which one has this text as its data. */
    async function signOver(data: string): Promise<string> {
      const settings = { data_dir: dataDir, eventstore_url: null }
      const embedded = await openLog(settings, { delivers: 'stored-events' })
      const id = await ensureLogId(embedded, clock())
      const following = subscribeProjections(embedded, [], createLogger('silent'), { logId: id })
      await following.caughtUp
      const received = new ReceivedLeaves(following.position())
      following.onReceived((record) => received.add(record))
      const signer = new CheckpointSigner(embedded, { ...options(), logId: id, received })
      await signer.sign()
      const database = new SqliteDatabase(path.join(dataDir, 'events.db'))
      database
        .prepare(
          `INSERT INTO events (stream, revision, type, data, metadata)
            SELECT 'user-1', 0, 'UserCreated', ?, metadata FROM events WHERE position = 1`,
        )
        .run(data)
      database.close()
      const metadata = { actor: ROOT_ACTOR, time: clock(), schema: 1 }
      const { position } = await embedded.append('user-1', [EVENT], { expectedRevision: 0, metadata })
      await following.until(() => following.position() >= position)
      await signer.sign()
      await signer.close()
      await following.close()
      await embedded.close()
      return (await runCommand(['log', 'verify'], { DATA_DIR: dataDir })).stderr
    }

    for (const [text, data] of [
      ['has white space', '{"userId": 1,"name":"Ada","plan":"paid"}'],
      ['has a field twice', '{"userId":1,"name":"Ada","plan":"free","plan":"paid"}'],
      ['has escapes', '{"userId":1,"name":"\\u0041da","plan":"paid"}'],
    ] as const)
      it(`do not hide that its text ${text}`, async () => {
        expect(await signOver(data)).to.contain('at position 3, is not stored as it was written.')
        expect(output.text().match(/checkpoint signed/g)).to.have.length(2)
      })
  })

  it('read events that were too many to keep', async () => {
    const received = new ReceivedLeaves(0)
    const add = (position: number) =>
      received.add({ position, stream: 's', revision: position, type: 't', data: {}, metadata: NO_METADATA })
    for (let position = 1; position <= 10_000; position++) add(position)
    expect(received.after).to.equal(0)
    add(10_001)
    expect(received.after).to.equal(10_000)
    expect(received.take().map(({ position }) => position)).to.deep.equal([10_001])
  })

  it('are signed after a while with changes, and not without', async () => {
    const scheduler = scheduleCheckpoints(subscription, log, { ...options(), everyMs: 5 })
    await signed(1)
    await change()
    await signed(2)
    await scheduler.close()
    expect(sizes()).to.deep.equal([1, 3])
  })

  it('are not signed while the log is away, which has one log line per outage', async () => {
    const logger = createLogger('info', { destination: output })
    const own = subscribeProjections(log, [], logger, { logId })
    await own.caughtUp
    const away = Object.create(log)
    away.read = away.subscribe = () => {
      throw new EventLogUnavailableError('the server is gone', { transient: true })
    }
    own.noteOutcome(new EventLogUnavailableError('the server is gone', { transient: true }))
    for (let n = 0; n < 2; n++) await scheduleCheckpoints(own, away, { ...options(), everyEvents: 1 }).close()
    await own.close()
    expect(checkpoints()).to.deep.equal([])
    expect(output.text().match(/"level":[45]0/g)).to.have.length(1)
  })

  it('are not signed over a log that contradicts the newest one', async () => {
    await change(5)
    await sign()
    const event = storage.history[3] as { metadata: string }
    event.metadata = event.metadata.replace('"name":"root"', '"name":"nobody"')
    await change()
    // The hashes that were recorded before the change still are those of the checkpoint.
    await sign()
    expect(sizes()).to.deep.equal([6, 8])

    dataDir = await makeFolder()
    await change()
    const scheduler = scheduleCheckpoints(subscription, log, options())
    await scheduler.close()
    expect(sizes()).to.deep.equal([6, 8])
    expect(output.text()).to.contain('The event log does not hold the 8 events')
  })

  it('are signed over a tree that is built again if its files are damaged', async () => {
    await change(5)
    await sign()
    const [name = ''] = await readdir(path.join(dataDir, 'transparency'))
    const file = await open(path.join(dataDir, 'transparency', name, 'hashes'), 'r+')
    await file.write('damaged', 70)
    await file.close()
    await change()
    await sign()
    expect(sizes()).to.deep.equal([6, 8])
    expect(treeFolder(dataDir, logId)).to.contain(name)
  })

  it('are not an issue if they are signed while the log is verified', async () => {
    await sign()
    const known = await readCheckpoints()
    await change()
    await sign()
    const verifier = await verify(known)
    expect(verifier.issues()).to.deep.equal([])
    expect(verifier.facts()).to.deep.equal([
      '1 checkpoint; the newest that matches covers 1 of 4 events, up to position 1.',
      'No hashes are recorded: changes of the last 3 events cannot be found.',
    ])
  })
})
