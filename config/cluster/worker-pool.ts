import type { Logger } from 'pino'
import type { ServingAddresses } from './messages.ts'
import type { WorkerProcess } from './worker-process.ts'
import { createWorkerSlot, type WorkerSlot } from './worker-slot.ts'

/** The workers of a primary. */
export interface WorkerPool {
  /** Starts so many workers; resolves when all serve. Rejects when one cannot, for a reason that somebody can mend. */
  start(count: number): Promise<ServingAddresses>
  /** Replaces one after the other, so that there are so many new ones. Rejects when one cannot start; the others go on. */
  rollingRestart(count: number): Promise<void>
  /** All that live, those that start or end included. */
  members(): readonly WorkerProcess[]
  /** Rejects when nobody serves and nobody can start. */
  readonly failed: Promise<never>
  isStopping(): boolean
  /** Lets all end with their running requests. */
  stop(): Promise<void>
}

interface WorkerPoolOptions {
  /** Starts the process of a worker. */
  readonly spawnWorker: (number: number) => WorkerProcess
  /** How long a worker may take to end, in milliseconds, one that lingers too; then it is killed. */
  readonly endLimitMs: (lingers: boolean) => number
  /** Hears why a worker is replaced. */
  readonly noteRestart: (reason: 'died' | 'renewed') => void
  readonly logger: Logger
}

export function createWorkerPool({
  spawnWorker,
  endLimitMs,
  noteRestart,
  logger,
}: WorkerPoolOptions): WorkerPool {
  const members = new Set<WorkerProcess>()
  const posts = new Map<number, WorkerSlot>()
  const stopping = new AbortController()
  let hasStarted = false
  let fail: (error: Error) => void = () => undefined
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  failed.catch(() => undefined)

  function take(number: number): WorkerProcess {
    const worker = spawnWorker(number)
    members.add(worker)
    void worker.ended.then(() => members.delete(worker))
    worker.ready.then(
      () => logger.info({ worker: number, pid: worker.pid }, 'a worker serves'),
      () => undefined,
    )
    return worker
  }

  async function terminate(worker: WorkerProcess, lingers: boolean): Promise<void> {
    const timer = setTimeout(() => {
      logger.error({ worker: worker.number, pid: worker.pid }, 'a worker does not end; it is killed')
      worker.kill()
    }, endLimitMs(lingers))
    await worker.ended
    clearTimeout(timer)
  }

  function postAt(number: number): WorkerSlot {
    stopping.signal.throwIfAborted()
    const post = createWorkerSlot({
      number,
      spawnWorker: take,
      terminate: terminate,
      isLastServing: () => !hasStarted || ![...members].some((worker) => worker.state() === 'serving'),
      fail: fail,
      onExit: () => noteRestart('died'),
      logger,
    })
    posts.set(number, post)
    return post
  }

  return {
    async start(count) {
      // The first one alone: what is wrong with the settings is then said once, and a new log gets its first user from one.
      const service = await postAt(1).start()
      await Promise.all(numbers(2, count).map((number) => postAt(number).start()))
      hasStarted = true
      return service
    },
    async rollingRestart(count) {
      for (const number of numbers(1, count)) {
        stopping.signal.throwIfAborted()
        const post = posts.get(number)
        await (post ?? postAt(number)).restart()
        if (post) noteRestart('renewed')
      }
      for (const [number, post] of posts) {
        if (number <= count) continue
        posts.delete(number)
        await post.drain()
      }
    },
    members: () => [...members],
    failed: failed,
    isStopping: () => stopping.signal.aborted,
    async stop() {
      stopping.abort()
      for (const post of posts.values()) post.close()
      const ending = [...members]
      for (const worker of ending) worker.stop()
      await Promise.all(ending.map((worker) => terminate(worker, false)))
    },
  }
}

function numbers(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, index) => from + index)
}
