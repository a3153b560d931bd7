import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parentPort, Worker, type WorkerOptions } from 'node:worker_threads'
import { ChannelClosedError, createRpcPeer, type MethodTable, type RpcHandlers, type RpcPeer } from './rpc.ts'

/**
 * Starts a module in a worker thread, compiled or from source. `name` is the module's relative path without
 * extension, `base` the URL of the importing module.
 */
export function startThread(name: string, base: string, options: WorkerOptions = {}): Worker {
  const extension = extname(base)
  const script = new URL(name + extension, base)
  return new Worker(script, extension === '.ts' ? { ...options, execArgv: tsxArguments(base) } : options)
}

/** On Node 20, tsx does not register itself in worker threads (privatenumber/tsx#354). */
function tsxArguments(base: string): string[] {
  const hooks = JSON.stringify(pathToFileURL(createRequire(base).resolve('tsx/esm')))
  return [
    '--import',
    `data:text/javascript,import { register } from 'node:module'; register(${hooks}, { data: {} })`,
  ]
}

/** A running worker thread. Its module and this thread call methods of each other. */
export interface RpcThread<RemoteMethods extends MethodTable> {
  readonly worker: Worker
  readonly peer: RpcPeer<RemoteMethods>
  readonly isAlive: () => boolean
  /** Ends the thread, whatever it does. What it has not answered rejects with a `ChannelClosedError`. */
  readonly terminate: () => Promise<void>
}

/** Connects to a thread that has been started. Only calls with a timeout keep the process alive. */
export function connectThread<RemoteMethods extends MethodTable, LocalMethods extends MethodTable>(
  worker: Worker,
  handlers: RpcHandlers<LocalMethods>,
  onEnd: () => void = () => undefined,
): RpcThread<RemoteMethods> {
  const peer = createRpcPeer<RemoteMethods, LocalMethods>(
    {
      send: (message, moved) => worker.postMessage(message, moved),
      listen: (receive) => void worker.on('message', receive),
    },
    handlers,
  )
  let isAlive = true
  const end = (cause?: unknown) => {
    if (!isAlive) return
    isAlive = false
    peer.close(cause)
    onEnd()
  }
  worker.on('error', end)
  worker.on('exit', () => end())
  worker.unref()
  return {
    worker,
    peer,
    isAlive: () => isAlive,
    async terminate() {
      end()
      await worker.terminate()
    },
  }
}

/** Serves the calls of the thread that has started this one, and returns a peer that calls its methods. */
export function serveThread<RemoteMethods extends MethodTable, LocalMethods extends MethodTable>(
  handlers: RpcHandlers<LocalMethods>,
): RpcPeer<RemoteMethods> {
  return createRpcPeer<RemoteMethods, LocalMethods>(
    {
      send: (message, moved) => parentPort?.postMessage(message, moved),
      listen: (receive) => void parentPort?.on('message', receive),
    },
    handlers,
  )
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined
  readonly keepsAlive?: boolean
}

/** Calls a thread once and ends it. Rejects with the signal's reason when it aborts. */
export async function callThread<Methods extends MethodTable, Method extends keyof Methods & string>(
  worker: Worker,
  method: Method,
  params: Methods[Method]['params'],
  { signal, keepsAlive = true }: CallOptions = {},
): Promise<Methods[Method]['result']> {
  const { peer, terminate } = connectThread<Methods, Record<never, never>>(worker, {})
  if (keepsAlive) worker.ref()
  const end = () => void terminate()
  signal?.addEventListener('abort', end, { once: true })
  try {
    return await peer.request(method, params)
  } catch (error) {
    signal?.throwIfAborted()
    throw error instanceof ChannelClosedError && error.cause instanceof Error ? error.cause : error
  } finally {
    signal?.removeEventListener('abort', end)
    await terminate()
  }
}

interface IdleThreadOptions<LocalMethods extends MethodTable> {
  readonly startWorker: () => Worker
  readonly handlers: RpcHandlers<LocalMethods>
  /** How long a thread without work is kept, in milliseconds. */
  readonly idleMs: number
}

/** A worker thread that starts when it is needed, and ends when it has been idle. */
export interface IdleThread<RemoteMethods extends MethodTable> {
  /** Calls methods of the thread. It keeps running until `run` has settled. */
  use<Result>(run: (peer: RpcPeer<RemoteMethods>) => Promise<Result>): Promise<Result>
  /** Ends the thread. What it has not answered rejects with a `ChannelClosedError`. */
  stop(): Promise<void>
  /** As `stop`. The thread does not start again: further calls reject with a `ChannelClosedError`. */
  close(): Promise<void>
}

export function createIdleThread<RemoteMethods extends MethodTable, LocalMethods extends MethodTable>({
  startWorker,
  handlers,
  idleMs,
}: IdleThreadOptions<LocalMethods>): IdleThread<RemoteMethods> {
  let running: RpcThread<RemoteMethods> | undefined
  let uses = 0
  let isClosed = false
  let idleTimer: NodeJS.Timeout | undefined

  async function stop(): Promise<void> {
    clearTimeout(idleTimer)
    const stopped = running
    running = undefined
    await stopped?.terminate()
  }

  return {
    async use(run) {
      if (isClosed) throw new ChannelClosedError()
      clearTimeout(idleTimer)
      if (!running?.isAlive()) running = connectThread<RemoteMethods, LocalMethods>(startWorker(), handlers)
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

/** Threads that were terminated and have not exited, because they run native code. */
const terminated = new Set<Worker>()

let hasStuckThread = false

/** Notes that a thread of Node's own pool is in a call that does not end. */
export function noteStuckThread(): void {
  hasStuckThread = true
}

/** Terminates a thread. Native code that it runs ends first. */
export function terminateThread(worker: Worker): void {
  terminated.add(worker)
  worker.once('exit', () => terminated.delete(worker))
  void worker.terminate()
}

/**
 * Call when a process is done. Node waits for all threads before it exits, minutes for one in which RE2 is
 * stuck, so such a process ends by SIGTERM, which supervisors take for a regular end. Otherwise does nothing.
 */
export function endIfThreadsAreStuck(): void {
  if (terminated.size === 0 && !hasStuckThread) return
  process.removeAllListeners('SIGTERM')
  process.kill(process.pid, 'SIGTERM')
}
