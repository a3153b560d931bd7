import { expect } from 'chai'
import { pino } from 'pino'
import { connectToPrimary } from '../../../../config/cluster/primary-connection.ts'
import type { PrimaryMethods, WorkerMethods } from '../../../../config/cluster/rpc-methods.ts'
import { createRpcPeer } from '../../../../core/process/rpc.ts'
import { createMemoryCounter, type RequestCounter } from '../../../../plugins/rate-limit/counter.ts'
import { formatDuration } from '../../../../plugins/rate-limit/plugin.ts'
import { openRedisCounter } from '../../../../plugins/rate-limit/redis-counter.ts'
import { type RunningRedis, startRedis } from '../../../support/redis.ts'
import { skip } from '../../../support/skip.ts'
import { pairOfWires } from '../../../support/wires.ts'

const LIMIT = 50

/** Counts with 64 concurrent clients until three windows are full. Returns how often each count occurred. */
async function countConcurrently(counters: readonly RequestCounter[]): Promise<readonly number[]> {
  const times: number[] = []
  const isOver = () => times[LIMIT + 1] === 3
  const client = async (number: number) => {
    while (!isOver()) {
      const { used } = await (counters[number % counters.length] as RequestCounter).count(1)
      times[used] = (times[used] ?? 0) + 1
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  await Promise.all(Array.from({ length: 64 }, (_, number) => client(number)))
  return times.slice(1, LIMIT + 1)
}

function describeCounter(name: string, open: () => Promise<readonly RequestCounter[] | undefined>): void {
  describe(name, () => {
    let counters: readonly RequestCounter[]
    before(async function () {
      const opened = await open()
      if (opened === undefined) skip(this, 'redis-server is not installed')
      counters = opened
    })
    after(() => Promise.all((counters ?? []).map((counter) => counter.close())))

    it('returns a unique count for every request of a window, separately per user', async () => {
      const counts = await Promise.all(
        Array.from({ length: 100 }, (_, index) => counters[index % counters.length]?.count(2)),
      )
      const numbers = counts.map((count) => count?.used ?? 0).sort((a, b) => a - b)
      expect(numbers).to.deep.equal(Array.from({ length: 100 }, (_, index) => index + 1))
      expect((await counters[0]?.count(3))?.used).to.equal(1)
    })

    it('returns the time until the window ends', async () => {
      expect((await counters[0]?.count(4))?.resetMs).to.be.within(1, 1000)
    })

    it('returns each count up to the limit exactly once per window', async () => {
      expect(await countConcurrently(counters)).to.deep.equal(Array(LIMIT).fill(3))
    })
  })
}

describe('request counter', () => {
  let redis: RunningRedis | undefined
  after(() => redis?.stop())

  describeCounter('in memory', async () => [createMemoryCounter(1)])
  describeCounter('in the primary process, used by two workers', async () => {
    const counter = createMemoryCounter(1)
    return [1, 2].map(() => {
      const [ofPrimary, ofWorker] = pairOfWires()
      createRpcPeer<WorkerMethods, Pick<PrimaryMethods, 'count'>>(ofPrimary, {
        count: ({ userId }) => counter.count(userId),
      })
      const assignment = { number: 1, port: 0, routePort: 0, sandboxUrl: undefined }
      return connectToPrimary(ofWorker, assignment).counter
    })
  })
  describeCounter('in Redis, used by two connections', async () => {
    redis = await startRedis()
    if (redis === undefined) return undefined
    const options = { url: redis.url, timeoutMs: 2000, windowSeconds: 1 }
    const logger = pino({ level: 'silent' })
    return Promise.all([openRedisCounter(options, logger), openRedisCounter(options, logger)])
  })

  it("formats durations like OpenAI's headers", () => {
    expect([1, 59, 60, 61, 360].map(formatDuration)).to.deep.equal(['1s', '59s', '1m0s', '1m1s', '6m0s'])
  })
})
