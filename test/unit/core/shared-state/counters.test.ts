import { expect } from 'chai'
import { createMemoryCounters, MAX_COUNTERS } from '../../../../core/shared-state/memory.ts'
import { createPluginServices } from '../../../../core/shared-state/plugin-services.ts'
import { describeEachPlace } from '../../../support/shared-state.ts'
import { waitUntil } from '../../../support/wait.ts'

const LIMIT = 50

describe('counters', () => {
  describeEachPlace((get) => {
    /** The counters of one plugin, as each process sees them. */
    const counters = (plugin = 'a') => get().map((state) => createPluginServices(state, plugin).counters)
    const [first, last] = [() => counters()[0], () => counters().at(-1)]

    it('return a unique total for every addition in a window, separately per key', async () => {
      const shared = counters()
      const values = await Promise.all(
        Array.from({ length: 100 }, (_, index) => shared[index % shared.length]?.add('storm', 1, 60)),
      )
      const totals = values.map((value) => value?.total ?? 0).sort((a, b) => a - b)
      expect(totals).to.deep.equal(Array.from({ length: 100 }, (_, index) => index + 1))
      expect((await first()?.add('other', 1, 60))?.total).to.equal(1)
      expect((await last()?.read('storm'))?.total).to.equal(100)
    })

    it('return each total up to a limit exactly once per window', async () => {
      const shared = counters()
      const times: number[] = [0]
      const begun = performance.now()
      // Until a third window has begun.
      const isOver = () => times[1] === 3
      const client = async (number: number) => {
        while (!isOver()) {
          const total = (await shared[number % shared.length]?.add('windows', 1, 0.25))?.total ?? 0
          times[total] = (times[total] ?? 0) + 1
          await new Promise((resolve) => setTimeout(resolve, 2))
        }
      }
      await Promise.all(Array.from({ length: 64 }, (_, number) => client(number)))
      expect(performance.now() - begun).to.be.at.least(490)
      // A window may have any number of totals, on a slow machine. One that is returned twice in a window is
      // returned more often than the one before it; one that is left out, less often than the one behind it.
      const inOrder = Array.from({ length: LIMIT }, (_, index) => times[index + 1] ?? 0)
      expect(inOrder).to.deep.equal(inOrder.toSorted((a, b) => b - a))
    })

    it('add fractions and negative amounts', async () => {
      await first()?.add('spend', 0.25, 60)
      await last()?.add('spend', 1.5, 60)
      expect((await first()?.add('spend', -0.75, 60))?.total).to.equal(1)
      expect((await last()?.add('spend', 1e-9, 60))?.total).to.be.closeTo(1 + 1e-9, 1e-15)
    })

    it('keep the window of the first addition', async () => {
      const opened = await first()?.add('window', 1, 60)
      expect(opened?.resetMs).to.be.within(50_000, 60_000)
      expect((await last()?.add('window', 1, 3600))?.resetMs).to.be.at.most(opened?.resetMs ?? 0)
      expect((await last()?.read('window'))?.resetMs).to.be.within(50_000, opened?.resetMs ?? 0)
    })

    it('are 0 before the first addition and after the window', async () => {
      expect(await first()?.read('none')).to.deep.equal({ total: 0, resetMs: 0 })
      await first()?.add('short', 5, 0.05)
      await waitUntil(async () => (await last()?.read('short'))?.total === 0)
      expect(await last()?.read('short')).to.deep.equal({ total: 0, resetMs: 0 })
      expect((await last()?.add('short', 1, 60))?.total).to.equal(1)
    })

    it('are separate for each plugin', async () => {
      await first()?.add('mine', 1, 60)
      expect((await counters('b')[0]?.read('mine'))?.total).to.equal(0)
      await counters('a:b')[0]?.add('c', 1, 60)
      expect((await first()?.read('b:c'))?.total).to.equal(0)
    })

    it('refuse invalid parameters', async () => {
      const invalid = [
        ['', 1, 60, 'key must be a string of 1 to 512 characters'],
        ['x'.repeat(513), 1, 60, 'key must be a string'],
        ['key', Number.NaN, 60, 'amount must be a finite number, not NaN'],
        ['key', 1, 0, 'windowSeconds must be more than 0'],
        ['key', 1, Number.NaN, 'windowSeconds must be more than 0'],
        ['key', 1, 1e9, 'and at most 31708800 (367 days), not 1000000000'],
      ] as const
      for (const [key, amount, seconds, message] of invalid) {
        const error = await first()
          ?.add(key, amount, seconds)
          .then(
            () => expect.fail(message),
            (thrown: Error) => thrown,
          )
        expect(error?.message).to.contain(message)
      }
    })
  })

  it('in memory drop the oldest windows when there are too many', () => {
    const counters = createMemoryCounters()
    counters.add('first', 1, 60)
    for (let number = 0; number <= MAX_COUNTERS; number++) counters.add(`key ${number}`, 1, 60)
    expect(counters.read('first').total).to.equal(0)
    expect(counters.read(`key ${MAX_COUNTERS}`).total).to.equal(1)
    expect(counters.read(`key ${MAX_COUNTERS / 2}`).total).to.equal(1)
  })
})
