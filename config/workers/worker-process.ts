import cluster, { type Worker } from 'node:cluster'
import { type Assignment, writeAssignment } from './assignment.ts'
import { type Channel, ChannelClosed, type Handlers, openChannel, type Wire } from './channel.ts'
import { LIMITS, type PrimaryAsks, type Service, type WorkerAsks } from './messages.ts'

/** `starting` until it serves; `leaving` from when it was told to end. */
export const WORKER_STATES = ['starting', 'serving', 'leaving'] as const

/** A worker as the primary sees it. */
export interface WorkerProcess {
  readonly number: number
  readonly pid: number | undefined
  /** Resolves when it serves. Rejects with `StartRefused`, or with another error when it died before. */
  readonly ready: Promise<Service>
  /** Resolves with how it ended. */
  readonly ended: Promise<string>
  state(): (typeof WORKER_STATES)[number]
  /** Whether it follows the log: it has to hear of every change. */
  hasJoined(): boolean
  readonly ask: Channel<WorkerAsks>['ask']
  /** Another is in its place: it ends when its connections have. */
  readonly retire: () => void
  /** It ends with its running requests. */
  readonly stop: () => void
  readonly kill: () => void
}

/** A worker cannot start, for a reason that somebody can mend. */
export class StartRefused extends Error {}

/** What the primary does for a worker, besides noting how far it is. */
export type Services = Handlers<Omit<PrimaryAsks, 'ready' | 'refuse'>>

/** Starts a worker. */
export function startWorkerProcess(
  assignment: Assignment,
  serve: (worker: WorkerProcess) => Services,
): WorkerProcess {
  const child = cluster.fork(writeAssignment(assignment))
  let state: (typeof WORKER_STATES)[number] = 'starting'
  let hasJoined = false
  let resolveReady: (service: Service) => void = () => undefined
  let rejectReady: (error: Error) => void = () => undefined
  const ready = new Promise<Service>((resolve, reject) => {
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
    hasJoined: () => hasJoined,
    ask: (...args) => channel.ask(...args),
    retire() {
      state = 'leaving'
      channel.ask('retire', {}, LIMITS.notice).catch((error) => {
        if (!(error instanceof ChannelClosed)) worker.stop()
      })
    },
    stop() {
      state = 'leaving'
      child.process.kill('SIGTERM')
    },
    kill: () => void child.process.kill('SIGKILL'),
  }
  const services = serve(worker)
  const channel = openChannel<WorkerAsks, PrimaryAsks>(wireTo(child), {
    ...services,
    join(ask) {
      hasJoined = true
      return services.join(ask)
    },
    ready(service) {
      if (state === 'starting') state = 'serving'
      resolveReady(service)
      return {}
    },
    refuse({ reason }) {
      rejectReady(new StartRefused(reason))
      return {}
    },
  })
  return worker
}

function wireTo(child: Worker): Wire {
  return {
    send(message) {
      // What is sent to one that has just died fails silently; its end is heard of elsewhere.
      if (child.isConnected()) child.process.send?.(message as object, () => undefined)
    },
    listen: (receive) => void child.on('message', receive),
  }
}
