import { expect } from 'chai'
import { pino } from 'pino'
import {
  type EventLog,
  EventLogUnavailableError,
  type RecordedEvent,
  type StreamAnomaly,
} from '../../../../core/contract/event-log.ts'
import { SYSTEM_ACTOR } from '../../../../core/event-log/actor.ts'
import { type Subscription, subscribeProjections } from '../../../../projections/runtime/subscribe.ts'
import { eventAt } from '../../../support/event-log-suite.ts'
import { itInFull } from '../../../support/rounds.ts'
import { waitUntil } from '../../../support/wait.ts'

type Step = RecordedEvent | StreamAnomaly | 'caught-up' | 'end' | Error

describe('subscribeProjections', () => {
  let log: ScriptedLog
  let subscription: Subscription
  let applied: number[]

  function start(...steps: Step[]): void {
    log = new ScriptedLog(steps)
    applied = []
    subscription = subscribeProjections(
      log,
      [{ apply: (_, { position }) => applied.push(position) }],
      pino({ level: 'silent' }),
    )
  }

  afterEach(() => subscription.close().catch(() => undefined))

  it('applies existing events in order and is then caught up', async () => {
    start(event(10), event(20), event(30), 'caught-up')
    await subscription.caughtUp

    expect(applied).to.deep.equal([10, 20, 30])
    expect(subscription.position()).to.equal(30)
  })

  it('is not caught up before the log reports it', async () => {
    start(event(10))
    await subscription.until(() => subscription.position() === 10)

    const first = await Promise.race([subscription.caughtUp.then(() => 'caught up'), nextTurn()])

    expect(first).to.equal('not yet')
  })

  it('applies new events after catching up', async () => {
    start('caught-up')
    await subscription.caughtUp
    log.add(event(10), event(20))
    await subscription.until(() => applied.length === 2)

    expect(applied).to.deep.equal([10, 20])
  })

  it('notifies all projections, then waiters', async () => {
    const order: string[] = []
    log = new ScriptedLog([])
    const recorder = (name: string) => ({ apply: () => order.push(name) })
    subscription = subscribeProjections(
      log,
      [recorder('first'), recorder('second')],
      pino({ level: 'silent' }),
    )
    const waiting = subscription.until(() => subscription.position() === 10).then(() => order.push('waiter'))
    log.add(event(10))
    await waiting

    expect(order).to.deep.equal(['first', 'second', 'waiter'])
  })

  it('resolves `until` immediately if the condition holds', async () => {
    start(event(10), 'caught-up')
    await subscription.caughtUp

    await subscription.until(() => subscription.position() >= 10)
  })

  it('skips events of newer versions but advances its position', async () => {
    start(event(10), { ...event(20), type: 'InventedLater' }, event(30), 'caught-up')
    await subscription.caughtUp

    expect(applied).to.deep.equal([10, 30])
    expect(subscription.position()).to.equal(30)
  })

  it('continues after the last event when the log is available again', async () => {
    start(event(10), event(20), unavailable, event(30), unavailable, unavailable, 'caught-up', event(40))
    await subscription.caughtUp
    await subscription.until(() => subscription.position() === 40)

    expect(applied).to.deep.equal([10, 20, 30, 40])
    expect(log.subscribedFrom).to.deep.equal([0, 20, 30, 30])
  })

  it('reports its state', async () => {
    start(event(10))
    await subscription.until(() => subscription.position() === 10)
    expect(subscription.state()).to.equal('catching-up')
    log.add('caught-up')
    await subscription.caughtUp
    expect(subscription.state()).to.equal('following')
    log.add(unavailable)
    await waitUntil(() => subscription.state() === 'away')
    log.add('caught-up')
    await waitUntil(() => subscription.state() === 'following')
  })

  it('counts received and skipped events', async () => {
    start(event(10), { ...event(20), type: 'InventedLater' }, 'caught-up')
    await subscription.caughtUp

    expect([subscription.received(), subscription.skipped()]).to.deep.equal([2, 1])
    expect(subscription.newest()?.position).to.equal(20)
  })

  it('notifies listeners of events applied after catching up, with their delay', async () => {
    start(event(10), 'caught-up')
    await subscription.caughtUp
    const notified: [number, number][] = []
    subscription.onApplied(({ position }, delayMs) => notified.push([position, delayMs]))
    const time = new Date(Date.now() - 200).toISOString()
    const ahead = new Date(Date.now() + 60_000).toISOString()
    log.add(at(event(20), time), { ...event(30), type: 'InventedLater' }, at(event(40), ahead))
    await subscription.until(() => subscription.position() === 40)

    expect(notified.map(([position]) => position)).to.deep.equal([20, 40])
    expect(notified[0]?.[1]).to.be.at.least(200)
    expect(notified[1]?.[1]).to.equal(0)
  })

  it('starts after the position of a loaded state', async () => {
    log = new ScriptedLog([event(50), 'caught-up'])
    subscription = subscribeProjections(log, [], pino({ level: 'silent' }), { newest: eventAt(40) })
    expect(subscription.position()).to.equal(40)
    await subscription.caughtUp

    expect(log.subscribedFrom).to.deep.equal([40])
    expect(subscription.position()).to.equal(50)
  })

  it('rejects `until` after its timeout', async () => {
    start('caught-up')

    const error = await subscription.until(() => false, 20).catch((thrown) => thrown)

    expect(error).to.be.instanceOf(EventLogUnavailableError)
  })

  it('waits between retries if subscriptions end immediately, as those of a closed log do', async () => {
    const startedAt = performance.now()
    start(...Array<Step>(100).fill('end'))
    await waitUntil(() => log.subscribedFrom.length >= 3)

    // 100 ms before the second one, 200 before the third, and so on.
    const waits = log.subscribedFrom.slice(1).map((_, index) => Math.min(100 * 2 ** index, 1000))
    const elapsedMs = performance.now() - startedAt
    expect(waits.reduce((sum, wait) => sum + wait)).to.be.at.most(elapsedMs + 10)
  })

  it('ends when it is closed', async () => {
    start(event(10), 'caught-up')
    await subscription.caughtUp
    await subscription.close()

    await subscription.ended
    expect(log.subscriptions).to.equal(0)
  })

  it('ends when it is closed while the log is unavailable', async () => {
    start(...Array<Step>(50).fill(unavailable))
    await nextTurn()
    await subscription.close()

    expect(log.subscribedFrom).to.deep.equal([0])
  })

  it('rejects `ended` if a projection throws, and applies nothing more', async () => {
    const broken = new Error('broken')
    const seen: number[] = []
    log = new ScriptedLog([event(10), event(20), event(30), 'caught-up'])
    const projection = {
      apply(_: unknown, { position }: RecordedEvent) {
        if (position === 20) throw broken
        seen.push(position)
      },
    }
    subscription = subscribeProjections(log, [projection], pino({ level: 'silent' }))

    expect(await subscription.ended.catch((error) => error)).to.equal(broken)
    expect(await subscription.caughtUp.catch((error) => error)).to.equal(broken)
    expect(seen).to.deep.equal([10])
    expect(log.subscriptions).to.equal(0)
  })

  it('rejects `ended` if the log fails with any other error', async () => {
    const broken = new Error('broken')
    start(event(10), broken)

    expect(await subscription.ended.catch((error) => error)).to.equal(broken)
  })
})

describe('subscribeProjections, for the events of one append', () => {
  let log: ScriptedLog
  let subscription: Subscription
  let applied: number[]
  let notified: number[]

  beforeEach(async () => {
    log = new ScriptedLog(['caught-up'])
    applied = []
    notified = []
    const projection = { apply: (_: unknown, { position }: RecordedEvent) => applied.push(position) }
    subscription = subscribeProjections(log, [projection], pino({ level: 'silent' }))
    subscription.onApplied(({ position }) => notified.push(position))
    await subscription.caughtUp
  })

  afterEach(() => subscription.close())

  it('waits for the last one before it applies the first', async () => {
    log.add(event(10), continued(20), continued(30))
    await subscription.until(() => subscription.position() === 10)
    await nextTurn()
    await nextTurn()
    expect(applied).to.deep.equal([10])

    log.add(event(40))
    await subscription.until(() => subscription.position() === 40)
    expect(applied).to.deep.equal([10, 20, 30, 40])
    expect(notified).to.deep.equal(applied)
  })

  it('applies all in one turn, however many there are', async () => {
    const positions = Array.from({ length: 3000 }, (_, index) => 10 * (index + 1))
    const seen = new Set<number>()
    let isDone = false
    const observe = () => {
      seen.add(applied.length)
      if (!isDone) setImmediate(observe)
    }
    observe()
    log.add(...positions.slice(0, -1).map(continued), event(30_000))
    await subscription.until(() => notified.length === 3000)
    isDone = true
    expect([...seen].filter((count) => count !== 0)).to.deep.equal([3000])
    expect(notified).to.deep.equal(positions)
  })

  it('receives them again if the log becomes unavailable before the last one', async () => {
    log.add(event(10), continued(20), unavailable, continued(20), event(30), 'caught-up')
    await subscription.until(() => subscription.position() === 30)
    expect(applied).to.deep.equal([10, 20, 30])
    expect(log.subscribedFrom).to.deep.equal([0, 10])
  })

  it('applies those of an append whose last event is not in the log', async () => {
    log.add(unavailable, continued(10), continued(20), 'caught-up')
    await subscription.until(() => subscription.position() === 20)
    expect(applied).to.deep.equal([10, 20])
  })

  it('applies those behind which nothing arrives', async () => {
    log.add(continued(10), continued(20))
    await subscription.until(() => subscription.position() === 20, 5000)
    expect(applied).to.deep.equal([10, 20])

    log.add(event(30))
    await subscription.until(() => subscription.position() === 30)
    expect(applied).to.deep.equal([10, 20, 30])
  })

  it('applies those in front of an event of another program before it', async () => {
    log.add({ ...continued(10), stream: 'rules-7' }, { kind: 'foreign', stream: 'rules-7', revision: 1 })
    await subscription.until(() => subscription.foreign() === 2)
    expect(subscription.position()).to.equal(10)
    expect(subscription.damaged()).to.deep.equal([])
  })

  itInFull('does not hold back more than any append has', async () => {
    log.add(...Array.from({ length: 20_500 }, (_, index) => continued(10 * (index + 1))))
    await subscription.until(() => applied.length > 20_000)
  })

  it('applies none after it was closed', async () => {
    log.add(continued(10))
    await nextTurn()
    log.add(event(20))
    await subscription.close()
    expect([[], [10, 20]]).to.deep.include(applied)
  })
})

const unavailable = new EventLogUnavailableError('unavailable')

function event(position: number): RecordedEvent {
  return {
    stream: 'ids',
    revision: position / 10 - 1,
    position,
    type: 'IdsReserved',
    data: { first: position, count: 1 },
    metadata: { actor: SYSTEM_ACTOR, time: '2025-03-01T10:00:00.123456Z', schema: 1 },
  }
}

/** An event that is not the last one of its append. */
function continued(position: number): RecordedEvent {
  const { metadata, ...rest } = event(position)
  return { ...rest, metadata: { ...metadata, lastRevision: rest.revision + 1 } }
}

/** The event with another time. */
function at(record: RecordedEvent, time: string): RecordedEvent {
  return { ...record, metadata: { ...record.metadata, time } }
}

function nextTurn(): Promise<string> {
  return new Promise((resolve) => setImmediate(resolve, 'not yet'))
}

/** Delivers its steps in order to one subscription at a time. Throws each error once. */
class ScriptedLog implements EventLog {
  readonly subscribedFrom: number[] = []
  subscriptions = 0
  readonly #steps: Step[]
  #wake: () => void = () => undefined

  constructor(steps: readonly Step[]) {
    this.#steps = [...steps]
  }

  add(...steps: Step[]): void {
    this.#steps.push(...steps)
    this.#wake()
  }

  async *subscribe(
    from: number,
    signal: AbortSignal,
    _streams?: string,
    onAnomaly?: (anomaly: StreamAnomaly) => void,
  ): AsyncGenerator<RecordedEvent | 'caught-up'> {
    this.subscribedFrom.push(from)
    this.subscriptions += 1
    const woken = () => new Promise<void>((resolve) => (this.#wake = resolve))
    signal.addEventListener('abort', () => this.#wake())
    try {
      while (!signal.aborted) {
        const step = this.#steps.shift()
        if (step instanceof Error) throw step
        if (step === 'end') return
        if (step === undefined) await woken()
        else if (typeof step === 'object' && 'kind' in step) onAnomaly?.(step)
        else yield step
      }
    } finally {
      this.subscriptions -= 1
    }
  }

  append(): never {
    throw new Error('append is not implemented')
  }

  read(): never {
    throw new Error('read is not implemented')
  }

  deleteStream(): never {
    throw new Error('deleteStream is not implemented')
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
