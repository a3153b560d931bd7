import { expect } from 'chai'
import type { EventLog } from '../../../../core/contract/event-log.ts'
import {
  createMemoryLog,
  createMemoryStorage,
  type MemoryStorage,
} from '../../../../core/event-log/memory.ts'
import { readToEnd } from '../../../../core/event-log/streams.ts'
import { UNFOLLOWED_STREAMS } from '../../../../projections/events/streams.ts'
import {
  collect,
  eventLogContract,
  metadata,
  numbered,
  type OpenedLog,
  rejection,
} from '../../../support/event-log-suite.ts'

eventLogContract('the in-memory log', async () => openMemoryLog())

describe('the in-memory log', () => {
  let storage: MemoryStorage
  let log: EventLog

  const open = () => createMemoryLog({ unfollowedStreams: UNFOLLOWED_STREAMS, storage })
  const append = (stream: string, n: number) =>
    log.append(stream, [numbered(n)], { expectedRevision: 'any', metadata })

  beforeEach(() => {
    storage = createMemoryStorage()
    log = open()
  })

  afterEach(() => log.close())

  it('gives each reader its own copy of an event', async () => {
    const data = { list: [1] }
    await log.append('user-1', [{ type: 'Listed', data }], { expectedRevision: -1, metadata })
    data.list.push(2)
    for (const event of await collect(log.read('user-1'))) (event.data.list as number[]).push(3)

    const [event] = await collect(log.read('user-1'))

    expect(event?.data).to.deep.equal({ list: [1] })
  })

  it('writes nothing when an event cannot be serialized', async () => {
    const circular: Record<string, unknown> = {}
    circular.self = circular
    const events = [numbered(1), { type: 'Circular', data: circular }]

    await rejection(log.append('user-1', events, { expectedRevision: -1, metadata }))

    expect(await collect(log.read('user-1'))).to.deep.equal([])
    expect(await collect(readToEnd(log))).to.deep.equal([])
  })

  it('delivers the events of another log on the same storage, also after that log was closed', async () => {
    const other = open()
    const abort = new AbortController()
    const items = other.subscribe(0, abort.signal)[Symbol.asyncIterator]()
    expect((await items.next()).value).to.equal('caught-up')
    await append('user-1', 7)
    expect((await items.next()).value).to.deep.include({ stream: 'user-1', data: { n: 7 } })

    await log.close()
    const waiting = items.next()
    await other.append('user-1', [numbered(8)], { expectedRevision: 0, metadata })
    expect((await waiting).value).to.deep.include({ data: { n: 8 } })
    abort.abort()
    expect(await items.next()).to.include({ done: true })
    expect(storage.subscribers.size).to.equal(0)
  })

  it('does not block the event loop while a subscriber catches up', async () => {
    for (let n = 0; n < 20_000; n++) await append('user-1', n)
    const abort = new AbortController()
    setImmediate(() => abort.abort())
    let taken = 0
    for await (const item of log.subscribe(0, abort.signal)) if (item !== 'caught-up') taken += 1

    expect(taken).to.be.lessThan(20_000)
  })
})

function openMemoryLog(): OpenedLog {
  const storage = createMemoryStorage()
  const open = () => createMemoryLog({ unfollowedStreams: UNFOLLOWED_STREAMS, storage })
  let log = open()
  return {
    log,
    async reopen() {
      await log.close()
      log = open()
      return log
    },
    dispose: () => log.close(),
  }
}
