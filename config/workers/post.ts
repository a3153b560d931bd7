import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { messageOf } from '../../core/reason.ts'
import type { Service } from './messages.ts'
import { StartRefused, type WorkerProcess } from './worker-process.ts'

/** The place of one worker, which is kept filled. */
export interface Post {
  /** Starts a worker, and another when that dies, until one serves. Rejects with `StartRefused` when no other post is served. */
  fill(): Promise<Service>
  /** Starts another worker and lets the present one go, if there is one, when that serves. Rejects when it cannot; then all is as it was. */
  renew(): Promise<void>
  /** Lets the worker go and fills the place no more. */
  leave(): Promise<void>
  /** Fills the place no more. */
  close(): void
}

export interface PostOptions {
  readonly number: number
  readonly hire: (number: number) => WorkerProcess
  /** Resolves when the worker has ended, by force if need be; one that lingers may take longer. */
  readonly dismiss: (worker: WorkerProcess, lingers: boolean) => Promise<void>
  /** Whether nobody else serves: a start that is refused is then the end. */
  readonly isAlone: () => boolean
  /** Hears why, when nobody serves and nobody can. */
  readonly giveUp: (error: Error) => void
  /** Hears of every worker that has to be replaced because it died. */
  readonly noteDeath: () => void
  readonly logger: Logger
}

/** How long it waits before it replaces a worker that has hardly lived, in milliseconds. */
const WAIT_MS = { first: 250, most: 30_000 }

/** One that lived as long as this is replaced at once. */
const STEADY_MS = 10_000

export function createPost(options: PostOptions): Post {
  const { number, hire, dismiss, isAlone, giveUp, noteDeath, logger } = options
  let holder: WorkerProcess | undefined
  let filling = new AbortController()
  let waitMs = 0

  async function fill(): Promise<Service> {
    const { signal } = filling
    for (;;) {
      await sleep(waitMs, undefined, { signal })
      const worker = hire(number)
      signal.addEventListener('abort', worker.stop, { once: true })
      try {
        const service = await worker.ready
        signal.throwIfAborted()
        hold(worker)
        return service
      } catch (error) {
        await dismiss(worker, false)
        signal.throwIfAborted()
        if (error instanceof StartRefused && isAlone()) throw error
        lengthenWait()
        logger.error(
          { worker: number, reason: messageOf(error), waitMs },
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
      noteDeath()
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
    fill().catch((error) => {
      if (!signal.aborted) giveUp(error)
    })
  }

  function lengthenWait(): void {
    waitMs = Math.min(Math.max(waitMs * 2, WAIT_MS.first), WAIT_MS.most)
  }

  async function renew(): Promise<void> {
    const { signal } = filling
    const next = hire(number)
    try {
      await next.ready
      signal.throwIfAborted()
    } catch (error) {
      await dismiss(next, false)
      throw error
    }
    const former = holder
    filling.abort()
    filling = new AbortController()
    hold(next)
    if (former) await letGo(former)
  }

  async function letGo(worker: WorkerProcess): Promise<void> {
    worker.retire()
    await dismiss(worker, true)
  }

  return {
    fill,
    renew,
    async leave() {
      filling.abort()
      if (holder) await letGo(holder)
    },
    close: () => filling.abort(),
  }
}
