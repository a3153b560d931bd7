import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { exponentialBackoff, retry } from '../../core/threads/retry.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { StartupError, type WorkerProcess } from './worker-process.ts'

interface WorkerSlotOptions<Service> {
  readonly number: number
  readonly spawn: (number: number) => WorkerProcess<Service>
  /**
   * Resolves when the worker has exited; kills it after a timeout, which is longer for a worker that drains.
   */
  readonly terminate: (worker: WorkerProcess<Service>, isDraining: boolean) => Promise<void>
  /** Whether no other worker serves. A failed start is then reported instead of retried. */
  readonly isLastServing: () => boolean
  /** Called with the reason when no worker serves and the replacement cannot start. */
  readonly fail: (error: Error) => void
  /** Called when a worker that served has exited unexpectedly. */
  readonly onExit: () => void
  readonly logger: Logger
}

/** A worker that has served for this long is replaced without delay, in milliseconds. */
const STABLE_MS = 10_000

/**
 * Keeps one worker running: a worker that exits is replaced. See docs/decisions/cluster.md, "A failed worker
 * start ends the program only when no worker serves".
 */
export class WorkerSlot<Service> {
  readonly #options: WorkerSlotOptions<Service>
  /** Before a worker that failed to start, or exited early, is replaced. */
  readonly #backoff = exponentialBackoff({ firstMs: 250, maxMs: 30_000 })
  #current: WorkerProcess<Service> | undefined
  /** Whether the last worker exited before it was stable. */
  #exitedEarly = false
  /** Aborts the loop that starts workers. Replaced by a restart. */
  #starting = new AbortController()

  constructor(options: WorkerSlotOptions<Service>) {
    this.#options = options
  }

  /**
   * Starts a worker and retries with backoff until one serves. Rejects with a `StartupError` if the worker
   * reports that it cannot start and no other worker serves.
   */
  start(): Promise<Service> {
    const { number, isLastServing, logger } = this.#options
    const { signal } = this.#starting
    return retry(() => this.#startOnce(signal), {
      backoff: this.#backoff,
      signal,
      shouldRetry: (error) => !(error instanceof StartupError && isLastServing()),
      onRetry: (error, delayMs) =>
        logger.error(
          { worker: number, reason: errorMessage(error), delayMs },
          'worker failed to start; retrying',
        ),
    })
  }

  async #startOnce(signal: AbortSignal): Promise<Service> {
    const { number, spawn, terminate } = this.#options
    const worker = spawn(number)
    const stop = () => worker.stop()
    signal.addEventListener('abort', stop, { once: true })
    try {
      const service = await worker.ready
      signal.throwIfAborted()
      this.#watch(worker)
      return service
    } catch (error) {
      await terminate(worker, false)
      signal.throwIfAborted()
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /**
   * Starts a replacement and drains the current worker once it is ready. If it fails to start, the current
   * worker stays.
   */
  async restart(): Promise<void> {
    const { number, spawn, terminate } = this.#options
    const { signal } = this.#starting
    const next = spawn(number)
    try {
      await next.ready
      signal.throwIfAborted()
    } catch (error) {
      await terminate(next, false)
      throw error
    }
    const previous = this.#current
    this.#starting.abort()
    this.#starting = new AbortController()
    this.#watch(next)
    if (previous) await this.#drainWorker(previous)
  }

  /** Drains the current worker without a replacement. Resolves when it has exited. */
  async drain(): Promise<void> {
    this.close()
    if (this.#current) await this.#drainWorker(this.#current)
  }

  /** Stops replacing the worker. The current worker keeps running. */
  close(): void {
    this.#starting.abort()
  }

  #watch(worker: WorkerProcess<Service>): void {
    const { number, onExit, logger } = this.#options
    this.#current = worker
    const startedAt = performance.now()
    void worker.exited.then((exit) => {
      if (this.#current !== worker || this.#starting.signal.aborted) return
      this.#current = undefined
      onExit()
      const isStable = performance.now() - startedAt >= STABLE_MS
      if (isStable) this.#backoff.reset()
      const delayMs = isStable || !this.#exitedEarly ? 0 : this.#backoff.nextMs()
      this.#exitedEarly = !isStable
      logger.error({ worker: number, pid: worker.pid, exit, delayMs }, 'worker exited; restarting')
      this.#replace(delayMs)
    })
  }

  #replace(delayMs: number): void {
    const { signal } = this.#starting
    sleep(delayMs, undefined, { signal })
      .then(() => this.start())
      .catch((error) => {
        if (!signal.aborted) this.#options.fail(error)
      })
  }

  async #drainWorker(worker: WorkerProcess<Service>): Promise<void> {
    worker.drain()
    await this.#options.terminate(worker, true)
  }
}
