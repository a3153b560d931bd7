import { expect } from 'chai'
import { HeldReservations } from '../../../../core/shared-state/held-reservations.ts'
import { createMemoryReservations } from '../../../../core/shared-state/memory-reservations.ts'
import type { ReservationEntry } from '../../../../core/shared-state/reservations.ts'
import { ReservationClient } from '../../../support/reservation-client.ts'
import { describeEachPlace } from '../../../support/shared-state.ts'
import { waitUntil } from '../../../support/wait.ts'

function entry(key: string, amount: number, limit: number | null, rest: Partial<ReservationEntry> = {}) {
  return { key, amount, limit, windowMs: 60_000, initial: 0, ...rest }
}

describe('reservations', () => {
  describeEachPlace((get) => {
    let clients: readonly ReservationClient[] = []
    before(async () => {
      clients = await Promise.all(get().map((state) => new ReservationClient(state.reservations('r')).join()))
    })
    const first = () => clients[0] as ReservationClient
    const last = () => clients.at(-1) as ReservationClient

    it('are granted up to the limit, concurrently, and never above it', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          (clients[index % clients.length] as ReservationClient).reserve([entry('storm', 7, 500)]),
        ),
      )
      const granted = outcomes.filter(({ result }) => result === 'granted')
      expect(granted.length).to.equal(Math.floor(500 / 7))
      const [use] = await last().state.read(['storm'])
      expect(use).to.include({ used: 0, reserved: 497 })
    })

    it('reserve all or none, and name the counter that is full', async () => {
      await first().reserve([entry('full', 10, 10)])
      const refused = await last().reserve([entry('free', 1, 10), entry('full', 1, 10), entry('other', 1, 1)])
      expect(refused).to.deep.include({ result: 'refused', index: 1 })
      expect(refused.counters[1]).to.include({ used: 0, reserved: 10 })
      expect(refused.counters[1]?.resetMs).to.be.within(1, 60_000)
      expect(await first().state.read(['free', 'other'])).to.deep.equal([null, null])
    })

    it('are replaced by what was used, less or more', async () => {
      const one = await first().reserve([entry('settled', 100, 150), entry('settled-too', 5, null)])
      await last().settle(one.open, [30, 9])
      const [use, other] = await first().state.read(['settled', 'settled-too'])
      expect(use).to.include({ used: 30, reserved: 0 })
      expect(other).to.include({ used: 9, reserved: 0 })
      expect((await last().reserve([entry('settled', 121, 150)])).result).to.equal('refused')
      expect((await last().reserve([entry('settled', 120, 150)])).result).to.equal('granted')
    })

    it('count exactly up to 9 million dollars in billionths', async () => {
      const limit = 9_000_000_000_000_000
      const one = await first().reserve([entry('large', limit - 3, limit)])
      await first().settle(one.open, [limit - 3])
      expect((await last().reserve([entry('large', 4, limit)])).result).to.equal('refused')
      const rest = await last().reserve([entry('large', 3, limit)])
      expect(rest.counters[0]).to.include({ used: limit - 3, reserved: 3 })
    })

    it('end by themselves, with the generation, unless they are renewed', async () => {
      const slot = entry('crash', 1, 2, { windowMs: null })
      const crashed = await first().reserve([slot], 50)
      await last().reserve([slot], 60)
      await waitUntil(async () => (await last().reserve([slot])).result === 'unknown')
      // What was not renewed in time is registered again by those who are alive.
      const { open } = crashed
      await first().rejoin([open])
      await last().rejoin([])
      expect(await first().reserve([slot])).to.deep.include({ result: 'granted' })
      expect((await last().state.read(['crash']))[0]).to.include({ used: 0, reserved: 2 })
      await first().settle(open, [1])
      await first().settle(open, [1])
      expect((await last().state.read(['crash']))[0]).to.include({ used: 1, reserved: 1 })
      expect((await last().reserve([slot])).result).to.equal('refused')
    })

    it('of an ended window count no longer, and settle nothing in the next', async () => {
      const short = [entry('window', 5, 5, { windowMs: 100 })]
      const old = await first().reserve(short)
      expect((await last().reserve(short)).result).to.equal('refused')
      let next = await last().reserve(short)
      await waitUntil(async () => {
        next = await last().reserve([entry('window', 1, 5)])
        return next.result === 'granted'
      })
      expect(next.counters[0]).to.include({ used: 0, reserved: 1 })
      await first().settle(old.open, [5])
      expect((await last().state.read(['window']))[0]).to.include({ used: 0, reserved: 1 })
    })

    it('need the sum of what was used before, which is set once', async () => {
      const unknown = { windowMs: null, initial: null }
      expect(await first().reserve([entry('a-known', 1, 9), entry('rebuilt', 1, 9, unknown)])).to.include({
        result: 'missing',
        index: 1,
      })
      expect(await first().state.read(['a-known', 'rebuilt'])).to.deep.equal([null, null])
      const known = await last().reserve([entry('rebuilt', 1, 9, { ...unknown, initial: 4 })])
      expect(known.counters[0]).to.include({ used: 4, reserved: 1 })
      const late = await first().reserve([entry('rebuilt', 1, 9, { ...unknown, initial: 8 })])
      expect(late.counters[0]).to.include({ used: 4, reserved: 2 })
    })

    it('leave nothing behind when nothing was used', async () => {
      const one = await first().reserve([entry('slots', 1, 1, { windowMs: null })])
      expect((await last().reserve([entry('slots', 1, 1, { windowMs: null })])).result).to.equal('refused')
      await first().settle(one.open, [0])
      expect(await last().state.read(['slots'])).to.deep.equal([null])
    })
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
})
