import cluster, { type Worker } from 'node:cluster'
import type { RpcTransport } from '../../core/threads/rpc.ts'
import { followHandedConnections } from './handed-connections.ts'

/** `starting` until the worker serves, `draining` once it was asked to stop. */
export const WORKER_STATES = ['starting', 'serving', 'draining'] as const

type WorkerState = (typeof WORKER_STATES)[number]

/** A worker reported that it cannot start, for a reason that the operator can fix. */
export class StartupError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'StartupError'
  }
}

/**
 * A worker process as the primary sees it. Subclasses add the protocol: they call `markReady` or `markFailed`
 * when the worker reports its state. `Service` is what the worker reports when it serves.
 */
export abstract class WorkerProcess<Service> {
  /** From 1. A replacement has the number of the worker that it replaces. */
  readonly number: number
  /**
   * Resolves when the worker serves. Rejects with a `StartupError`, or with another error if the process
   * exits before.
   */
  readonly ready: Promise<Service>
  /** Resolves with the exit code or signal as text. */
  readonly exited: Promise<string>
  protected readonly transport: RpcTransport
  readonly #child: Worker
  #state: WorkerState = 'starting'
  #resolveReady: (service: Service) => void = () => undefined
  #rejectReady: (error: Error) => void = () => undefined

  /**
   * Forks the process with these environment variables in addition to those of the primary. `hasOthers`:
   * whether another worker can take the connections of this one when it dies.
   */
  constructor(number: number, env: Record<string, string>, hasOthers: () => boolean) {
    this.number = number
    this.#child = cluster.fork(env)
    followHandedConnections(this.#child.process, hasOthers)
    this.transport = createChildTransport(this.#child)
    this.ready = new Promise((resolve, reject) => {
      this.#resolveReady = resolve
      this.#rejectReady = reject
    })
    this.ready.catch(() => undefined)
    this.exited = this.#watchExit()
  }

  /** Undefined if the process could not be spawned. */
  get pid(): number | undefined {
    return this.#child.process.pid
  }

  get state(): WorkerState {
    return this.#state
  }

  /** Asks the worker to finish its connections and exit, because a replacement serves. */
  abstract drain(): void

  /** Sends SIGTERM: the worker finishes its requests in flight and exits. */
  stop(): void {
    this.markDraining()
    this.#child.process.kill('SIGTERM')
  }

  /** Sends SIGKILL. */
  kill(): void {
    this.#child.process.kill('SIGKILL')
  }

  protected markReady(service: Service): void {
    if (this.#state === 'starting') this.#state = 'serving'
    this.#resolveReady(service)
  }

  protected markFailed(reason: string): void {
    this.#rejectReady(new StartupError(reason))
  }

  protected markDraining(): void {
    this.#state = 'draining'
  }

  #watchExit(): Promise<string> {
    return new Promise((resolve) => {
      this.#child.on('error', (error: Error) => {
        this.#rejectReady(error)
        // The process could not be spawned, for example because a system limit is reached.
        if (this.pid === undefined) resolve(`not spawned: ${error.message}`)
      })
      this.#child.once('exit', (code: number | null, signal: string | null) => {
        const exit = signal ? `signal ${signal}` : `exit code ${code}`
        this.#rejectReady(new Error(`The worker exited before it was ready (${exit}).`))
        resolve(exit)
      })
    })
  }
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
