import type { Worker } from 'node:worker_threads'
import { createPortTransport } from './port-transport.ts'
import { ChannelClosedError, createRpcPeer, type MethodTable, type RpcHandlers, type RpcPeer } from './rpc.ts'

interface RpcThreadOptions<LocalMethods extends MethodTable> {
  readonly startWorker: () => Worker
  readonly handlers: RpcHandlers<LocalMethods>
  /** How long a thread without work is kept, in milliseconds. */
  readonly idleMs: number
}

/** A worker thread that starts when it is needed, and ends when it has been idle. */
export interface RpcThread<RemoteMethods extends MethodTable> {
  /** Calls methods of the thread. It keeps running until `run` has settled. */
  use<Result>(run: (peer: RpcPeer<RemoteMethods>) => Promise<Result>): Promise<Result>
  /** Ends the thread. What it has not answered rejects with a `ChannelClosedError`. */
  stop(): Promise<void>
  /** As `stop`. The thread does not start again: further calls reject with a `ChannelClosedError`. */
  close(): Promise<void>
}

export function createRpcThread<RemoteMethods extends MethodTable, LocalMethods extends MethodTable>({
  startWorker,
  handlers,
  idleMs,
}: RpcThreadOptions<LocalMethods>): RpcThread<RemoteMethods> {
  interface Running {
    readonly worker: Worker
    readonly peer: RpcPeer<RemoteMethods>
  }
  let running: Running | undefined
  let uses = 0
  let isClosed = false
  let idleTimer: NodeJS.Timeout | undefined

  function start(): Running {
    const worker = startWorker()
    const started = {
      worker,
      peer: createRpcPeer<RemoteMethods, LocalMethods>(createPortTransport(worker), handlers),
    }
    const end = () => {
      started.peer.close()
      if (running === started) running = undefined
    }
    worker.on('error', end)
    worker.on('exit', end)
    // A call in flight keeps the process alive by its timeout.
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

  return {
    async use(run) {
      if (isClosed) throw new ChannelClosedError()
      clearTimeout(idleTimer)
      running ??= start()
      uses += 1
      try {
        return await run(running.peer)
      } finally {
        uses -= 1
        if (uses === 0) idleTimer = setTimeout(stop, idleMs).unref()
      }
    },
    stop,
    close() {
      isClosed = true
      return stop()
    },
  }
}
