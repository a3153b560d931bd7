import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { errorMessage } from '../../core/util/error-message.ts'
import type { ServingAddresses } from './messages.ts'
import { StartupError, type WorkerProcess } from './worker-process.ts'

/** Keeps one worker running: a worker that exits is replaced. */
export interface WorkerSlot {
  /**
   * Starts a worker and retries with backoff until one serves. Rejects with a `StartupError` if the worker
   * reports that it cannot start and no other worker serves.
   */
  start(): Promise<ServingAddresses>
  /**
   * Starts a replacement and drains the current worker once it is ready. If it fails to start, the current
   * worker stays.
   */
  restart(): Promise<void>
  /** Drains the current worker without a replacement. Resolves when it has exited. */
  drain(): Promise<void>
  /** Stops replacing the worker. */
  close(): void
}

interface WorkerSlotOptions {
  readonly number: number
  readonly spawnWorker: (number: number) => WorkerProcess
  /**
   * Resolves when the worker has exited; kills it after a timeout, which is longer for a worker that drains.
   */
  readonly terminate: (worker: WorkerProcess, isDraining: boolean) => Promise<void>
  /** Whether no other worker serves. A failed start is then reported instead of retried. */
  readonly isLastServing: () => boolean
  /** Called with the reason when no worker serves and the replacement cannot start. */
  readonly fail: (error: Error) => void
  /** Called when a worker that served has exited unexpectedly. */
  readonly onExit: () => void
  readonly logger: Logger
}

/** The delay before a worker that exited early is replaced, in milliseconds. It doubles each time. */
const BACKOFF_MS = { initial: 250, max: 30_000 }

/** A worker that has served for this long is replaced without delay, in milliseconds. */
const STABLE_MS = 10_000

export function createWorkerSlot(options: WorkerSlotOptions): WorkerSlot {
  const { number, spawnWorker, terminate, isLastServing, fail, onExit, logger } = options
  let current: WorkerProcess | undefined
  let starting = new AbortController()
  let delayMs = 0

  async function start(): Promise<ServingAddresses> {
    const { signal } = starting
    for (;;) {
      await sleep(delayMs, undefined, { signal })
      const worker = spawnWorker(number)
      signal.addEventListener('abort', worker.stop, { once: true })
      try {
        const addresses = await worker.ready
        signal.throwIfAborted()
        watch(worker)
        return addresses
      } catch (error) {
        await terminate(worker, false)
        signal.throwIfAborted()
        if (error instanceof StartupError && isLastServing()) throw error
        increaseDelay()
        const reason = errorMessage(error)
        logger.error({ worker: number, reason, delayMs }, 'worker failed to start; retrying')
      } finally {
        signal.removeEventListener('abort', worker.stop)
      }
    }
  }

  function watch(worker: WorkerProcess): void {
    current = worker
    const startedAt = performance.now()
    void worker.exited.then((exit) => {
      if (current !== worker || starting.signal.aborted) return
      current = undefined
      onExit()
      if (performance.now() - startedAt >= STABLE_MS) delayMs = 0
      else increaseDelay()
      logger.error({ worker: number, pid: worker.pid, exit, delayMs }, 'worker exited; restarting')
      replace()
    })
  }

  function replace(): void {
    const { signal } = starting
    start().catch((error) => {
      if (!signal.aborted) fail(error)
    })
  }

  function increaseDelay(): void {
    delayMs = Math.min(Math.max(delayMs * 2, BACKOFF_MS.initial), BACKOFF_MS.max)
  }

  async function restart(): Promise<void> {
    const { signal } = starting
    const next = spawnWorker(number)
    try {
      await next.ready
      signal.throwIfAborted()
    } catch (error) {
      await terminate(next, false)
      throw error
    }
    const previous = current
    starting.abort()
    starting = new AbortController()
    watch(next)
    if (previous) await drainWorker(previous)
  }

  async function drainWorker(worker: WorkerProcess): Promise<void> {
    worker.drain()
    await terminate(worker, true)
  }

  return {
    start,
    restart,
    async drain() {
      starting.abort()
      if (current) await drainWorker(current)
    },
    close: () => starting.abort(),
  }
}
