import { expect } from 'chai'
import { HeldReservations } from '../../../../core/shared-state/held-reservations.ts'
import { createMemoryReservations } from '../../../../core/shared-state/memory-reservations.ts'
import type { ReservationEntry, SharedReservations } from '../../../../core/shared-state/reservations.ts'
import { requireRedis } from '../../../support/redis.ts'
import { connectToRedis, describeEachPlace } from '../../../support/shared-state.ts'
import { waitUntil } from '../../../support/wait.ts'

const HOLD_MS = 60_000

let lastId = 0
const newId = () => `id-${++lastId}`

function entry(key: string, amount: number, limit: number | null, rest: Partial<ReservationEntry> = {}) {
  return { key, amount, limit, windowMs: 60_000, initial: 0, ...rest }
}

/** Reserves, and returns the outcome with the reservation to settle. */
async function reserve(state: SharedReservations, entries: readonly ReservationEntry[], holdMs = HOLD_MS) {
  const id = newId()
  const outcome = await state.reserve(id, entries, holdMs)
  const open = {
    id,
    entries: entries.map(({ key, amount }, index) => {
      return { key, amount, window: outcome.counters[index]?.window ?? 0 }
    }),
  }
  return { ...outcome, open }
}

describe('reservations', () => {
  describeEachPlace((get) => {
    const all = (namespace = 'r') => get().map((state) => state.reservations(namespace))
    const first = () => all()[0] as SharedReservations
    const last = () => all().at(-1) as SharedReservations

    it('are granted up to the limit, concurrently, and never above it', async () => {
      const shared = all()
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          reserve(shared[index % shared.length] as SharedReservations, [entry('storm', 7, 500)]),
        ),
      )
      const granted = outcomes.filter(({ result }) => result === 'granted')
      expect(granted.length).to.equal(Math.floor(500 / 7))
      const [use] = await last().read(['storm'])
      expect(use).to.include({ used: 0, reserved: 497 })
    })

    it('reserve all or none, and name the counter that is full', async () => {
      await reserve(first(), [entry('full', 10, 10)])
      const refused = await reserve(last(), [
        entry('free', 1, 10),
        entry('full', 1, 10),
        entry('other', 1, 1),
      ])
      expect(refused).to.deep.include({ result: 'refused', index: 1 })
      expect(refused.counters[1]).to.include({ used: 0, reserved: 10 })
      expect(refused.counters[1]?.resetMs).to.be.within(1, 60_000)
      expect(await first().read(['free', 'other'])).to.deep.equal([null, null])
    })

    it('are replaced by what was used, less or more', async () => {
      const one = await reserve(first(), [entry('settled', 100, 150), entry('settled-too', 5, null)])
      await last().settle(one.open, [30, 9])
      const [use, other] = await first().read(['settled', 'settled-too'])
      expect(use).to.include({ used: 30, reserved: 0 })
      expect(other).to.include({ used: 9, reserved: 0 })
      expect((await reserve(last(), [entry('settled', 121, 150)])).result).to.equal('refused')
      expect((await reserve(last(), [entry('settled', 120, 150)])).result).to.equal('granted')
    })

    it('count exactly up to 9 million dollars in billionths', async () => {
      const limit = 9_000_000_000_000_000
      const one = await reserve(first(), [entry('large', limit - 3, limit)])
      await first().settle(one.open, [limit - 3])
      expect((await reserve(last(), [entry('large', 4, limit)])).result).to.equal('refused')
      const rest = await reserve(last(), [entry('large', 3, limit)])
      expect(rest.counters[0]).to.include({ used: limit - 3, reserved: 3 })
    })

    it('end by themselves unless they are renewed', async () => {
      const crashed = await reserve(first(), [entry('crash', 1, 2, { windowMs: null })], 100)
      const alive = await reserve(first(), [entry('crash', 1, 2, { windowMs: null })], 100)
      await last().renew([alive.open], HOLD_MS)
      await waitUntil(async () => (await last().read(['crash']))[0]?.reserved === 1)
      await first().settle(crashed.open, [1])
      expect((await last().read(['crash']))[0]).to.include({ used: 1, reserved: 1 })
      expect((await reserve(last(), [entry('crash', 1, 2, { windowMs: null })])).result).to.equal('refused')
    })

    it('of an ended window count no longer, and settle nothing in the next', async () => {
      const short = [entry('window', 5, 5, { windowMs: 100 })]
      const old = await reserve(first(), short)
      expect((await reserve(last(), short)).result).to.equal('refused')
      let next = await reserve(last(), short)
      await waitUntil(async () => {
        next = await reserve(last(), [entry('window', 1, 5)])
        return next.result === 'granted'
      })
      expect(next.counters[0]).to.include({ used: 0, reserved: 1 })
      await first().settle(old.open, [5])
      expect((await last().read(['window']))[0]).to.include({ used: 0, reserved: 1 })
    })

    it('need the sum of what was used before, which is set once', async () => {
      const unknown = { windowMs: null, initial: null }
      expect(await reserve(first(), [entry('a-known', 1, 9), entry('rebuilt', 1, 9, unknown)])).to.include({
        result: 'missing',
        index: 1,
      })
      expect(await first().read(['a-known', 'rebuilt'])).to.deep.equal([null, null])
      const known = await reserve(last(), [entry('rebuilt', 1, 9, { ...unknown, initial: 4 })])
      expect(known.counters[0]).to.include({ used: 4, reserved: 1 })
      const late = await reserve(first(), [entry('rebuilt', 1, 9, { ...unknown, initial: 8 })])
      expect(late.counters[0]).to.include({ used: 4, reserved: 2 })
    })

    it('leave nothing behind when nothing was used', async () => {
      const one = await reserve(first(), [entry('slots', 1, 1, { windowMs: null })])
      expect((await reserve(last(), [entry('slots', 1, 1, { windowMs: null })])).result).to.equal('refused')
      await first().settle(one.open, [0])
      expect(await last().read(['slots'])).to.deep.equal([null])
    })
  })
})

describe('reservations in Redis that loses its data', () => {
  it('count in the same window of the counters that take their place', async function () {
    const redis = await requireRedis(this)
    const shared = await connectToRedis(redis.url)
    const state = shared.reservations('r')
    const { open } = await reserve(state, [entry('day', 5, 10)])
    await redis.client.flushall()
    // Its end is computed again, at another time.
    const again = await reserve(state, [entry('day', 2, 10, { windowMs: 59_000, initial: 1 })])
    expect(again.counters[0]).to.include({ used: 1, reserved: 2 })
    await state.settle(open, [4])
    expect((await state.read(['day']))[0]).to.include({ used: 5, reserved: 2 })
    await shared.close()
    await redis.stop()
  })
})

describe('held reservations', () => {
  const client = { isAborted: false, onAbort: () => () => undefined }
  const slot = [entry('slot', 1, 1, { windowMs: null })]

  it('wait for each other in the order of arrival', async () => {
    const held = new HeldReservations(createMemoryReservations())
    const one = await held.reserve(slot, { waitMs: 0, client })
    const order: number[] = []
    const waiting = [1, 2, 3].map(async (number) => {
      const { hold } = await held.reserve(slot, { waitMs: 5000, client })
      order.push(number)
      hold?.settle([0])
    })
    one.hold?.settle([0])
    await Promise.all(waiting)
    expect(order).to.deep.equal([1, 2, 3])
    held.close()
  })

  it('wait for those of other processes, and not for what is used up', async () => {
    const shared = createMemoryReservations()
    const [mine, other] = [new HeldReservations(shared), new HeldReservations(shared)]
    const theirs = await other.reserve([entry('two', 6, 10)], { waitMs: 0, client })
    const waiting = mine.reserve([entry('two', 6, 10)], { waitMs: 5000, client })
    theirs.hold?.settle([4])
    expect((await waiting).hold).not.to.equal(undefined)
    const refused = await mine.reserve([entry('two', 7, 10)], { waitMs: 60_000, client })
    expect(refused).to.include({ refusedBy: 0, isTemporary: false })
    const busy = await mine.reserve([entry('two', 6, 10)], { waitMs: 30, client })
    expect(busy).to.include({ refusedBy: 0, isTemporary: true })
  })

  it('record what was used once the shared state is available again', async () => {
    const shared = createMemoryReservations()
    let isAway = false
    const held = new HeldReservations({
      ...shared,
      settle(...args) {
        if (isAway) return Promise.reject(new Error('away'))
        return shared.settle(...args)
      },
    })
    const { hold } = await held.reserve([entry('later', 5, 10)], { waitMs: 0, client })
    isAway = true
    hold?.settle([4])
    await new Promise(setImmediate)
    isAway = false
    held.repeatFailed()
    expect(shared.read(['later'])[0]).to.include({ used: 4, reserved: 0 })
    held.close()
  })
})
