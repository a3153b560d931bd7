import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import {
  AppendTooLargeError,
  type EventLog,
  EventLogUnavailableError,
  type NewEvent,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../../../../../core/contract/event-log.ts'
import { openEventStoreLog } from '../../../../../core/event-log/eventstore/eventstore-log.ts'
import { nextImmediate } from '../../../../../core/util/next-immediate.ts'
import { FOLLOWED_STREAMS } from '../../../../../projections/events/streams.ts'
import { type Subscription, subscribeProjections } from '../../../../../projections/runtime/subscribe.ts'
import { collect, metadata, rejection, revisions } from '../../../../support/event-log-suite.ts'
import { type EventStore, startEventStore } from '../../../../support/eventstore/server.ts'
import { itInFull, ROUNDS } from '../../../../support/rounds.ts'
import { type StoppedTimers, stopTimers } from '../../../../support/timers.ts'
import { waitUntil } from '../../../../support/wait.ts'

/** No other timer has this length. */
const TIMEOUT_MS = 70_003

describe('the EventStoreDB log', () => {
  let directory: string
  let server: EventStore
  let log: EventLog
  let subscription: Subscription | undefined
  let applied: RecordedEvent[]
  let unhandled: unknown[]
  /** Until a test has ended, also if it failed: nothing else ends loops that never wait. */
  let isRunning: boolean
  const recordUnhandled = (reason: unknown) => unhandled.push(reason)

  beforeEach(async () => {
    isRunning = true
    unhandled = []
    process.on('unhandledRejection', recordUnhandled)
    directory = await mkdtemp(join(tmpdir(), 'signalbox-eventstore-'))
    server = await startEventStore({ file: join(directory, 'events.db') })
    log = await openEventStoreLog({
      connectionString: server.connectionString,
      timeoutMs: TIMEOUT_MS,
      followedStreams: FOLLOWED_STREAMS,
    })
  })

  afterEach(async () => {
    isRunning = false
    await subscription?.close()
    subscription = undefined
    await log.close()
    await server.stop()
    await rm(directory, { recursive: true })
    process.off('unhandledRejection', recordUnhandled)
    // Outside of mocha, each of these would end the process.
    expect(unhandled).to.deep.equal([])
  })

  /** Starts the server on the same port with the same events. */
  async function restart(): Promise<void> {
    server = await startEventStore({ port: server.port, file: join(directory, 'events.db') })
  }

  async function subscribe(): Promise<Subscription> {
    applied = []
    const projection = { apply: (_: unknown, record: RecordedEvent) => applied.push(record) }
    subscription = subscribeProjections(log, [projection], pino({ level: 'silent' }))
    await subscription.caughtUp
    return subscription
  }

  const append = (stream: string, expectedRevision: number | 'any' = 'any') =>
    log.append(stream, [changeOf(stream)], { expectedRevision, metadata })

  const expectAppliedOnce = async (...streams: string[]) => {
    for (const stream of streams) {
      const written = await collect(log.read(stream))
      expect(applied.filter((record) => record.stream === stream)).to.deep.equal(written)
    }
    const positions = applied.map(({ position }) => position)
    expect(positions).to.deep.equal(positions.toSorted((a, b) => a - b))
  }

  describe('when its server stops and restarts under load', () => {
    it('rejects appends, and then applies every event once and in order', async () => {
      const active = await subscribe()
      const streams = Array.from({ length: ROUNDS.outages.writers }, (_, writer) => `user-${writer + 1}`)
      const accepted = new Map<string, number>()
      let failed = 0

      /** Appends one event after the other. After a conflict it uses the actual revision. */
      async function write(stream: string): Promise<void> {
        let revision = -1
        while (isRunning) {
          try {
            revision = (await append(stream, revision)).revision
            accepted.set(stream, revision)
          } catch (error) {
            failed += 1
            if (WrongExpectedRevisionError.isInstance(error)) revision = error.actual
            else expect(error).to.be.instanceOf(EventLogUnavailableError)
          }
        }
      }

      const writers = streams.map(write)
      for (let outage = 0; outage < ROUNDS.outages.count; outage++) {
        await active.until(() => applied.length > (outage + 1) * 100)
        const failedBefore = failed
        await server.stop()
        await waitUntil(() => failed > failedBefore + streams.length)
        await restart()
      }
      const target = applied.length + 200
      await active.until(() => applied.length > target)
      isRunning = false
      await Promise.all(writers)
      await active.until(() => streams.every((stream) => appliedRevision(stream) === accepted.get(stream)))

      await expectAppliedOnce(...streams)
      for (const stream of streams) {
        const written = revisions(await collect(log.read(stream)))
        expect(written).to.deep.equal(written.map((_, index) => index))
      }
    })

    it('fails subscriptions and reads', async () => {
      const items = log.subscribe(0, new AbortController().signal)[Symbol.asyncIterator]()
      await items.next()
      const waiting = rejection(items.next())
      await server.stop()

      expect(await waiting).to.be.instanceOf(EventLogUnavailableError)
      expect(await rejection(collect(log.read('user-1')))).to.be.instanceOf(EventLogUnavailableError)
      await restart()
    })

    it('recovers after every node of a cluster was unavailable', async () => {
      const connectionString = `esdb+discover://127.0.0.1:${server.port}?tls=false&maxDiscoverAttempts=2`
      const clustered = await openEventStoreLog({
        connectionString,
        timeoutMs: TIMEOUT_MS,
        followedStreams: FOLLOWED_STREAMS,
      })
      const write = () =>
        clustered.append('user-1', [changeOf('user-1')], { expectedRevision: 'any', metadata })
      await write()
      const subscribed = rejection(collect(clustered.subscribe(0, new AbortController().signal)))
      const appends = Promise.allSettled(Array.from({ length: 32 }, write))
      await server.stop()
      await appends
      for (let times = 0; times < 3; times++) {
        const errors = await Promise.all(Array.from({ length: 8 }, () => rejection(write())))
        for (const error of errors) expect(error).to.be.instanceOf(EventLogUnavailableError)
      }
      expect(await subscribed).to.be.instanceOf(EventLogUnavailableError)
      await restart()

      const { revision } = await write()

      expect(await collect(clustered.read('user-1'))).to.have.length(revision + 1)
      await clustered.close()
    })
  })

  describe('when connections break', () => {
    it('survives a broken connection while no node of the cluster is ready', async () => {
      const connectionString = `esdb+discover://127.0.0.1:${server.port}?tls=false&maxDiscoverAttempts=1`
      const clustered = await openEventStoreLog({
        connectionString,
        timeoutMs: TIMEOUT_MS,
        followedStreams: FOLLOWED_STREAMS,
      })
      const items = clustered.subscribe(0, new AbortController().signal)[Symbol.asyncIterator]()
      await items.next()
      const subscribed = rejection(items.next())
      server.refuse('not-ready')
      const release = server.hold()
      const appended = rejection(
        clustered.append('user-1', [changeOf('user-1')], { expectedRevision: 'any', metadata }),
      )
      await waitUntil(() => server.delayedCalls() > 0)
      server.dropConnections()
      release()

      expect(await appended).to.be.instanceOf(EventLogUnavailableError)
      expect(await subscribed).to.be.instanceOf(EventLogUnavailableError)
      await clustered.close()
    })

    it('sends every append as a call of its own, which the failure of no other ends', async () => {
      await Promise.all(Array.from({ length: 20 }, (_, n) => append(`user-${n}`, -1)))

      expect(server.appendCalls()).to.equal(0)
    })

    it('keeps the connection when a subscription is cancelled', async () => {
      for (let times = 0; times < 3; times++) {
        const abort = new AbortController()
        for await (const item of log.subscribe(0, abort.signal)) if (item === 'caught-up') abort.abort()
        await append('user-1')
      }

      expect(server.connections()).to.equal(1)
    })

    it('writes no event twice if the response to an append is lost', async () => {
      server.loseResponses(1)
      expect(await append('user-1', -1)).to.include({ revision: 0 })
      server.loseResponses(1)
      const { position } = await append('user-1', 0)
      server.loseResponses(1)
      await append('user-2', 'any')

      const written = await collect(log.read('user-1'))
      expect(written.map((event) => event.position)).to.include(position)
      expect(revisions(written)).to.deep.equal([0, 1])
      expect(await collect(log.read('user-2'))).to.have.length(1)
    })

    it('rejects if the response to the retry is lost as well', async () => {
      server.loseResponses(2)

      expect(await rejection(append('user-1', -1))).to.be.instanceOf(EventLogUnavailableError)
      expect(await collect(log.read('user-1'))).to.have.length(1)
    })

    itInFull('writes no event twice and applies each event once if they break repeatedly', async () => {
      const active = await subscribe()
      const streams = Array.from({ length: 8 }, (_, writer) => `user-${writer + 1}`)

      /** Appends one event after the other. Returns how many, and how many of them succeeded. */
      async function write(stream: string) {
        let [tries, accepted] = [0, 0]
        for (; isRunning; tries++) {
          const outcome = await append(stream).catch((error) => error)
          if (outcome instanceof Error) expect(outcome).to.be.instanceOf(EventLogUnavailableError)
          else accepted += 1
        }
        return { stream, tries, accepted }
      }

      const writers = streams.map(write)
      for (let breaks = 0; breaks < 5; breaks++) {
        const target = applied.length + 40
        await Promise.race([active.until(() => applied.length > target), ...writers])
        server.dropConnections()
      }
      isRunning = false
      const written = await Promise.all(writers)
      const last = await append('user-99')
      await active.until(() => active.position() >= last.position)

      await expectAppliedOnce(...streams)
      for (const { stream, tries, accepted } of written)
        expect(await collect(log.read(stream))).to.have.length.within(accepted, tries)
    })
  })

  describe('when its server is slow', () => {
    let timers: StoppedTimers
    beforeEach(() => {
      timers = stopTimers(TIMEOUT_MS)
    })
    afterEach(() => timers.restore())

    /** Resolves once the server has received so many calls, which it delays. */
    const received = (calls: number) => waitUntil(() => server.delayedCalls() === calls)

    it('waits up to the timeout', async () => {
      const release = server.hold()
      const appended = append('user-1', -1)
      await received(1)
      timers.pass(TIMEOUT_MS - 1)
      release()

      expect(await appended).to.include({ revision: 0 })
      expect(await collect(log.read('user-1'))).to.have.length(1)
    })

    it('waits longer for a large append, whose sending takes time', async () => {
      const release = server.hold()
      const content = { pattern: 'x'.repeat(750_000), priority: 0 }
      const large: NewEvent = { type: 'FirewallRuleCreated', data: { userId: 1, ruleId: 1, content } }
      const appended = log.append('rules-1', [large], { expectedRevision: -1, metadata })
      await received(1)
      // Two attempts would have failed by now.
      for (let timeout = 0; timeout < 3; timeout++) {
        await nextImmediate()
        timers.pass(TIMEOUT_MS)
      }
      release()

      expect(await appended).to.include({ revision: 0 })
    })

    it('fails appends, reads and subscriptions after the timeout', async () => {
      await append('user-1')
      server.hold()
      const calls = [
        rejection(append('user-1')),
        rejection(collect(log.read('user-1'))),
        rejection(collect(log.subscribe(0, new AbortController().signal))),
      ]
      await received(3)
      await timers.passUntil(TIMEOUT_MS, Promise.all(calls))

      for (const error of await Promise.all(calls)) expect(error).to.be.instanceOf(EventLogUnavailableError)
    })

    it('ends a subscription immediately when the signal aborts', async () => {
      server.hold()
      const abort = new AbortController()
      const items = collect(log.subscribe(0, abort.signal))
      abort.abort()

      expect(await items).to.deep.equal([])
    })

    it('fails a subscription whose end an early server does not report, and says which do', async () => {
      const early = await startEventStore({ version: '22.10.5' })
      const { connectionString } = early
      const options = { connectionString, timeoutMs: TIMEOUT_MS, followedStreams: FOLLOWED_STREAMS }
      const earlyLog = await openEventStoreLog(options)
      const begun = timers.started(TIMEOUT_MS)
      const items = rejection(collect(earlyLog.subscribe(0, new AbortController().signal)))
      await begun
      // Refreshed by the confirmation.
      await timers.started(TIMEOUT_MS)
      await timers.passUntil(TIMEOUT_MS, items)

      expect(await items).to.be.instanceOf(EventLogUnavailableError)
      expect(await items)
        .to.have.property('message')
        .that.includes('servers before 23.10 do not')
      await earlyLog.close()
      await early.stop()
    })

    it('does not fail a subscription that has caught up and receives nothing', async () => {
      const items = log.subscribe(0, new AbortController().signal)[Symbol.asyncIterator]()
      expect(await items.next()).to.include({ value: 'caught-up' })
      const next = items.next()
      timers.pass(TIMEOUT_MS * 2)
      await append('user-1')

      expect((await next).value).to.include({ stream: 'user-1' })
    })

    it('does not fail a slow reader', async () => {
      for (let n = 0; n < 3; n++) await append('user-1')
      const seen: number[] = []
      for await (const { revision } of log.read('user-1')) {
        if (revision === 0) timers.pass(TIMEOUT_MS * 1.5)
        seen.push(revision)
      }

      expect(seen).to.deep.equal([0, 1, 2])
    })
  })

  describe('when its server rejects an append', () => {
    it('because another node is the leader, sends it to that node', async () => {
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

    it('because it is not ready, leaves it, and goes on when it is', async () => {
      server.refuse('not-ready', {}, ['append'])
      const error = await rejection(append('user-1', -1))
      server.accept()

      expect(error).to.be.instanceOf(EventLogUnavailableError).and.include({ transient: true })
      expect(error).to.have.property('message').that.includes('Server Is Not Ready')
      expect(await append('user-1', -1)).to.include({ revision: 0 })
    })

    it('reports that access is denied', async () => {
      server.refuse('access-denied', {}, ['append'])

      const error = await rejection(append('user-1', -1))

      expect(error).to.be.instanceOf(EventLogUnavailableError).and.include({ accessDenied: true })
    })

    it('because of one stream, writes those to others', async () => {
      server.store.tombstone('user-9', 'any')
      const [first, wrong, deleted, last] = await Promise.all([
        append('user-1', -1),
        rejection(append('user-2', 5)),
        rejection(append('user-9', -1)),
        append('user-3', -1),
      ])

      expect(wrong).to.include({ name: 'WrongExpectedRevisionError', expected: 5, actual: -1 })
      expect(deleted).to.include({ name: 'StreamDamagedError', stream: 'user-9' })
      expect([first.revision, last.revision]).to.deep.equal([0, 0])
    })

    it('refuses one that is too large before it is sent, and leaves others alone', async () => {
      const large = { type: 'Large', data: { text: 'x'.repeat(1_000_000) } }
      const refused = rejection(log.append('user-1', [large], { expectedRevision: -1, metadata }))

      expect(await append('user-2', -1)).to.include({ revision: 0 })
      const error = await refused
      expect(error).to.be.instanceOf(AppendTooLargeError).and.include({ limit: 1_000_000 })
      expect(error).to.have.property('bytes').that.is.within(1_000_000, 1_001_000)
    })

    it('reports the limit of a server that accepts less', async () => {
      server.refuse('maximum-append-size-exceeded', { 'maximum-append-size': '4096' })

      const error = await rejection(append('user-1', -1))

      expect(error).to.be.instanceOf(AppendTooLargeError).and.include({ limit: 4096 })
      server.accept()
    })
  })

  function appliedRevision(stream: string): number | undefined {
    return applied.findLast((record) => record.stream === stream)?.revision
  }
})

/** An event of a type that projections receive. */
function changeOf(stream: string): NewEvent {
  return { type: 'PlanChanged', data: { userId: Number(stream.slice('user-'.length)), plan: 'free' } }
}
