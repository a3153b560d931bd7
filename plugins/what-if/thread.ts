import type { Worker } from 'node:worker_threads'
import type { RpcHandlers } from '../../core/threads/rpc.ts'
import { createIdleThread } from '../../core/threads/thread.ts'
import type { WhatIfHostMethods, WhatIfJob, WhatIfOutcome, WhatIfThreadMethods } from './job.ts'

/** What a job needs from the process that starts it. */
export interface WhatIfRun {
  readonly job: WhatIfJob
  readonly handlers: RpcHandlers<WhatIfHostMethods>
  readonly signal: AbortSignal
}

/** Evaluates jobs one after the other, in a thread of its own that ends when it is idle. */
export interface WhatIfThread {
  /** Rejects with the signal's reason if it aborts, and with a `WhatIfBusyError` if too many jobs wait. */
  run(run: WhatIfRun): Promise<WhatIfOutcome>
  close(): Promise<void>
}

/** Too many jobs wait. */
export class WhatIfBusyError extends Error {}

/** The longest job: 10,000 long prompts under many rules. */
const RUN_TIMEOUT_MS = 300_000

/** A cancelled job that has not ended after this time takes its thread with it. */
const CANCEL_TIMEOUT_MS = 2000

/** A thread keeps some 100 MB. The next job of somebody who is editing finds it ready. */
const IDLE_MS = 60_000

/** Jobs that wait for another one. */
const MAX_WAITING = 4

export function createWhatIfThread(startWorker: () => Worker): WhatIfThread {
  let queue: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let handlers: RpcHandlers<WhatIfHostMethods> | undefined
  const current = () => {
    if (handlers === undefined) throw new Error('no job is running')
    return handlers
  }
  const thread = createIdleThread<WhatIfThreadMethods, WhatIfHostMethods>({
    startWorker,
    handlers: {
      callers: (params) => current().callers(params),
      replies: (params) => current().replies(params),
      progress: (params) => current().progress(params),
    },
    idleMs: IDLE_MS,
  })

  function execute(run: WhatIfRun): Promise<WhatIfOutcome> {
    const { job, signal } = run
    signal.throwIfAborted()
    return thread.use(async (peer) => {
      handlers = run.handlers
      const cancel = () => void peer.request('cancel', {}, CANCEL_TIMEOUT_MS).catch(thread.stop)
      signal.addEventListener('abort', cancel, { once: true })
      try {
        const outcome = await peer.request('run', job, RUN_TIMEOUT_MS)
        signal.throwIfAborted()
        return outcome
      } catch (error) {
        // A thread that failed or did not finish is not used again.
        if (!signal.aborted) await thread.stop()
        throw error
      } finally {
        signal.removeEventListener('abort', cancel)
        handlers = undefined
      }
    })
  }

  return {
    run(run) {
      if (waiting > MAX_WAITING) return Promise.reject(new WhatIfBusyError('too many evaluations wait'))
      waiting += 1
      const result = queue.then(() => execute(run)).finally(() => (waiting -= 1))
      queue = result.catch(() => undefined)
      return result
    },
    close: thread.close,
  }
}
