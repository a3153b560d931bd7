import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import {
  type EventLog,
  EventLogUnavailableError,
  type NewEvent,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../../../../../core/contract/event-log.ts'
import { openEventStoreLog } from '../../../../../core/event-log/eventstore/eventstore-log.ts'
import { FOLLOWED_STREAMS } from '../../../../../core/events/streams.ts'
import { type Subscription, subscribeProjections } from '../../../../../projections/runtime/subscribe.ts'
import { collect, metadata, rejection, revisions } from '../../../../support/event-log-suite.ts'
import { type EventStore, startEventStore } from '../../../../support/eventstore/server.ts'

const PATIENCE = 400

describe('the EventStoreDB log, when its server', () => {
  let directory: string
  let server: EventStore
  let log: EventLog
  let live: Subscription | undefined
  let applied: RecordedEvent[]
  let unhandled: unknown[]
  const note = (reason: unknown) => unhandled.push(reason)

  beforeEach(async () => {
    unhandled = []
    process.on('unhandledRejection', note)
    directory = await mkdtemp(join(tmpdir(), 'signalbox-eventstore-'))
    server = await startEventStore({ file: join(directory, 'events.db') })
    log = await openEventStoreLog({
      connectionString: server.connectionString,
      timeoutMs: PATIENCE,
      followedStreams: FOLLOWED_STREAMS,
    })
  })

  afterEach(async () => {
    await live?.close()
    live = undefined
    await log.close()
    await server.stop()
    await rm(directory, { recursive: true })
    process.off('unhandledRejection', note)
    // Outside of mocha each of these ends the process.
    expect(unhandled).to.deep.equal([])
  })

  /** Comes back at the same port with the same events. */
  async function restart(): Promise<void> {
    server = await startEventStore({ port: server.port, file: join(directory, 'events.db') })
  }

  async function startFollowing(): Promise<Subscription> {
    applied = []
    const projection = { apply: (_: unknown, record: RecordedEvent) => applied.push(record) }
    live = subscribeProjections(log, [projection], pino({ level: 'silent' }))
    await live.caughtUp
    return live
  }

  const append = (stream: string, expectedRevision: number | 'any' = 'any') =>
    log.append(stream, [change], { expectedRevision: expectedRevision, metadata })

  const expectAppliedOnce = async (...streams: string[]) => {
    for (const stream of streams) {
      const written = await collect(log.read(stream))
      expect(applied.filter((record) => record.stream === stream)).to.deep.equal(written)
    }
    const positions = applied.map(({ position }) => position)
    expect(positions).to.deep.equal(positions.toSorted((a, b) => a - b))
  }

  describe('goes away under load and comes back', () => {
    it('rejects appends meanwhile, in bounded time, and applies everything once and in order', async () => {
      const following = await startFollowing()
      const streams = Array.from({ length: 16 }, (_, writer) => `user-${writer}`)
      const accepted = new Map<string, number>()
      const durations: number[] = []
      let failed = 0
      let writing = true

      /** Writes one event after the other; like a writer of rules, it looks where the stream is after a failure. */
      async function write(stream: string): Promise<void> {
        let revision = -1
        while (writing) {
          const started = performance.now()
          try {
            revision = (await append(stream, revision)).revision
            accepted.set(stream, revision)
          } catch (error) {
            failed += 1
            if (WrongExpectedRevisionError.isInstance(error)) revision = error.actual
            else expect(error).to.be.instanceOf(EventLogUnavailableError)
          }
          durations.push(performance.now() - started)
        }
      }

      const writers = streams.map(write)
      for (let outage = 0; outage < 3; outage++) {
        await following.until(() => applied.length > (outage + 1) * 100)
        const failedBefore = failed
        await server.stop()
        await passes(() => failed > failedBefore + streams.length)
        await restart()
      }
      const target = applied.length + 200
      await following.until(() => applied.length > target)
      writing = false
      await Promise.all(writers)
      await following.until(() => streams.every((stream) => appliedRevision(stream) === accepted.get(stream)))

      await expectAppliedOnce(...streams)
      for (const stream of streams) {
        const written = revisions(await collect(log.read(stream)))
        expect(written).to.deep.equal(written.map((_, index) => index))
      }
      expect(Math.max(...durations)).to.be.lessThan(2 * PATIENCE + 200)
    })

    it('fails its followers and its readers', async () => {
      const items = log.subscribe(0, new AbortController().signal)[Symbol.asyncIterator]()
      await items.next()
      const waiting = rejection(items.next())
      await server.stop()

      expect(await waiting).to.be.instanceOf(EventLogUnavailableError)
      expect(await rejection(collect(log.read('user-1')))).to.be.instanceOf(EventLogUnavailableError)
      await restart()
    })

    it('goes on where the connection string names a cluster, after every node was away', async () => {
      const connectionString = `esdb+discover://127.0.0.1:${server.port}?tls=false&maxDiscoverAttempts=2`
      const clustered = await openEventStoreLog({
        connectionString,
        timeoutMs: PATIENCE,
        followedStreams: FOLLOWED_STREAMS,
      })
      const write = () => clustered.append('user-1', [change], { expectedRevision: 'any', metadata })
      await write()
      const followed = rejection(collect(clustered.subscribe(0, new AbortController().signal)))
      const underWay = Promise.allSettled(Array.from({ length: 32 }, write))
      await server.stop()
      await underWay
      for (let times = 0; times < 3; times++) {
        const errors = await Promise.all(Array.from({ length: 8 }, () => rejection(write())))
        for (const error of errors) expect(error).to.be.instanceOf(EventLogUnavailableError)
      }
      expect(await followed).to.be.instanceOf(EventLogUnavailableError)
      await restart()

      const { revision } = await write()

      expect(await collect(clustered.read('user-1'))).to.have.length(revision + 1)
      await clustered.close()
    })
  })

  describe('breaks connections', () => {
    it('outlives that a connection breaks while no node of the cluster is ready', async () => {
      const connectionString = `esdb+discover://127.0.0.1:${server.port}?tls=false&maxDiscoverAttempts=1`
      const clustered = await openEventStoreLog({
        connectionString,
        timeoutMs: PATIENCE,
        followedStreams: FOLLOWED_STREAMS,
      })
      const items = clustered.subscribe(0, new AbortController().signal)[Symbol.asyncIterator]()
      await items.next()
      const followed = rejection(items.next())
      server.refuse('not-ready')
      server.delay(50)
      const appended = rejection(clustered.append('user-1', [change], { expectedRevision: 'any', metadata }))
      await new Promise((resolve) => setTimeout(resolve, 75))
      server.dropConnections()

      expect(await appended).to.be.instanceOf(EventLogUnavailableError)
      expect(await followed).to.be.instanceOf(EventLogUnavailableError)
      await clustered.close()
    })

    it('writes no event twice when the answer to an append is lost', async () => {
      server.loseAnswers(1)
      expect(await append('user-1', -1)).to.include({ revision: 0 })
      server.loseAnswers(1)
      const { position } = await append('user-1', 0)
      server.loseAnswers(1)
      await append('user-2', 'any')

      const written = await collect(log.read('user-1'))
      expect(written.map((event) => event.position)).to.include(position)
      expect(revisions(written)).to.deep.equal([0, 1])
      expect(await collect(log.read('user-2'))).to.have.length(1)
    })

    it('says so when the second answer is lost as well', async () => {
      server.loseAnswers(2)

      expect(await rejection(append('user-1', -1))).to.be.instanceOf(EventLogUnavailableError)
      expect(await collect(log.read('user-1'))).to.have.length(1)
    })

    it('writes no event twice and applies each once when they break again and again', async () => {
      const following = await startFollowing()
      const streams = Array.from({ length: 8 }, (_, writer) => `user-${writer}`)
      let breaking = true
      let broken = 0
      const breaker = (async () => {
        while (breaking) {
          const enough = applied.length + 20
          await following.until(() => applied.length > enough || !breaking)
          server.dropConnections()
          broken += 1
        }
      })()
      const accepted = await Promise.all(
        streams.map(async (stream) => {
          let count = 0
          for (let tries = 0; tries < 100; tries++) {
            const outcome = await append(stream).catch((error) => error)
            if (outcome instanceof Error) expect(outcome).to.be.instanceOf(EventLogUnavailableError)
            else count += 1
          }
          return count
        }),
      )
      breaking = false
      const last = await append('user-last')
      await following.until(() => following.position() >= last.position)
      await breaker

      expect(broken).to.be.greaterThan(3)
      await expectAppliedOnce(...streams)
      for (const [writer, stream] of streams.entries()) {
        const written = await collect(log.read(stream))
        expect(written.length).to.be.within(accepted[writer]!, 100)
      }
    })
  })

  describe('is slow', () => {
    it('waits as long as its patience lasts', async () => {
      server.delay(PATIENCE / 2)

      expect(await append('user-1', -1)).to.include({ revision: 0 })
      expect(await collect(log.read('user-1'))).to.have.length(1)
    })

    it('gives up appending, reading and following after that', async () => {
      await append('user-1')
      server.delay(60_000)
      const started = performance.now()

      const errors = await Promise.all([
        rejection(append('user-1')),
        rejection(collect(log.read('user-1'))),
        rejection(collect(log.subscribe(0, new AbortController().signal))),
      ])

      for (const error of errors) expect(error).to.be.instanceOf(EventLogUnavailableError)
      expect(performance.now() - started).to.be.lessThan(2 * PATIENCE + 200)
    })

    it('is left at once when the signal aborts', async () => {
      server.delay(60_000)
      const leaving = new AbortController()
      const items = collect(log.subscribe(0, leaving.signal))
      const started = performance.now()
      leaving.abort()

      expect(await items).to.deep.equal([])
      expect(performance.now() - started).to.be.lessThan(100)
    })

    it('does not fail a reader that is slow itself', async () => {
      for (let n = 0; n < 3; n++) await append('user-1')
      const seen: number[] = []
      for await (const { revision } of log.read('user-1')) {
        if (revision === 0) await new Promise((resolve) => setTimeout(resolve, PATIENCE * 1.5))
        seen.push(revision)
      }

      expect(seen).to.deep.equal([0, 1, 2])
    })
  })

  describe('refuses', () => {
    it('an append because another node leads, goes to that node', async () => {
      const leader = await startEventStore()
      server.refuse('not-leader', {
        'leader-endpoint-host': '127.0.0.1',
        'leader-endpoint-port': String(leader.port),
      })

      await append('user-1', -1)

      expect(leader.store.exists('user-1')).to.equal(true)
      expect(server.store.exists('user-1')).to.equal(false)
      await leader.stop()
    })

    it('an append that is too large, says so', async () => {
      const large = { type: 'Large', data: { text: 'x'.repeat(1024 * 1024) } }

      const error = await rejection(log.append('user-1', [large], { expectedRevision: -1, metadata }))

      expect(error).to.be.instanceOf(EventLogUnavailableError)
      expect(error).to.have.property(
        'message',
        'the event log server rejected the append because it exceeds the maximum append size',
      )
    })
  })

  function appliedRevision(stream: string): number | undefined {
    return applied.findLast((record) => record.stream === stream)?.revision
  }
})

/** An event that projections are told of. */
const change: NewEvent = { type: 'PlanChanged', data: { userId: 1, plan: 'free' } }

/** Looks again at every turn of the event loop. */
async function passes(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}
