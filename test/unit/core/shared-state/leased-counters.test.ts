import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { LeasedCounters } from '../../../../core/shared-state/leased-counters.ts'
import { createMemoryCounters } from '../../../../core/shared-state/memory.ts'
import type { SharedCounters } from '../../../../core/shared-state/shared-state.ts'
import { describeEachPlace } from '../../../support/shared-state.ts'

/** Counters of another process, which count how often they are called. */
function remoteCounters(delayMs?: number) {
  const memory = createMemoryCounters()
  const calls = { add: 0, giveBack: 0 }
  const later = async <Value>(value: Value) => {
    if (delayMs !== undefined) await sleep(delayMs)
    return value
  }
  const counters: SharedCounters = {
    async add(...args) {
      calls.add += 1
      return later(memory.add(...args))
    },
    async giveBack(...args) {
      calls.giveBack += 1
      return later(memory.giveBack(...args))
    },
    read: (key) => later(memory.read(key)),
  }
  return { counters, calls, memory }
}

/** Takes permits with this many concurrent clients until each has been refused. Returns how many it got. */
async function takeAll(leased: readonly LeasedCounters[], limit: number, clients: number, key = 'user') {
  let taken = 0
  const client = async (number: number) => {
    for (let turn = number; ; turn++) {
      const { total } = await (leased[turn % leased.length] as LeasedCounters).take(key, limit)
      if (total > limit) return
      taken += 1
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  return taken
}

describe('leased counters', () => {
  describeEachPlace((get) => {
    for (const limit of [60, 600, 5000]) {
      it(`admit ${limit} of 64 clients in three processes, not one more or less`, async () => {
        const leased = [0, 1, 2].map((index) => {
          const state = get()[index % get().length]
          return new LeasedCounters(state?.counters('leases') as SharedCounters, 60)
        })
        expect(await takeAll(leased, limit, 64, `user-${limit}`)).to.equal(limit)
        for (const one of leased) one.close()
      })
    }
  })

  it('ask rarely while the counter is far from its limit, and for single permits near it', async () => {
    const { counters, calls } = remoteCounters()
    const leased = new LeasedCounters(counters, 60, () => 0)
    for (let request = 0; request < 5000; request++)
      expect((await leased.take('user', 10_000)).total).to.equal(request + 1)
    expect(calls.add).to.be.below(150)
    for (let request = 5000; request < 9744; request++) await leased.take('user', 10_000)
    const before = calls.add
    for (let request = 9744; request < 10_000; request++)
      expect((await leased.take('user', 10_000)).total).to.equal(request + 1)
    expect(calls.add - before).to.be.within(240, 256)
    expect((await leased.take('user', 10_000)).total).to.be.above(10_000)
    leased.close()
  })

  it('are not asked for several permits by slow requests', async () => {
    let now = 0
    const { counters, calls, memory } = remoteCounters()
    const leased = new LeasedCounters(counters, 60, () => now)
    for (let request = 0; request < 20; request++) {
      await leased.take('user', 10_000)
      now += 200
    }
    expect(calls).to.deep.equal({ add: 20, giveBack: 0 })
    expect(memory.read('user').total).to.equal(20)
  })

  it('give back what an idle process does not use, for others to take', async () => {
    const { counters, calls, memory } = remoteCounters()
    const create = () => new LeasedCounters(counters, 60, () => 0)
    const [idle, busy] = [create(), create()]
    for (let request = 0; request < 10; request++) await idle.take('user', 1000)
    expect(memory.read('user').total).to.be.above(10)
    idle.giveBackIdle(0)
    await new Promise(setImmediate)
    expect(memory.read('user').total).to.equal(10)
    expect(calls.giveBack).to.equal(1)
    expect(await takeAll([busy], 1000, 8)).to.equal(990)
    busy.close()
  })

  it('use no permit of a window that has ended', async () => {
    const { counters, memory } = remoteCounters()
    const leased = new LeasedCounters(counters, 0.25)
    for (let request = 0; request < 10; request++) await leased.take('user', 1000)
    await sleep(260)
    expect((await leased.take('user', 1000)).total).to.equal(1)
    expect(memory.read('user').total).to.equal(1)
    leased.close()
  })

  it('apply a changed limit at once', async () => {
    const { counters } = remoteCounters()
    const leased = new LeasedCounters(counters, 60)
    for (let request = 0; request < 100; request++) await leased.take('user', 1000)
    expect((await leased.take('user', 50)).total).to.be.above(50)
    expect((await leased.take('user', 1000)).total).to.be.within(100, 140)
    leased.close()
  })

  it('reject while the counters are away, and go on afterwards', async () => {
    const { counters } = remoteCounters(1)
    let isAway = false
    const leased = new LeasedCounters(
      { ...counters, add: (...args) => (isAway ? Promise.reject(new Error('away')) : counters.add(...args)) },
      60,
    )
    await leased.take('user', 1000)
    isAway = true
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => leased.take('user', 1000)))
    expect(results.map(({ status }) => status)).to.deep.equal(Array(5).fill('rejected'))
    isAway = false
    expect((await leased.take('user', 1000)).total).to.be.within(2, 20)
    leased.close()
  })
})
