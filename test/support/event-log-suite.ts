import { expect } from 'chai'
import {
  type EventLog,
  EventLogUnavailableError,
  type EventMetadata,
  type NewEvent,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../../core/contract/event-log.ts'
import { ALL_STREAMS } from '../../core/event-log/streams.ts'
import type { EventReference } from '../../projections/runtime/check-log.ts'

/** An empty log in a new store. */
export interface OpenedLog {
  readonly log: EventLog
  /** Closes the log and opens the same store again. */
  reopen(): Promise<EventLog>
  /** Closes the open log and removes the store. */
  dispose(): Promise<void>
}

export const metadata: EventMetadata = {
  actor: { type: 'key', id: 'key_7', name: 'Ada' },
  requestId: 'req_1',
  time: '2025-03-01T10:00:00.123456Z',
  schema: 1,
}

/** A reference to an event at this position. */
export function eventAt(position: number): EventReference {
  return { position, stream: 'user-1', revision: 0, event: '' }
}

export function numbered(n: number): NewEvent {
  return { type: 'Numbered', data: { n } }
}

/** Defines the tests that every event log must pass. */
export function eventLogContract(
  name: string,
  open: () => Promise<OpenedLog>,
  { manyEvents = 4500 }: { manyEvents?: number } = {},
): void {
  describe(`${name}: event log contract`, () => {
    let opened: OpenedLog
    let log: EventLog

    beforeEach(async () => {
      opened = await open()
      log = opened.log
    })

    afterEach(() => opened.dispose())

    const append = (stream: string, ...numbers: number[]) =>
      log.append(stream, numbers.map(numbered), { expectedRevision: 'any', metadata })

    describe('append', () => {
      it('stores events in order, with the metadata of the append', async () => {
        const { position } = await log.append('user-1', [numbered(1), numbered(2)], {
          expectedRevision: -1,
          metadata,
        })

        const events = await collect(log.read('user-1'))

        const common = { stream: 'user-1', type: 'Numbered', metadata }
        expect(events.map(({ position, ...rest }) => rest)).to.deep.equal([
          { ...common, revision: 0, data: { n: 1 } },
          { ...common, revision: 1, data: { n: 2 } },
        ])
        expect(events[1]?.position).to.equal(position)
      })

      it('preserves any Unicode text', async () => {
        const data = {
          'ключ "1"': 'naïve 🚂 日本語 \u2028 \u0000 \\ \ud800',
          nested: { list: [null, true, -1.5e-7] },
        }
        const events = [{ type: 'Überschrift', data }]
        await log.append('user-ä🚂', events, { expectedRevision: 'any', metadata })

        const [event] = await collect(log.read('user-ä🚂'))

        expect(event).to.deep.include({ stream: 'user-ä🚂', type: 'Überschrift', data })
      })

      it('preserves payloads of half a megabyte', async () => {
        const data = { text: 'ü'.repeat(250_000) }
        await log.append('user-1', [{ type: 'Large', data }], { expectedRevision: 'any', metadata })

        const [event] = await collect(log.read('user-1'))

        expect(event?.data).to.deep.equal(data)
      })

      it('counts revisions from 0 without gaps within each stream', async () => {
        await append('user-1', 1)
        await append('user-2', 1, 2)
        await append('user-1', 2, 3)
        const last = await append('user-1', 4)

        expect(last.revision).to.equal(3)
        expect(revisions(await collect(log.read('user-1')))).to.deep.equal([0, 1, 2, 3])
        expect(revisions(await collect(log.read('user-2')))).to.deep.equal([0, 1])
      })

      it('assigns positions that increase across streams', async () => {
        const first = await append('user-1', 1)
        const second = await append('user-2', 1)
        const third = await append('user-1', 2)

        expect(first.position).to.be.greaterThan(0)
        expect(second.position).to.be.greaterThan(first.position)
        expect(third.position).to.be.greaterThan(second.position)
      })

      it('accepts the current revision of the stream', async () => {
        await append('user-1', 1, 2)

        const { revision } = await log.append('user-1', [numbered(3)], { expectedRevision: 1, metadata })

        expect(revision).to.equal(2)
      })

      it('rejects any other expected revision and reports the actual one', async () => {
        await append('user-1', 1, 2, 3)

        const error = await rejection(log.append('user-1', [numbered(4)], { expectedRevision: 1, metadata }))

        expect(error).to.be.instanceOf(WrongExpectedRevisionError)
        expect(error).to.include({ stream: 'user-1', expected: 1, actual: 2 })
      })

      it('rejects expected revision -1 for a stream that exists', async () => {
        await append('user-1', 1)

        const error = await rejection(log.append('user-1', [numbered(2)], { expectedRevision: -1, metadata }))

        expect(error).to.be.instanceOf(WrongExpectedRevisionError)
        expect(error).to.include({ expected: -1, actual: 0 })
      })

      it('rejects an expected revision of a stream that does not exist and reports -1', async () => {
        const error = await rejection(log.append('user-1', [numbered(1)], { expectedRevision: 0, metadata }))

        expect(error).to.be.instanceOf(WrongExpectedRevisionError)
        expect(error).to.include({ expected: 0, actual: -1 })
      })

      it('writes nothing when it rejects the expected revision', async () => {
        await append('user-1', 1)

        await rejection(log.append('user-1', [numbered(2), numbered(3)], { expectedRevision: 5, metadata }))

        expect(await collect(log.read('user-1'))).to.have.length(1)
      })

      it('rejects an append without events', async () => {
        const error = await rejection(log.append('user-1', [], { expectedRevision: 'any', metadata }))

        expect(error).to.have.property('message').that.includes('at least one event')
      })

      it('accepts exactly one of 64 concurrent appends with the same expected revision', async () => {
        const racing = Array.from({ length: 64 }, (_, n) =>
          log.append('user-1', [numbered(n), numbered(n)], { expectedRevision: -1, metadata }),
        )
        const results = await Promise.allSettled(racing)

        const lost = results.filter((result) => result.status === 'rejected')
        expect(lost).to.have.length(63)
        for (const { reason } of lost)
          expect(reason).to.be.instanceOf(WrongExpectedRevisionError).and.include({ actual: 1 })
        const winner = results.findIndex((result) => result.status === 'fulfilled')
        expect(numbers(await collect(log.read('user-1')))).to.deep.equal([winner, winner])
      })

      it('keeps the events of an append together among concurrent appends to the same stream', async () => {
        await Promise.all(Array.from({ length: 32 }, (_, n) => append('user-1', n, n, n)))

        const written = numbers(await collect(log.read('user-1')))

        expect(written).to.have.length(96)
        for (let at = 0; at < written.length; at += 3) {
          expect(written.slice(at, at + 3)).to.deep.equal(Array(3).fill(written[at]))
        }
      })

      it('accepts all concurrent appends to different streams', async () => {
        const appended = await Promise.all(
          Array.from({ length: 64 }, (_, n) =>
            log.append(`user-${n}`, [numbered(n)], { expectedRevision: -1, metadata }),
          ),
        )

        expect(new Set(appended.map(({ position }) => position))).to.have.property('size', 64)
        expect(numbers(await collect(log.read('user-63')))).to.deep.equal([63])
      })
    })

    describe('read', () => {
      it('starts at the requested revision', async () => {
        await append('user-1', 10, 11, 12, 13)

        expect(numbers(await collect(log.read('user-1', 2)))).to.deep.equal([12, 13])
      })

      it('yields nothing for a stream that does not exist', async () => {
        await append('user-1', 1)

        expect(await collect(log.read('user-2'))).to.deep.equal([])
      })

      it('yields nothing after the end of the stream', async () => {
        await append('user-1', 1)

        expect(await collect(log.read('user-1', 1))).to.deep.equal([])
      })

      it('yields a long stream completely and in order', async () => {
        const all = Array.from({ length: Math.min(manyEvents, 1500) }, (_, n) => n)
        for (let at = 0; at < all.length; at += 500) await append('user-1', ...all.slice(at, at + 500))

        expect(numbers(await collect(log.read('user-1')))).to.deep.equal(all)
      })
    })

    describe('subscribe', () => {
      let abort: AbortController

      beforeEach(() => {
        abort = new AbortController()
      })

      afterEach(() => abort.abort())

      const subscribe = (from = 0) => new Subscriber(log.subscribe(from, abort.signal))

      it('yields the events of all streams in log order, then caught-up', async () => {
        await append('user-1', 1)
        await append('user-2', 2, 3)
        await append('user-1', 4)

        expect(await subscribe().take(5)).to.deep.equal([1, 2, 3, 4, 'caught-up'])
      })

      it('starts after the requested position', async () => {
        await append('user-1', 1, 2)
        const { position } = await append('user-2', 3)
        await append('user-1', 4)

        expect(await subscribe(position).take(2)).to.deep.equal([4, 'caught-up'])
      })

      it('yields only the streams of the requested category', async () => {
        await append('plugin-a:1', 1)
        await append('user-1', 2, 3)
        await append('plugin-b:1', 4)
        await append('rules-1', 5)
        const plugins = new Subscriber(log.subscribe(0, abort.signal, 'plugin-'))
        expect(await plugins.take(3)).to.deep.equal([1, 4, 'caught-up'])

        await append('user-1', 6)
        await append('plugin-a:1', 7)
        expect(await plugins.take(1)).to.deep.equal([7])
        const users = new Subscriber(log.subscribe(0, abort.signal, 'user-'))
        expect(await users.take(4)).to.deep.equal([2, 3, 6, 'caught-up'])
      })

      it('skips streams that nobody follows, unless it is asked for them', async () => {
        await append('user-1', 1)
        await append('router-weights-a', 2, 3)
        await append('user-1', 4)
        const subscriber = subscribe()
        expect(await subscriber.take(3)).to.deep.equal([1, 4, 'caught-up'])

        await append('router-weights-b', 5)
        const { position } = await append('user-2', 6)
        expect(await subscriber.take(1)).to.deep.equal([6])
        const weights = new Subscriber(log.subscribe(0, abort.signal, 'router-weights-'))
        expect(await weights.take(4)).to.deep.equal([2, 3, 5, 'caught-up'])
        const all = new Subscriber(log.subscribe(0, abort.signal, ALL_STREAMS))
        expect(await all.take(7)).to.deep.equal([1, 2, 3, 4, 5, 6, 'caught-up'])
        expect(await subscribe(position).take(1)).to.deep.equal(['caught-up'])
      })

      it('yields caught-up first on an empty log', async () => {
        expect(await subscribe().take(1)).to.deep.equal(['caught-up'])
      })

      it('yields new events after caught-up, and caught-up only once', async () => {
        await append('user-1', 1)
        const subscriber = subscribe()
        await subscriber.take(2)

        await append('user-1', 2)
        expect(await subscriber.take(1)).to.deep.equal([2])
        await append('user-2', 3)
        await append('user-2', 4)
        expect(await subscriber.take(2)).to.deep.equal([3, 4])
      })

      it('neither misses nor repeats events during concurrent appends', async () => {
        const subscriber = subscribe()
        const writing = Array.from({ length: 20 }, async (_, writer) => {
          for (let n = 0; n < 25; n++) await append(`user-${writer}`, n)
        })
        const taken = await subscriber.take(501)
        await Promise.all(writing)

        expect(taken.filter((item) => item === 'caught-up')).to.have.length(1)
        const positions = subscriber.events.map(({ position }) => position)
        expect(positions).to.deep.equal([...new Set(positions)].sort((a, b) => a - b))
        for (let writer = 0; writer < 20; writer++) {
          const own = subscriber.events.filter(({ stream }) => stream === `user-${writer}`)
          expect(revisions(own)).to.deep.equal(Array.from({ length: 25 }, (_, n) => n))
        }
      })

      it(`catches up with ${manyEvents} events`, async () => {
        const all = Array.from({ length: manyEvents }, (_, n) => n)
        for (let at = 0; at < all.length; at += 500) await append(`user-${at}`, ...all.slice(at, at + 500))

        expect(await subscribe().take(manyEvents + 1)).to.deep.equal([...all, 'caught-up'])
      })

      it('yields the same complete events as read', async () => {
        await append('user-1', 1)
        const subscriber = subscribe()
        await subscriber.take(2)

        expect(subscriber.events).to.deep.equal(await collect(log.read('user-1')))
      })

      it('serves several subscribers at their own pace', async () => {
        const { position } = await append('user-1', 1)
        const fast = subscribe()
        const slow = subscribe(position)
        await fast.take(2)
        await append('user-1', 2)
        await append('user-1', 3)

        expect(await fast.take(2)).to.deep.equal([2, 3])
        expect(await slow.take(3)).to.deep.equal([2, 3, 'caught-up'])
      })

      it('ends when the signal aborts while waiting for events', async () => {
        const subscriber = subscribe()
        await subscriber.take(1)
        const waiting = subscriber.take(1)
        abort.abort()

        expect(await waiting).to.deep.equal([])
      })

      it('ends when the signal aborts while catching up', async () => {
        await append('user-1', 1, 2, 3)
        const subscriber = subscribe()
        await subscriber.take(1)
        abort.abort()

        expect(await subscriber.take(1)).to.deep.equal([])
      })

      it('yields nothing if the signal has already aborted', async () => {
        await append('user-1', 1)
        abort.abort()

        expect(await subscribe().take(1)).to.deep.equal([])
      })

      it('can be stopped early by the consumer', async () => {
        await append('user-1', 1, 2, 3)
        for await (const item of log.subscribe(0, abort.signal)) {
          if (item !== 'caught-up' && item.data.n === 2) break
        }

        expect(await subscribe().take(4)).to.deep.equal([1, 2, 3, 'caught-up'])
      })

      it('ends when the log closes', async () => {
        const subscriber = subscribe()
        await subscriber.take(1)
        const waiting = subscriber.take(1)
        await log.close()

        expect(await waiting).to.deep.equal([])
      })
    })

    describe('close', () => {
      it('preserves all events for the next open', async () => {
        const before = await append('user-1', 1, 2)
        log = await opened.reopen()

        const after = await log.append('user-1', [numbered(3)], { expectedRevision: 1, metadata })

        expect(numbers(await collect(log.read('user-1')))).to.deep.equal([1, 2, 3])
        expect(after.position).to.be.greaterThan(before.position)
      })

      it('waits for appends in flight', async () => {
        const appends = Array.from({ length: 50 }, (_, n) => append(`user-${n}`, n))
        await log.close()

        expect(await Promise.all(appends)).to.have.length(50)
      })

      it('rejects later appends', async () => {
        await log.close()

        expect(await rejection(append('user-1', 1))).to.be.instanceOf(EventLogUnavailableError)
      })

      it('can be called twice', async () => {
        await log.close()
        await log.close()
      })
    })
  })
}

/** Reads a subscription item by item and collects its events. An item is an event's number or `caught-up`. */
class Subscriber {
  readonly events: RecordedEvent[] = []
  readonly #items: AsyncIterator<RecordedEvent | 'caught-up'>

  constructor(subscription: AsyncIterable<RecordedEvent | 'caught-up'>) {
    this.#items = subscription[Symbol.asyncIterator]()
  }

  /** Resolves with the next `count` items, or fewer if the subscription ends. */
  async take(count: number): Promise<unknown[]> {
    const taken: unknown[] = []
    while (taken.length < count) {
      const { done, value } = await this.#items.next()
      if (done) break
      if (value !== 'caught-up') this.events.push(value)
      taken.push(value === 'caught-up' ? value : value.data.n)
    }
    return taken
  }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const item of items) collected.push(item)
  return collected
}

/** Resolves with the promise's rejection reason; fails if the promise resolves. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  let resolved: unknown
  try {
    resolved = await promise
  } catch (error) {
    return error
  }
  return expect.fail(`expected a rejection, resolved with ${JSON.stringify(resolved)}`)
}

export function revisions(events: readonly RecordedEvent[]): number[] {
  return events.map(({ revision }) => revision)
}

function numbers(events: readonly RecordedEvent[]): unknown[] {
  return events.map(({ data }) => data.n)
}
