import cluster, { type Worker } from 'node:cluster'
import {
  ChannelClosedError,
  createRpcPeer,
  type Handlers,
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

/** `starting` until it serves; `leaving` from when it was told to end. */
export const WORKER_STATES = ['starting', 'serving', 'leaving'] as const

/** A worker as the primary sees it. */
export interface WorkerProcess {
  readonly number: number
  readonly pid: number | undefined
  /** Resolves when it serves. Rejects with `StartRefused`, or with another error when it died before. */
  readonly ready: Promise<ServingAddresses>
  /** Resolves with how it ended. */
  readonly ended: Promise<string>
  state(): (typeof WORKER_STATES)[number]
  /** Whether it follows the log: it has to hear of every change. */
  isRegistered(): boolean
  readonly request: RpcPeer<WorkerMethods>['request']
  /** Another is in its place: it ends when its connections have. */
  readonly drain: () => void
  /** It ends with its running requests. */
  readonly stop: () => void
  readonly kill: () => void
}

/** A worker cannot start, for a reason that somebody can mend. */
export class StartupError extends Error {}

/** What the primary does for a worker, besides noting how far it is. */
export type PrimaryHandlers = Handlers<Omit<PrimaryMethods, 'ready' | 'startFailed'>>

/** Starts a worker. */
export function startWorkerProcess(
  assignment: WorkerEnv,
  serve: (worker: WorkerProcess) => PrimaryHandlers,
): WorkerProcess {
  const child = cluster.fork(toWorkerEnv(assignment))
  let state: (typeof WORKER_STATES)[number] = 'starting'
  let hasRegistered = false
  let resolveReady: (service: ServingAddresses) => void = () => undefined
  let rejectReady: (error: Error) => void = () => undefined
  const ready = new Promise<ServingAddresses>((resolve, reject) => {
    resolveReady = resolve
    rejectReady = reject
  })
  ready.catch(() => undefined)

  const worker: WorkerProcess = {
    number: assignment.number,
    pid: child.process.pid,
    ready,
    ended: new Promise((resolve) => {
      child.on('error', (error: Error) => {
        rejectReady(error)
        // The system had no room for another process.
        if (child.process.pid === undefined) resolve(`before it began: ${error.message}`)
      })
      child.once('exit', (code: number | null, signal: string | null) => {
        channel.close()
        const how = signal ? `by ${signal}` : `with exit code ${code}`
        rejectReady(new Error(`it ended ${how} before it served`))
        resolve(how)
      })
    }),
    state: () => state,
    isRegistered: () => hasRegistered,
    request: (...args) => channel.request(...args),
    drain() {
      state = 'leaving'
      channel.request('drain', {}, RPC_TIMEOUTS_MS.notice).catch((error) => {
        if (!(error instanceof ChannelClosedError)) worker.stop()
      })
    },
    stop() {
      state = 'leaving'
      child.process.kill('SIGTERM')
    },
    kill: () => void child.process.kill('SIGKILL'),
  }
  const services = serve(worker)
  const channel = createRpcPeer<WorkerMethods, PrimaryMethods>(wireTo(child), {
    ...services,
    register(ask) {
      hasRegistered = true
      return services.register(ask)
    },
    ready(service) {
      if (state === 'starting') state = 'serving'
      resolveReady(service)
      return {}
    },
    startFailed({ reason }) {
      rejectReady(new StartupError(reason))
      return {}
    },
  })
  return worker
}

function wireTo(child: Worker): RpcTransport {
  return {
    send(message) {
      // What is sent to one that has just died fails silently; its end is heard of elsewhere.
      if (child.isConnected()) child.process.send?.(message as object, () => undefined)
    },
    listen: (receive) => void child.on('message', receive),
  }
}
