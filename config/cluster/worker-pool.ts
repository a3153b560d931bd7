import type { Logger } from 'pino'
import type { RestartReason } from './aggregate-metrics.ts'
import type { ServingAddresses } from './messages.ts'
import type { WorkerProcess } from './worker-process.ts'
import { createWorkerSlot, type WorkerSlot } from './worker-slot.ts'

/** The workers of a primary. */
export interface WorkerPool {
  /**
   * Starts this many workers. Resolves when all of them serve. Rejects with a `StartupError` if one cannot
   * start.
   */
  start(count: number): Promise<ServingAddresses>
  /**
   * Replaces one worker after the other and adjusts their number. Rejects if one cannot start; the others
   * stay.
   */
  rollingRestart(count: number): Promise<void>
  /** All living workers, including those that are starting or draining. */
  workers(): readonly WorkerProcess[]
  /** Rejects when no worker serves and none can start. */
  readonly failed: Promise<never>
  isStopping(): boolean
  /** Stops all workers once their requests in flight have finished. */
  stop(): Promise<void>
}

interface WorkerPoolOptions {
  readonly spawnWorker: (number: number) => WorkerProcess
  /** Milliseconds until a worker that does not exit is killed. Longer for one that drains. */
  readonly exitTimeoutMs: (isDraining: boolean) => number
  readonly countRestart: (reason: RestartReason) => void
  readonly logger: Logger
}

export function createWorkerPool({
  spawnWorker,
  exitTimeoutMs,
  countRestart,
  logger,
}: WorkerPoolOptions): WorkerPool {
  const workers = new Set<WorkerProcess>()
  const slots = new Map<number, WorkerSlot>()
  const stopping = new AbortController()
  let hasStarted = false
  let fail: (error: Error) => void = () => undefined
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  failed.catch(() => undefined)

  function spawn(number: number): WorkerProcess {
    const worker = spawnWorker(number)
    workers.add(worker)
    void worker.exited.then(() => workers.delete(worker))
    worker.ready.then(
      () => logger.info({ worker: number, pid: worker.pid }, 'worker ready'),
      () => undefined,
    )
    return worker
  }

  async function terminate(worker: WorkerProcess, isDraining: boolean): Promise<void> {
    const timer = setTimeout(() => {
      logger.error({ worker: worker.number, pid: worker.pid }, 'worker did not exit in time; killing it')
      worker.kill()
    }, exitTimeoutMs(isDraining))
    await worker.exited
    clearTimeout(timer)
  }

  function createSlot(number: number): WorkerSlot {
    stopping.signal.throwIfAborted()
    const slot = createWorkerSlot({
      number,
      spawnWorker: spawn,
      terminate,
      isLastServing: () => !hasStarted || ![...workers].some((worker) => worker.state() === 'serving'),
      fail,
      onExit: () => countRestart('exited'),
      logger,
    })
    slots.set(number, slot)
    return slot
  }

  return {
    async start(count) {
      // The first worker starts alone: invalid settings are reported once, and only one creates the demo
      // user.
      const addresses = await createSlot(1).start()
      await Promise.all(range(2, count).map((number) => createSlot(number).start()))
      hasStarted = true
      return addresses
    },
    async rollingRestart(count) {
      for (const number of range(1, count)) {
        stopping.signal.throwIfAborted()
        const slot = slots.get(number)
        await (slot ?? createSlot(number)).restart()
        if (slot) countRestart('restarted')
      }
      for (const [number, slot] of slots) {
        if (number <= count) continue
        slots.delete(number)
        await slot.drain()
      }
    },
    workers: () => [...workers],
    failed,
    isStopping: () => stopping.signal.aborted,
    async stop() {
      stopping.abort()
      for (const slot of slots.values()) slot.close()
      const remaining = [...workers]
      for (const worker of remaining) worker.stop()
      await Promise.all(remaining.map((worker) => terminate(worker, false)))
    },
  }
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, index) => from + index)
}
