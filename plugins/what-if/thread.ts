import type { Worker } from 'node:worker_threads'
import { createRpcPeer, type RpcHandlers, type RpcPeer } from '../../core/process/rpc.ts'
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

interface Running {
  readonly worker: Worker
  readonly peer: RpcPeer<WhatIfThreadMethods>
  handlers: RpcHandlers<WhatIfHostMethods> | undefined
}

export function createWhatIfThread(startWorker: () => Worker): WhatIfThread {
  let running: Running | undefined
  let queue: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let idleTimer: NodeJS.Timeout | undefined

  function start(): Running {
    const worker = startWorker()
    const transport = {
      send: (message: unknown) => worker.postMessage(message),
      listen: (receive: (message: unknown) => void) => void worker.on('message', receive),
    }
    const current = () => {
      if (started.handlers === undefined) throw new Error('no job is running')
      return started.handlers
    }
    const peer = createRpcPeer<WhatIfThreadMethods, WhatIfHostMethods>(transport, {
      callers: (params) => current().callers(params),
      replies: (params) => current().replies(params),
      progress: (params) => current().progress(params),
    })
    const started: Running = { worker, peer, handlers: undefined }
    const end = () => {
      peer.close()
      if (running === started) running = undefined
    }
    worker.on('error', end)
    worker.on('exit', end)
    // A job in flight keeps the process alive by its timeout.
    worker.unref()
    return started
  }

  async function stop(): Promise<void> {
    clearTimeout(idleTimer)
    const stopped = running
    running = undefined
    stopped?.peer.close()
    await stopped?.worker.terminate()
  }

  async function execute({ job, handlers, signal }: WhatIfRun): Promise<WhatIfOutcome> {
    signal.throwIfAborted()
    clearTimeout(idleTimer)
    running ??= start()
    const { peer } = running
    running.handlers = handlers
    const cancel = () => void peer.request('cancel', {}, CANCEL_TIMEOUT_MS).catch(stop)
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const outcome = await peer.request('run', job, RUN_TIMEOUT_MS)
      signal.throwIfAborted()
      return outcome
    } catch (error) {
      // A thread that failed or did not finish is not used again.
      if (!signal.aborted) await stop()
      throw error
    } finally {
      signal.removeEventListener('abort', cancel)
      if (running !== undefined) running.handlers = undefined
      idleTimer = setTimeout(stop, IDLE_MS).unref()
    }
  }

  return {
    run(run) {
      if (waiting > MAX_WAITING) return Promise.reject(new WhatIfBusyError('too many evaluations wait'))
      waiting += 1
      const result = queue.then(() => execute(run)).finally(() => (waiting -= 1))
      queue = result.catch(() => undefined)
      return result
    },
    close: stop,
  }
}
