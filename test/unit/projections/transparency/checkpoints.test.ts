import { open, readdir } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import type { EventLog, RecordedEvent } from '../../../../core/contract/index.ts'
import {
  createMemoryLog,
  createMemoryStorage,
  type MemoryStorage,
} from '../../../../core/event-log/memory.ts'
import { parseCheckpoint } from '../../../../core/event-log/transparency/checkpoint.ts'
import { createTreeVerifier } from '../../../../core/event-log/transparency/verify-tree.ts'
import { ensureLogId } from '../../../../core/events/log-identity.ts'
import { createLogger } from '../../../../core/process/logger.ts'
import { createClock } from '../../../../core/util/clock.ts'
import { type Subscription, subscribeProjections } from '../../../../projections/runtime/subscribe.ts'
import { scheduleCheckpoints } from '../../../../projections/transparency/schedule.ts'
import { CheckpointSigner, treeFolder } from '../../../../projections/transparency/sign-checkpoints.ts'
import { type CapturedOutput, captureOutput } from '../../../support/captured-output.ts'
import { makeFolder } from '../../../support/folders.ts'

const clock = createClock()

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
    const metadata = { actor: 'admin', time: clock(), schema: 1 }
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

  it('are signed after a while with changes, and not without', async () => {
    const scheduler = scheduleCheckpoints(subscription, log, { ...options(), everyMs: 5 })
    await signed(1)
    await change()
    await signed(2)
    await scheduler.close()
    expect(sizes()).to.deep.equal([1, 3])
  })

  it('are not signed over a log that contradicts the newest one', async () => {
    await change(5)
    await sign()
    const event = storage.history[3] as { metadata: string }
    event.metadata = event.metadata.replace('admin', 'nobody')
    await change()
    // The hashes that were recorded before the change still are those of the checkpoint.
    await sign()
    expect(sizes()).to.deep.equal([6, 8])

    dataDir = await makeFolder()
    await change()
    const scheduler = scheduleCheckpoints(subscription, log, options())
    await scheduler.close()
    expect(sizes()).to.deep.equal([6, 8])
    expect(output.text()).to.contain('the event log does not hold the 8 events')
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
    const known: RecordedEvent[] = []
    for await (const record of log.read('checkpoints')) known.push(record)
    await change()
    await sign()
    const verifier = createTreeVerifier({ checkpoints: known, logId, accepts: () => true })
    const abort = new AbortController()
    for await (const item of log.subscribe(0, abort.signal)) {
      if (item === 'caught-up') break
      verifier.check(item)
    }
    expect(verifier.issues()).to.deep.equal([])
    expect(verifier.facts()).to.deep.equal([
      '1 checkpoint; the newest that matches covers 1 of 4 events, up to position 1.',
    ])
  })
})
