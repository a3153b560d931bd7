import { expect } from 'chai'
import { startThread } from '../../../../core/threads/thread.ts'
import {
  createWorkerPool,
  WorkerJobCancelledError,
  WorkerLimitError,
  type WorkerPool,
} from '../../../../core/threads/worker-pool.ts'

interface TestJob {
  readonly type: string
  readonly value: number
}

function createPool(maxThreads: number): WorkerPool<TestJob, number> {
  return createWorkerPool({
    start: () => startThread('./fixtures/pool-worker', import.meta.url),
    maxThreads,
  })
}

/** A client that disconnects when the test says so. */
function createClient() {
  let notify = (_: unknown) => {}
  const client = {
    isAborted: false,
    onAbort(listener: (reason: unknown) => void) {
      notify = listener
      return () => {}
    },
  }
  return { client, disconnect: () => notify(new Error('client disconnected')) }
}

describe('a worker pool', function () {
  this.timeout(180_000)

  const run = (
    pool: WorkerPool<TestJob, number>,
    owner: number,
    type = 'echo',
    value = 1,
    cpuLimitMs = 5000,
  ) => pool.run({ type, value }, { owner, cpuLimitMs }).then(({ result }) => result)

  async function expectError(promise: Promise<unknown>, expected: new (message: string) => Error) {
    const error = await promise.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(expected)
  }

  it('runs jobs and reports the CPU time of the thread', async () => {
    const pool = createPool(1)
    const { result, cpuMs } = await pool.run({ type: 'echo', value: 7 }, { owner: 1, cpuLimitMs: 1000 })
    expect(result).to.equal(7)
    expect(cpuMs).to.be.at.least(0)
  })

  it('serves the owners in turn', async () => {
    const pool = createPool(1)
    const order: number[] = []
    const jobs = [1, 1, 1, 1, 2, 2, 3].map((owner) =>
      run(pool, owner, 'wait', 1).then(() => order.push(owner)),
    )
    await Promise.all(jobs)
    expect(order).to.deep.equal([1, 2, 3, 1, 2, 1, 1])
  })

  it('gives an owner no more than one thread', async () => {
    const pool = createPool(2)
    const order: string[] = []
    const long = run(pool, 1, 'wait', 400).then(() => order.push('long'))
    const next = run(pool, 1).then(() => order.push('next'))
    const other = run(pool, 2).then(() => order.push('other'))
    await Promise.all([long, next, other])
    expect(order).to.deep.equal(['other', 'long', 'next'])
  })

  it('rejects a job that throws, reaches its limit or ends the thread, and goes on', async () => {
    const pool = createPool(1)
    await expectError(run(pool, 1, 'throw'), Error)
    await expectError(run(pool, 1, 'limit'), WorkerLimitError)
    await expectError(run(pool, 1, 'exit'), Error)
    expect(await run(pool, 1)).to.equal(1)
  })

  it('terminates a thread that does not stop at its limit, and replaces it', async () => {
    const pool = createPool(1)
    const stuck = expectError(run(pool, 1, 'loop', 0, 50), WorkerLimitError)
    const other = run(pool, 2)
    await stuck
    expect(await other).to.equal(1)
    expect(await run(pool, 1)).to.equal(1)
  })

  it('cancels the jobs of clients that disconnect, queued and running ones', async () => {
    const pool = createPool(1)
    await run(pool, 1)
    const running = createClient()
    const queued = createClient()
    const first = pool.run(
      { type: 'loop', value: 0 },
      { owner: 1, cpuLimitMs: 60_000, client: running.client },
    )
    const second = pool.run({ type: 'echo', value: 0 }, { owner: 1, cpuLimitMs: 1000, client: queued.client })
    const third = run(pool, 1)
    queued.disconnect()
    await expectError(second, WorkerJobCancelledError)
    running.disconnect()
    await expectError(first, WorkerJobCancelledError)
    expect(await third).to.equal(1)
  })

  it('does not start a job of a client that has disconnected', async () => {
    const client = { isAborted: true, onAbort: () => () => {} }
    const job = createPool(1).run({ type: 'echo', value: 1 }, { owner: 1, cpuLimitMs: 1000, client })
    await expectError(job, WorkerJobCancelledError)
  })
})
