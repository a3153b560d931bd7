import { parentPort, type Worker } from 'node:worker_threads'
import { GatewayError } from '../contract/errors.ts'
import { errorMessage } from '../util/error-message.ts'
import { terminateThread } from './thread.ts'
import { currentThreadId, lowerThreadPriority, readThreadCpuMs } from './thread-cpu.ts'

/** A job used up its CPU time. */
export class WorkerLimitError extends Error {}

/** The client of a job disconnected. */
export class WorkerJobCancelledError extends Error {}

export interface WorkerJobOptions {
  /** Jobs of one owner run one after the other, so that no owner holds more than one thread. */
  readonly owner: number
  /** CPU time of the thread, in milliseconds. */
  readonly cpuLimitMs: number
  /** The job is cancelled when this client disconnects. */
  readonly client?: WorkerJobClient | undefined
}

interface WorkerJobClient {
  readonly isAborted: boolean
  /** Returns an unsubscribe function. */
  onAbort(notify: (reason: unknown) => void): () => void
}

/** Threads that run jobs, with one queue per owner, served in turn. */
export interface WorkerPool<Request, Result> {
  /**
   * Rejects with a `WorkerLimitError`, a `WorkerJobCancelledError`, or the error that ended the thread. A
   * thread that does not stop is terminated and replaced; until it has exited, its owner's jobs are rejected.
   */
  run(request: Request, options: WorkerJobOptions): Promise<WorkerJobResult<Result>>
}

export interface WorkerJobResult<Result> {
  readonly result: Result
  /** CPU time of the thread. */
  readonly cpuMs: number
}

/** Messages between the pool and a thread; see `serveWorkerJobs`. */
export interface WorkerJobMessage<Request> {
  readonly request: Request
  readonly cpuLimitMs: number
}

export type WorkerReply<Result> =
  | { readonly type: 'ready'; readonly threadId: number | undefined }
  | ({ readonly type: 'result' } & WorkerJobResult<Result>)
  | { readonly type: 'limit' }
  | { readonly type: 'error'; readonly message: string }

interface Job<Request, Result> extends WorkerJobOptions {
  readonly request: Request
  readonly resolve: (result: WorkerJobResult<Result>) => void
  readonly reject: (error: Error) => void
}

interface PoolThread<Request, Result> {
  readonly worker: Worker
  threadId: number | undefined
  job: Job<Request, Result> | undefined
  /** CPU time of the thread when its job started. */
  startedAtCpuMs: number
  /** Wall-clock time from which a cancelled job no longer holds the thread. */
  abandonAt: number
}

interface WorkerPoolOptions {
  readonly start: () => Worker
  readonly maxThreads: number
}

const SUPERVISION_INTERVAL_MS = 25

/**
 * A thread that stops by itself at the limit may use twice the limit: on a busy machine it is interrupted
 * early and starts again.
 */
const maxCpuMs = (cpuLimitMs: number) => 2 * cpuLimitMs + 100

/** A cancelled job may end by itself for this long. */
const CANCEL_GRACE_MS = 250

/** While a terminated thread exits, its owner's jobs wait this long before they are rejected. */
const EXIT_GRACE_MS = 1000

/** Threads that run native code exit late. This many may still do so while others replace them. */
const MAX_EXITING_THREADS = 4

/** Creates a pool. Threads start when they are needed; idle ones do not keep the process alive. */
export function createWorkerPool<Request, Result>({
  start,
  maxThreads,
}: WorkerPoolOptions): WorkerPool<Request, Result> {
  type QueuedJob = Job<Request, Result>
  type Thread = PoolThread<Request, Result>
  const threads = new Set<Thread>()
  const idle: Thread[] = []
  /** In the order in which the owners are served. */
  const queues = new Map<number, QueuedJob[]>()
  const busyOwners = new Set<number>()
  /** Terminated threads that have not exited. Their owners are busy. */
  const exiting = new Map<Thread, { readonly owner: number; readonly since: number }>()
  let startingCount = 0
  let supervision: NodeJS.Timeout | undefined

  function enqueue(job: QueuedJob): void {
    const queue = queues.get(job.owner)
    if (queue === undefined) queues.set(job.owner, [job])
    else queue.push(job)
    dispatch()
  }

  /** Assigns queued jobs to idle threads, and starts a thread if there are too few. */
  function dispatch(): void {
    for (let job = peekJob(); job !== undefined; job = peekJob()) {
      const thread = idle.pop()
      if (thread === undefined) {
        startThreads()
        return
      }
      takeJob(job)
      assign(thread, job)
    }
  }

  /** The next job of the first owner who has no running job. */
  function peekJob(): QueuedJob | undefined {
    for (const [owner, queue] of queues) if (!busyOwners.has(owner)) return queue[0]
    return undefined
  }

  /** Removes the job from its queue and moves its owner to the end. */
  function takeJob({ owner }: QueuedJob): void {
    const [, ...others] = queues.get(owner) ?? []
    queues.delete(owner)
    if (others.length > 0) queues.set(owner, others)
  }

  function startThreads(): void {
    const waitingOwners = [...queues.keys()].filter((owner) => !busyOwners.has(owner)).length
    const canStart = () => threads.size < maxThreads && exiting.size < MAX_EXITING_THREADS
    while (startingCount < waitingOwners && canStart()) startThread()
  }

  function startThread(): void {
    const worker = start()
    const thread: Thread = {
      worker,
      threadId: undefined,
      job: undefined,
      startedAtCpuMs: 0,
      abandonAt: Infinity,
    }
    threads.add(thread)
    startingCount += 1
    let isStarting = true
    const endStart = () => {
      if (isStarting) startingCount -= 1
      isStarting = false
    }
    worker.on('message', (reply: WorkerReply<Result>) => {
      if (reply.type === 'ready') {
        endStart()
        thread.threadId = reply.threadId
      } else {
        settle(thread, reply)
      }
      if (threads.has(thread)) {
        worker.unref()
        idle.push(thread)
      }
      dispatch()
    })
    worker.on('error', (error) => thread.job?.reject(error))
    worker.once('exit', () => {
      const failedToStart = isStarting
      endStart()
      thread.job?.reject(new Error('worker thread exited'))
      const owner = thread.job?.owner ?? exiting.get(thread)?.owner
      if (owner !== undefined) busyOwners.delete(owner)
      removeThread(thread)
      exiting.delete(thread)
      // Jobs that wait for a thread that cannot start would wait forever.
      if (failedToStart && threads.size === 0) rejectAll(new Error('worker thread failed to start'))
      dispatch()
    })
  }

  function assign(thread: Thread, job: QueuedJob): void {
    busyOwners.add(job.owner)
    thread.worker.ref()
    thread.job = job
    thread.startedAtCpuMs = readThreadCpuMs(thread.threadId)
    thread.abandonAt = Infinity
    const { request, cpuLimitMs } = job
    thread.worker.postMessage({ request, cpuLimitMs } satisfies WorkerJobMessage<Request>)
    supervision ??= setInterval(supervise, SUPERVISION_INTERVAL_MS).unref()
  }

  function settle(thread: Thread, reply: Exclude<WorkerReply<Result>, { readonly type: 'ready' }>): void {
    const { job } = thread
    thread.job = undefined
    if (job === undefined) return
    busyOwners.delete(job.owner)
    if (reply.type === 'result') job.resolve(reply)
    else if (reply.type === 'limit') job.reject(new WorkerLimitError('the job reached its CPU limit'))
    else job.reject(new Error(reply.message))
  }

  function supervise(): void {
    const now = performance.now()
    for (const thread of threads) {
      const { job } = thread
      if (job === undefined) continue
      const cpuMs = readThreadCpuMs(thread.threadId) - thread.startedAtCpuMs
      if (cpuMs > maxCpuMs(job.cpuLimitMs) || now > thread.abandonAt) abandon(thread, job)
    }
    for (const { owner, since } of exiting.values()) {
      if (now - since > EXIT_GRACE_MS) rejectQueue(owner, stuckError())
    }
    if (busyOwners.size > 0) return
    clearInterval(supervision)
    supervision = undefined
  }

  /** Terminates a thread that does not stop. Native code ends first, so the thread may exit much later. */
  function abandon(thread: Thread, job: QueuedJob): void {
    removeThread(thread)
    exiting.set(thread, { owner: job.owner, since: performance.now() })
    thread.job = undefined
    job.reject(new WorkerLimitError('the job was terminated at its CPU limit'))
    thread.worker.unref()
    lowerThreadPriority(thread.threadId)
    terminateThread(thread.worker)
    dispatch()
  }

  function removeThread(thread: Thread): void {
    threads.delete(thread)
    if (idle.includes(thread)) idle.splice(idle.indexOf(thread), 1)
  }

  function cancel(job: QueuedJob, reason: unknown): void {
    const queue = queues.get(job.owner)?.filter((queued) => queued !== job) ?? []
    if (queue.length > 0) queues.set(job.owner, queue)
    else queues.delete(job.owner)
    for (const thread of threads)
      if (thread.job === job) thread.abandonAt = performance.now() + CANCEL_GRACE_MS
    job.reject(
      GatewayError.isInstance(reason) ? reason : new WorkerJobCancelledError('the client disconnected'),
    )
  }

  function rejectQueue(owner: number, error: Error): void {
    for (const job of queues.get(owner) ?? []) job.reject(error)
    queues.delete(owner)
  }

  function rejectAll(error: Error): void {
    for (const owner of [...queues.keys()]) rejectQueue(owner, error)
  }

  function isStuck(owner: number): boolean {
    const now = performance.now()
    return [...exiting.values()].some((each) => each.owner === owner && now - each.since > EXIT_GRACE_MS)
  }

  return {
    async run(request, options) {
      const { owner, client } = options
      if (client?.isAborted) throw new WorkerJobCancelledError('the client disconnected')
      if (isStuck(owner)) throw stuckError()
      let unsubscribe = () => {}
      try {
        return await new Promise<WorkerJobResult<Result>>((resolve, reject) => {
          const job: QueuedJob = { ...options, request, resolve, reject }
          enqueue(job)
          unsubscribe = client?.onAbort((reason) => cancel(job, reason)) ?? unsubscribe
        })
      } finally {
        unsubscribe()
      }
    },
  }
}

function stuckError(): WorkerLimitError {
  return new WorkerLimitError('an earlier job of the same owner does not stop')
}

/**
 * Serves the jobs of a `WorkerPool`, in its thread. `execute` throws a `WorkerLimitError` when it has used
 * its CPU time, in milliseconds.
 */
export function serveWorkerJobs<Request, Result>(
  execute: (request: Request, cpuLimitMs: number) => Result,
): void {
  const reply = (message: WorkerReply<Result>) => parentPort?.postMessage(message)
  const threadId = currentThreadId()
  parentPort?.on('message', ({ request, cpuLimitMs }: WorkerJobMessage<Request>) => {
    const startedAt = readThreadCpuMs(threadId)
    try {
      const result = execute(request, cpuLimitMs)
      reply({ type: 'result', result, cpuMs: readThreadCpuMs(threadId) - startedAt })
    } catch (error) {
      reply(
        error instanceof WorkerLimitError
          ? { type: 'limit' }
          : { type: 'error', message: errorMessage(error) },
      )
    }
  })
  reply({ type: 'ready', threadId })
}
