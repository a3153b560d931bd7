import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { errorMessage } from '../../core/util/error-message.ts'
import type { ServingAddresses } from './messages.ts'
import { StartupError, type WorkerProcess } from './worker-process.ts'

/** The place of one worker, which is kept filled. */
export interface WorkerSlot {
  /** Starts a worker, and another when that dies, until one serves. Rejects with `StartRefused` when no other post is served. */
  start(): Promise<ServingAddresses>
  /** Starts another worker and lets the present one go, if there is one, when that serves. Rejects when it cannot; then all is as it was. */
  restart(): Promise<void>
  /** Lets the worker go and fills the place no more. */
  drain(): Promise<void>
  /** Fills the place no more. */
  close(): void
}

interface WorkerSlotOptions {
  readonly number: number
  readonly spawnWorker: (number: number) => WorkerProcess
  /** Resolves when the worker has ended, by force if need be; one that lingers may take longer. */
  readonly terminate: (worker: WorkerProcess, lingers: boolean) => Promise<void>
  /** Whether nobody else serves: a start that is refused is then the end. */
  readonly isLastServing: () => boolean
  /** Hears why, when nobody serves and nobody can. */
  readonly fail: (error: Error) => void
  /** Hears of every worker that has to be replaced because it died. */
  readonly onExit: () => void
  readonly logger: Logger
}

/** How long it waits before it replaces a worker that has hardly lived, in milliseconds. */
const WAIT_MS = { first: 250, most: 30_000 }

/** One that lived as long as this is replaced at once. */
const STEADY_MS = 10_000

export function createWorkerSlot(options: WorkerSlotOptions): WorkerSlot {
  const { number, spawnWorker, terminate, isLastServing, fail, onExit, logger } = options
  let holder: WorkerProcess | undefined
  let filling = new AbortController()
  let waitMs = 0

  async function start(): Promise<ServingAddresses> {
    const { signal } = filling
    for (;;) {
      await sleep(waitMs, undefined, { signal })
      const worker = spawnWorker(number)
      signal.addEventListener('abort', worker.stop, { once: true })
      try {
        const service = await worker.ready
        signal.throwIfAborted()
        hold(worker)
        return service
      } catch (error) {
        await terminate(worker, false)
        signal.throwIfAborted()
        if (error instanceof StartupError && isLastServing()) throw error
        lengthenWait()
        logger.error(
          { worker: number, reason: errorMessage(error), waitMs },
          'a worker did not start; trying again',
        )
      } finally {
        signal.removeEventListener('abort', worker.stop)
      }
    }
  }

  function hold(worker: WorkerProcess): void {
    holder = worker
    const since = performance.now()
    void worker.ended.then((how) => {
      if (holder !== worker || filling.signal.aborted) return
      holder = undefined
      onExit()
      if (performance.now() - since >= STEADY_MS) waitMs = 0
      else lengthenWait()
      logger.error(
        { worker: number, pid: worker.pid, how, waitMs },
        'a worker has died; another takes its place',
      )
      refill()
    })
  }

  function refill(): void {
    const { signal } = filling
    start().catch((error) => {
      if (!signal.aborted) fail(error)
    })
  }

  function lengthenWait(): void {
    waitMs = Math.min(Math.max(waitMs * 2, WAIT_MS.first), WAIT_MS.most)
  }

  async function restart(): Promise<void> {
    const { signal } = filling
    const next = spawnWorker(number)
    try {
      await next.ready
      signal.throwIfAborted()
    } catch (error) {
      await terminate(next, false)
      throw error
    }
    const former = holder
    filling.abort()
    filling = new AbortController()
    hold(next)
    if (former) await letGo(former)
  }

  async function letGo(worker: WorkerProcess): Promise<void> {
    worker.drain()
    await terminate(worker, true)
  }

  return {
    start: start,
    restart: restart,
    async drain() {
      filling.abort()
      if (holder) await letGo(holder)
    },
    close: () => filling.abort(),
  }
}
