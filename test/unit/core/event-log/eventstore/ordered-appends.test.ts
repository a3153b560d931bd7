import { expect } from 'chai'
import { type EventLog, EventLogUnavailableError } from '../../../../../core/contract/event-log.ts'
import { openEventStoreLog } from '../../../../../core/event-log/eventstore/eventstore-log.ts'
import { FOLLOWED_STREAMS } from '../../../../../projections/events/streams.ts'
import { metadata, numbered, rejection } from '../../../../support/event-log-suite.ts'
import { type EventStore, startEventStore } from '../../../../support/eventstore/server.ts'
import { type StoppedTimers, stopTimers } from '../../../../support/timers.ts'

/** No other timer has this length. */
const TIMEOUT_MS = 70_004

describe('the EventStoreDB log, when it orders appends', () => {
  let server: EventStore
  let log: EventLog
  let timers: StoppedTimers

  beforeEach(async () => {
    timers = stopTimers(TIMEOUT_MS)
    server = await startEventStore()
    log = await openEventStoreLog({
      connectionString: server.connectionString,
      timeoutMs: TIMEOUT_MS,
      followedStreams: FOLLOWED_STREAMS,
      ordersAppends: true,
    })
  })

  afterEach(async () => {
    timers.restore()
    await log.close()
    await server.stop()
  })

  const append = (stream: string, expectedRevision: number, n = 0) =>
    log.append(stream, [numbered(n)], { expectedRevision, metadata })

  it('writes them in the order of the calls, whatever their streams', async () => {
    const appends = Array.from({ length: 300 }, (_, n) => append(`user-${n % 7}`, Math.floor(n / 7) - 1, n))
    const results = await Promise.all(appends)

    const written = server.store.readAll(0, 'forwards', 1000)
    expect(written.map(({ position }) => position)).to.deep.equal(results.map(({ position }) => position))
    expect(written.map(({ stream }) => stream)).to.deep.equal(
      Array.from({ length: 300 }, (_, n) => `user-${n % 7}`),
    )
  })

  it('rejects one at another revision, and no other', async () => {
    const [first, wrong, last] = await Promise.all([
      append('user-1', -1),
      rejection(append('user-1', 5)),
      append('user-1', 0),
    ])

    expect(wrong).to.include({ name: 'WrongExpectedRevisionError', expected: 5, actual: 0 })
    expect([first.revision, last.revision]).to.deep.equal([0, 1])
  })

  for (const [what, fail] of [
    [
      'is silent',
      async (rejected: Promise<unknown>) => {
        server.freeze()
        await timers.passUntil(TIMEOUT_MS, rejected)
      },
    ],
    ['breaks the connection', async () => server.dropConnections()],
  ] as const) {
    it(`rejects all that wait for a server that ${what}, and those after them`, async () => {
      await append('user-1', -1)
      const rejections = Promise.all([rejection(append('user-1', 0)), rejection(append('user-2', -1))])
      const later = rejections.then(() => rejection(append('user-3', -1)))
      await fail(later)

      for (const error of [...(await rejections), await later])
        expect(error).to.be.instanceOf(EventLogUnavailableError)
    })
  }
})
