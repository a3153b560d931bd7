import cluster, { type Worker } from 'node:cluster'
import {
  ChannelClosedError,
  createRpcPeer,
  type RpcHandlers,
  type RpcPeer,
  type RpcTransport,
} from '../../core/process/rpc.ts'
import {
  type PrimaryMethods,
  RPC_TIMEOUTS_MS,
  type ServingAddresses,
  type WorkerMethods,
} from './messages.ts'
import { toWorkerEnv, type WorkerEnv } from './worker-env.ts'

/** `starting` until the worker serves, `draining` once it was asked to stop. */
export const WORKER_STATES = ['starting', 'serving', 'draining'] as const

/** A worker process as the primary sees it. */
export interface WorkerProcess {
  readonly number: number
  readonly pid: number | undefined
  /**
   * Resolves when the worker serves. Rejects with `StartupError`, or with another error if the process exits
   * before.
   */
  readonly ready: Promise<ServingAddresses>
  /** Resolves with the exit code or signal as text. */
  readonly exited: Promise<string>
  state(): (typeof WORKER_STATES)[number]
  /** Whether the worker follows the event log and so has to hear of every change. */
  isRegistered(): boolean
  readonly request: RpcPeer<WorkerMethods>['request']
  /** Asks the worker to finish its connections and exit, because a replacement serves. */
  readonly drain: () => void
  /** Sends SIGTERM: the worker finishes its requests in flight and exits. */
  readonly stop: () => void
  readonly kill: () => void
}

/** A worker cannot start, for a reason that the operator can fix. */
export class StartupError extends Error {}

/** The methods of the primary that do not change the state of the worker. */
export type PrimaryHandlers = RpcHandlers<Omit<PrimaryMethods, 'ready' | 'startFailed'>>

/** Forks a worker process. */
export function startWorkerProcess(
  workerEnv: WorkerEnv,
  createHandlers: (worker: WorkerProcess) => PrimaryHandlers,
): WorkerProcess {
  const child = cluster.fork(toWorkerEnv(workerEnv))
  let state: (typeof WORKER_STATES)[number] = 'starting'
  let hasRegistered = false
  let resolveReady: (addresses: ServingAddresses) => void = () => undefined
  let rejectReady: (error: Error) => void = () => undefined
  const ready = new Promise<ServingAddresses>((resolve, reject) => {
    resolveReady = resolve
    rejectReady = reject
  })
  ready.catch(() => undefined)

  const worker: WorkerProcess = {
    number: workerEnv.number,
    pid: child.process.pid,
    ready,
    exited: new Promise((resolve) => {
      child.on('error', (error: Error) => {
        rejectReady(error)
        // The process could not be spawned, for example because a system limit is reached.
        if (child.process.pid === undefined) resolve(`not spawned: ${error.message}`)
      })
      child.once('exit', (code: number | null, signal: string | null) => {
        channel.close()
        const exit = signal ? `signal ${signal}` : `exit code ${code}`
        rejectReady(new Error(`The worker exited before it was ready (${exit}).`))
        resolve(exit)
      })
    }),
    state: () => state,
    isRegistered: () => hasRegistered,
    request: (...args) => channel.request(...args),
    drain() {
      state = 'draining'
      channel.request('drain', {}, RPC_TIMEOUTS_MS.notice).catch((error) => {
        if (!(error instanceof ChannelClosedError)) worker.stop()
      })
    },
    stop() {
      state = 'draining'
      child.process.kill('SIGTERM')
    },
    kill: () => void child.process.kill('SIGKILL'),
  }
  const handlers = createHandlers(worker)
  const channel = createRpcPeer<WorkerMethods, PrimaryMethods>(createChildTransport(child), {
    ...handlers,
    register(params) {
      hasRegistered = true
      return handlers.register(params)
    },
    ready(addresses) {
      if (state === 'starting') state = 'serving'
      resolveReady(addresses)
      return {}
    },
    startFailed({ reason }) {
      rejectReady(new StartupError(reason))
      return {}
    },
  })
  return worker
}

function createChildTransport(child: Worker): RpcTransport {
  return {
    send(message) {
      // Errors are ignored: the `exit` event reports a process that has just died.
      if (child.isConnected()) child.process.send?.(message as object, () => undefined)
    },
    listen: (receive) => void child.on('message', receive),
  }
}
