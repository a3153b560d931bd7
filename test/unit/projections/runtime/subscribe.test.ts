import { expect } from 'chai'
import { pino } from 'pino'
import {
  type EventLog,
  EventLogUnavailableError,
  type RecordedEvent,
} from '../../../../core/contract/event-log.ts'
import { type Subscription, subscribeProjections } from '../../../../projections/runtime/subscribe.ts'

type Step = RecordedEvent | 'caught-up' | 'end' | Error

describe('followLog', () => {
  let log: ScriptedLog
  let live: Subscription
  let applied: number[]

  function start(...steps: Step[]): void {
    log = new ScriptedLog(steps)
    applied = []
    live = subscribeProjections(
      log,
      [{ apply: (_, { position }) => applied.push(position) }],
      pino({ level: 'silent' }),
    )
  }

  afterEach(() => live.close().catch(() => undefined))

  it('applies what is there in order, and is then caught up', async () => {
    start(event(10), event(20), event(30), 'caught-up')
    await live.caughtUp

    expect(applied).to.deep.equal([10, 20, 30])
    expect(live.position()).to.equal(30)
  })

  it('is not caught up before the log says so', async () => {
    start(event(10))
    await live.until(() => live.position() === 10)

    const first = await Promise.race([live.caughtUp.then(() => 'caught up'), nextTurn()])

    expect(first).to.equal('not yet')
  })

  it('goes on applying after it has caught up', async () => {
    start('caught-up')
    await live.caughtUp
    log.add(event(10), event(20))
    await live.until(() => applied.length === 2)

    expect(applied).to.deep.equal([10, 20])
  })

  it('tells every projection, and then those who wait', async () => {
    const order: string[] = []
    log = new ScriptedLog([])
    const note = (name: string) => ({ apply: () => order.push(name) })
    live = subscribeProjections(log, [note('first'), note('second')], pino({ level: 'silent' }))
    const waiting = live.until(() => live.position() === 10).then(() => order.push('waiter'))
    log.add(event(10))
    await waiting

    expect(order).to.deep.equal(['first', 'second', 'waiter'])
  })

  it('does not make wait for what has happened already', async () => {
    start(event(10), 'caught-up')
    await live.caughtUp

    await live.until(() => live.position() >= 10)
  })

  it('passes over events that only a newer node knows, and counts their positions', async () => {
    start(event(10), { ...event(20), type: 'InventedLater' }, event(30), 'caught-up')
    await live.caughtUp

    expect(applied).to.deep.equal([10, 30])
    expect(live.position()).to.equal(30)
  })

  it('comes back from where it was when the log was away, and applies nothing twice', async () => {
    start(event(10), event(20), away, event(30), away, away, 'caught-up', event(40))
    await live.caughtUp
    await live.until(() => live.position() === 40)

    expect(applied).to.deep.equal([10, 20, 30, 40])
    expect(log.followedFrom).to.deep.equal([0, 20, 30, 30])
  })

  it('says whether it follows or the log is away', async () => {
    start(event(10))
    await live.until(() => live.position() === 10)
    expect(live.state()).to.equal('catching-up')
    log.add('caught-up')
    await live.caughtUp
    expect(live.state()).to.equal('following')
    log.add(away)
    await passes(() => live.state() === 'away')
    log.add('caught-up')
    await passes(() => live.state() === 'following')
  })

  it('counts what it has taken, and what of it only a newer node can read', async () => {
    start(event(10), { ...event(20), type: 'InventedLater' }, 'caught-up')
    await live.caughtUp

    expect([live.received(), live.skipped()]).to.deep.equal([2, 1])
    expect(live.newest()?.position).to.equal(20)
  })

  it('tells of each event applied after it has caught up, and how long that took', async () => {
    start(event(10), 'caught-up')
    await live.caughtUp
    const heard: [number, number][] = []
    live.onApplied(({ position }, delayMs) => heard.push([position, delayMs]))
    const time = new Date(Date.now() - 200).toISOString()
    const ahead = new Date(Date.now() + 60_000).toISOString()
    log.add(at(event(20), time), { ...event(30), type: 'InventedLater' }, at(event(40), ahead))
    await live.until(() => live.position() === 40)

    expect(heard.map(([position]) => position)).to.deep.equal([20, 40])
    expect(heard[0]?.[1]).to.be.within(200, 2000)
    expect(heard[1]?.[1]).to.equal(0)
  })

  it('goes on from the position of a state that was loaded', async () => {
    log = new ScriptedLog([event(50), 'caught-up'])
    live = subscribeProjections(log, [], pino({ level: 'silent' }), 40)
    expect(live.position()).to.equal(40)
    await live.caughtUp

    expect(log.followedFrom).to.deep.equal([40])
    expect(live.position()).to.equal(50)
  })

  it('does not make wait for longer than one is ready to', async () => {
    start('caught-up')

    const error = await live.until(() => false, 20).catch((thrown) => thrown)

    expect(error).to.be.instanceOf(EventLogUnavailableError)
  })

  it('waits between two tries when the log ends at once, as one does that was closed', async () => {
    start(...Array<Step>(100).fill('end'))
    await new Promise((resolve) => setTimeout(resolve, 250))

    expect(log.followedFrom.length).to.be.within(2, 3)
  })

  it('ends when it is closed', async () => {
    start(event(10), 'caught-up')
    await live.caughtUp
    await live.close()

    await live.ended
    expect(log.followers).to.equal(0)
  })

  it('ends when it is closed while the log is away', async () => {
    start(...Array<Step>(50).fill(away))
    await nextTurn()
    await live.close()

    expect(log.followedFrom).to.deep.equal([0])
  })

  it('rejects `ended` when a projection throws, and applies nothing more', async () => {
    const broken = new Error('broken')
    const seen: number[] = []
    log = new ScriptedLog([event(10), event(20), event(30), 'caught-up'])
    const projection = {
      apply(_: unknown, { position }: RecordedEvent) {
        if (position === 20) throw broken
        seen.push(position)
      },
    }
    live = subscribeProjections(log, [projection], pino({ level: 'silent' }))

    expect(await live.ended.catch((error) => error)).to.equal(broken)
    expect(await live.caughtUp.catch((error) => error)).to.equal(broken)
    expect(seen).to.deep.equal([10])
    expect(log.followers).to.equal(0)
  })

  it('rejects `ended` when the log fails for another reason than being away', async () => {
    const broken = new Error('broken')
    start(event(10), broken)

    expect(await live.ended.catch((error) => error)).to.equal(broken)
  })
})

const away = new EventLogUnavailableError('away')

function event(position: number): RecordedEvent {
  return {
    stream: 'ids',
    revision: position / 10 - 1,
    position,
    type: 'IdsReserved',
    data: { first: position, count: 1 },
    metadata: { actor: 'system', time: '2025-03-01T10:00:00.123456Z', schema: 1 },
  }
}

/** The event as it was made at another time. */
function at(record: RecordedEvent, time: string): RecordedEvent {
  return { ...record, metadata: { ...record.metadata, time } }
}

/** Looks again at every turn of the event loop. */
async function passes(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}

function nextTurn(): Promise<string> {
  return new Promise((resolve) => setImmediate(resolve, 'not yet'))
}

/** Plays its steps one after the other, to one follower at a time; an error is thrown once and ends that follower. */
class ScriptedLog implements EventLog {
  readonly followedFrom: number[] = []
  followers = 0
  readonly #steps: Step[]
  #wake: () => void = () => undefined

  constructor(steps: readonly Step[]) {
    this.#steps = [...steps]
  }

  add(...steps: Step[]): void {
    this.#steps.push(...steps)
    this.#wake()
  }

  async *subscribe(from: number, signal: AbortSignal): AsyncGenerator<RecordedEvent | 'caught-up'> {
    this.followedFrom.push(from)
    this.followers += 1
    const woken = () => new Promise<void>((resolve) => (this.#wake = resolve))
    signal.addEventListener('abort', () => this.#wake())
    try {
      while (!signal.aborted) {
        const step = this.#steps.shift()
        if (step instanceof Error) throw step
        if (step === 'end') return
        if (step) yield step
        else await woken()
      }
    } finally {
      this.followers -= 1
    }
  }

  append(): never {
    throw new Error('nothing is appended here')
  }

  read(): never {
    throw new Error('nothing is read here')
  }

  deleteStream(): never {
    throw new Error('nothing is removed here')
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
